// Elements and slices that differ, and the places of those that are not zero.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// The different ones, to which of them each belongs, and how many belong to it; the last two are empty unless asked for.
void give(Call& call, Val different, Val inverse, Val counts) {
  const Val nothing = call.onnx.integers({});
  const auto is_asked = [&](std::string_view name) { return call.flag(name, false); };
  call.results(
      {different, is_asked("return_inverse") ? inverse : nothing, is_asked("return_counts") ? counts : nothing});
}

/// Runtimes have no more than these types.
Val in_wide_type(Call& call, Val x) {
  const ElementType type = call.onnx.elem(x);
  if (type == ElementType::float32 || type == ElementType::float64) return x;
  return call.onnx.cast(x, is_floating(type) ? ElementType::float32 : ElementType::int64);
}

/// In ascending order: PyTorch sorts on the CPU, also where it need not.
void map_unique(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const auto found = onnx.emit_many(4, "Unique", {in_wide_type(call, x)}, {{"sorted", std::int64_t{1}}});
  const Val inverse = onnx.emit("Reshape", {found[2], onnx.emit("Shape", {x})});
  give(call, onnx.cast(found[0], onnx.elem(x)), inverse, found[3]);
}

void map_unique_slices(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  if (rank == 0) return call.refuse("a number has no slices");
  const auto found = onnx.emit_many(4, "Unique", {in_wide_type(call, x)},
                                    {{"axis", call.axis("dim", 0, rank)}, {"sorted", std::int64_t{1}}});
  give(call, onnx.cast(found[0], onnx.elem(x)), found[2], found[3]);
}

/// Whether each place of the axis, from the second on, has a slice that differs from the one before it.
Val differs_from_last(Call& call, Val x, std::int64_t axis) {
  auto& onnx = call.onnx;
  const Val zero = onnx.integers({0}), one = onnx.integers({1}), along = onnx.integers({axis});
  const Val behind = onnx.emit("Slice", {x, one, onnx.size_of(x, axis), along});
  const Val before = onnx.emit("Slice", {x, zero, onnx.integers({-1}), along});
  const Val differs = onnx.emit("Not", {onnx.emit("Equal", {behind, before})});
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(call.rank(x)); ++i)
    if (i != axis) others.push_back(i);
  if (others.empty()) return differs;
  const Val any = onnx.emit("ReduceSum", {onnx.cast(differs, ElementType::int32), onnx.integers(others)},
                            {{"keepdims", std::int64_t{0}}});
  return onnx.cast(any, ElementType::boolean);
}

/// The first of each run of equal ones.
void map_unique_runs(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const Val given = x;
  const bool is_whole = !call.has("dim");
  if (is_whole) x = onnx.reshape(x, {-1});
  const std::size_t rank = call.rank(x);
  if (rank == 0) return call.refuse("a number has no slices");
  const std::int64_t axis = call.axis("dim", 0, rank);
  const Val size = onnx.size_of(x, axis);
  const Val differs = differs_from_last(call, x, axis);
  // Pads with the first place, as long as there is one.
  const Val has_one = onnx.emit("Min", {size, onnx.integers({1})});
  const Val first = onnx.cast(onnx.emit("Expand", {onnx.integers({1}), has_one}), ElementType::boolean);
  const Val begins = onnx.emit("Concat", {first, differs}, {{"axis", std::int64_t{0}}});
  const Val runs = onnx.emit("Compress", {x, begins}, {{"axis", axis}});
  const Val begun =
      onnx.emit("CumSum", {onnx.cast(begins, ElementType::int64), onnx.scalar_integer(ElementType::int64, 0)});
  Val run = onnx.emit("Sub", {begun, onnx.integers({1})});
  const Val places = onnx.squeeze(onnx.emit("NonZero", {begins}), {0});
  const Val ends = onnx.emit("Concat", {places, size}, {{"axis", std::int64_t{0}}});
  const Val following = onnx.emit("Slice", {ends, onnx.integers({1}), onnx.emit("Shape", {ends})});
  if (is_whole) run = onnx.emit("Reshape", {run, onnx.emit("Shape", {given})});
  give(call, runs, run, onnx.emit("Sub", {following, places}));
}

// ---- places of what is not zero

/// Rows of coordinates, so many of them: filled up behind, or cut off.
void map_nonzero_static(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), size = call.size("size", 0);
  const auto rank = static_cast<std::int64_t>(call.rank(x));
  const Val filling = onnx.emit(
      "Expand", {call.number("fill_value", ElementType::int64, -1), onnx.joined({size, onnx.integers({rank})})});
  if (rank == 0) return call.result(filling);
  const Val places = onnx.transpose(onnx.emit("NonZero", {x}), {1, 0});
  const Val rows = onnx.emit("Concat", {places, filling}, {{"axis", std::int64_t{0}}});
  const Val zero = onnx.integers({0});
  call.result(onnx.emit("Slice", {rows, zero, size, zero}));
}

/// A vector of coordinates for each axis.
void map_nonzero_by_axis(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor(call.has("condition") ? "condition" : "self");
  if (call.rank(x) == 0) x = onnx.reshape(x, {1});
  const Val places = onnx.emit("NonZero", {x});
  std::vector<Val> results;
  for (std::size_t i = 0; i < call.rank(x); ++i) {
    const Val row = onnx.scalar_integer(ElementType::int64, static_cast<std::int64_t>(i));
    results.push_back(onnx.emit("Gather", {places, row}, {{"axis", std::int64_t{0}}}));
  }
  call.results(results);
}

}  // namespace

void register_unique(Mappings& mappings);
void register_unique(Mappings& mappings) {
  mappings.add({"aten._unique2.default", "aten._unique.default"}, map_unique);
  mappings.add("aten.unique_dim.default", map_unique_slices);
  mappings.add("aten.unique_consecutive.default", map_unique_runs);
  mappings.add("aten.nonzero_static.default", map_nonzero_static);
  mappings.add({"aten.nonzero_numpy.default", "aten.where.default"}, map_nonzero_by_axis);
}

}  // namespace onnxkit::pt2
