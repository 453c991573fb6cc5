// Tensors made from sizes and numbers.
#include <optional>

#include "converters/foreign/complex_numbers.h"
#include "converters/formats/pt2/mappings.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

ElementType created_type(Call& call, ElementType fallback) {
  const ElementType wanted = call.elem("dtype");
  if (wanted != ElementType::undefined) return wanted;
  const ElementType declared = call.declared_elem();
  return declared != ElementType::undefined ? declared : fallback;
}

/// What a tensor is made from decides the type of a new one; without such a tensor, `fallback`.
ElementType type_of_new(Call& call, ElementType fallback) {
  return created_type(call, call.has("self") ? call.onnx.elem(call.tensor("self")) : fallback);
}

/// The type of a tensor that is filled with a number.
ElementType type_of_number(Call& call, std::string_view name) {
  const foreign::Argument* given = call.argument(name);
  if (given && given->as<bool>()) return ElementType::boolean;
  if (given && given->as<std::int64_t>()) return ElementType::int64;
  if (!given || !given->as<foreign::ValueId>()) return ElementType::float32;
  const ElementType type = call.onnx.elem(call.tensor(name));
  return is_floating(type) ? ElementType::float32 : type;
}

Val filled(Call& call, Val number, Val sizes) {
  const auto known = call.onnx.constant_integers(sizes);
  return known && known->empty() ? number : call.onnx.emit("Expand", {number, sizes});
}

/// A tensor of real numbers as one of `type`, which may be complex.
void give(Call& call, ElementType type, Val real) {
  const foreign::Complex number = {real, {}};
  call.result(type == foreign::part_type_of(type) ? number : with_both_parts(call.onnx, number));
}

template <int value>
void map_constant(Call& call) {
  const ElementType type = type_of_new(call, ElementType::float32);
  give(call, type, filled(call, call.onnx.scalar(foreign::part_type_of(type), value), call.sizes("size")));
}

void map_full(Call& call) {
  const ElementType type = type_of_new(call, type_of_number(call, "fill_value"));
  give(call, type, filled(call, call.number("fill_value", foreign::part_type_of(type)), call.sizes("size")));
}

/// As large as a tensor that is there, which may be complex.
Val filled_like(Call& call, Val number) {
  const Val like = call.complex("self").real;
  if (call.onnx.rank(like) == 0) return number;
  return call.onnx.emit("Expand", {number, call.onnx.emit("Shape", {like})});
}

ElementType type_of_like(Call& call) {
  const foreign::Complex like = call.complex("self");
  const ElementType part = call.onnx.elem(like.real);
  return created_type(call, like.imaginary ? foreign::complex_type_of(part) : part);
}

template <int value>
void map_constant_like(Call& call) {
  const ElementType type = type_of_like(call);
  give(call, type, filled_like(call, call.onnx.scalar(foreign::part_type_of(type), value)));
}

void map_full_like(Call& call) {
  const ElementType type = type_of_like(call);
  const std::string_view name = call.has("fill_value") ? "fill_value" : "value";
  give(call, type, filled_like(call, call.number(name, foreign::part_type_of(type))));
}

void map_scalar_tensor(Call& call) {
  const ElementType type = created_type(call, ElementType::float32);
  const Val number = call.number("s", foreign::part_type_of(type));
  give(call, type, call.onnx.rank(number) == 1 ? call.onnx.squeeze(number, {0}) : number);
}

bool is_whole(Call& call, std::string_view name) {
  const foreign::Argument* given = call.argument(name);
  if (given && given->as<foreign::ValueId>()) return !is_floating(call.onnx.elem(call.tensor(name)));
  return !given || given->is_none() || given->as<std::int64_t>();
}

/// The numbers of a range whose ends are constants, if they are few.
std::optional<std::vector<std::int64_t>> short_range(Call& call, Val start, Val end, Val step) {
  const auto number = [&](Val size) -> std::optional<std::int64_t> {
    const auto known = call.onnx.constant_integers(size);
    return known && known->size() == 1 ? std::optional(known->front()) : std::nullopt;
  };
  const auto first = number(start), last = number(end), by = number(step);
  constexpr std::int64_t most = 1024;
  const auto distance = first && last ? checked_sub(*last, *first) : std::nullopt;
  if (!distance || !by || *by == 0 || *distance > most || *distance < -most) return std::nullopt;
  std::vector<std::int64_t> values;
  for (std::optional<std::int64_t> x = first; x && (*by > 0 ? *x < *last : *x > *last); x = checked_add(*x, *by))
    values.push_back(*x);
  return values;
}

/// Numbers from start to end by step. Small ones that are constant become a constant.
void map_arange(Call& call) {
  auto& onnx = call.onnx;
  if (const ElementType wanted = call.elem("dtype"); wanted != foreign::part_type_of(wanted))
    return call.refuse("a range of complex numbers");
  const bool counts = is_whole(call, "start") && is_whole(call, "end") && is_whole(call, "step");
  const ElementType type = created_type(call, counts ? ElementType::int64 : ElementType::float32);
  if (!counts) {
    // Numbers that a run computes are vectors of one, in double, in which PyTorch counts.
    const auto bound = [&](std::string_view name, double fallback) {
      const Val number = call.number(name, ElementType::float64, fallback);
      return onnx.rank(number) == 1 ? onnx.squeeze(number, {0}) : number;
    };
    const bool is_computed = std::any_of(call.node.arguments.begin(), call.node.arguments.end(),
                                         [](const foreign::Argument& item) { return item.as<foreign::ValueId>(); });
    if (is_computed)
      return call.result(onnx.cast(onnx.emit("Range", {bound("start", 0), bound("end", 0), bound("step", 1)}), type));
    const Val range =
        onnx.emit("Range", {call.number("start", type), call.number("end", type), call.number("step", type, 1)});
    return call.result(range);
  }
  const Val start = call.size("start", 0), end = call.size("end", 0), step = call.size("step", 1);
  if (const auto values = short_range(call, start, end, step))
    return call.result(onnx.cast(onnx.integers(*values), type));
  const Val range = onnx.emit("Range", {onnx.squeeze(start, {0}), onnx.squeeze(end, {0}), onnx.squeeze(step, {0})});
  call.result(onnx.cast(range, type));
}

void map_eye(Call& call) {
  auto& onnx = call.onnx;
  const ElementType type = created_type(call, ElementType::float32);
  const Val rows = call.size("n", 1), columns = call.has("m") ? call.size("m", 1) : rows;
  const Val like = onnx.emit("Expand", {onnx.scalar(foreign::part_type_of(type), 0), onnx.joined({rows, columns})});
  give(call, type, onnx.emit("EyeLike", {like}));
}

/// Each vector along an axis of its own, as large as all of them.
void map_meshgrid(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<Val> vectors = call.tensors("tensors");
  const bool swaps = call.text("indexing", "ij") == "xy" && vectors.size() >= 2;
  std::vector<Val> sizes;
  for (const Val vector : vectors)
    sizes.push_back(onnx.rank(vector) == 0 ? onnx.integers({1}) : onnx.size_of(vector, 0));
  if (swaps) std::swap(sizes[0], sizes[1]);
  const Val shape = onnx.joined(sizes);
  std::vector<Val> grids;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::size_t axis = swaps && i < 2 ? 1 - i : i;
    std::vector<std::int64_t> along(vectors.size(), 1);
    along[axis] = -1;
    grids.push_back(onnx.emit("Expand", {onnx.reshape(vectors[i], along), shape}));
  }
  call.results(grids);
}

/// The part on one side of a diagonal.
template <std::int64_t upper>
void map_triangle(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  const Val diagonal = onnx.scalar_integer(ElementType::int64, call.integer("diagonal", 0));
  const bool is_boolean = type == ElementType::boolean;
  if (is_boolean) x = onnx.cast(x, ElementType::int32);
  const Val part = onnx.emit("Trilu", {x, diagonal}, {{"upper", upper}});
  call.result(is_boolean ? onnx.cast(part, type) : part);
}

/// Row and column of each place on one side of a diagonal, row by row.
template <std::int64_t upper>
void map_triangle_indices(Call& call) {
  auto& onnx = call.onnx;
  const ElementType type = created_type(call, ElementType::int64);
  const std::int64_t rows = call.integer("row", 0), columns = call.integer("col", 0),
                     offset = call.integer("offset", 0);
  constexpr std::int64_t most = 4096;
  const bool is_size = rows >= 0 && columns >= 0 && rows <= most && columns <= most;
  if (!is_size || rows * columns > most * 16) return call.refuse("too many places for a constant");
  std::vector<std::int64_t> at_rows, at_columns;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      if (upper ? j - i >= offset : j - i <= offset) {
        at_rows.push_back(i);
        at_columns.push_back(j);
      }
  at_rows.insert(at_rows.end(), at_columns.begin(), at_columns.end());
  std::string bytes(reinterpret_cast<const char*>(at_rows.data()), at_rows.size() * sizeof(std::int64_t));
  const auto count = static_cast<std::int64_t>(at_columns.size());
  call.result(onnx.cast(onnx.owned_initializer("places", ElementType::int64, {2, count}, std::move(bytes)), type));
}

}  // namespace

void register_creation(Mappings& mappings);
void register_creation(Mappings& mappings) {
  mappings.add({"aten.zeros.default", "aten.new_zeros.default", "aten.empty.memory_format", "aten.new_empty.default",
                "aten.empty_permuted.default", "aten.empty_strided.default", "aten.new_empty_strided.default"},
               map_constant<0>);
  mappings.add({"aten.ones.default", "aten.new_ones.default"}, map_constant<1>);
  mappings.add({"aten.full.default", "aten.new_full.default"}, map_full);
  mappings.add({"aten.zeros_like.default", "aten.zero.default", "aten.empty_like.default"}, map_constant_like<0>);
  mappings.add_by_part({"aten.zeros_like.default", "aten.zero.default", "aten.empty_like.default"});
  mappings.add("aten.ones_like.default", map_constant_like<1>);
  mappings.add({"aten.full_like.default", "aten.fill.Scalar", "aten.fill.Tensor"}, map_full_like);
  mappings.add({"aten.scalar_tensor.default", "prims.scalar_tensor.default"}, map_scalar_tensor);
  mappings.add({"aten.arange.default", "aten.arange.start", "aten.arange.start_step"}, map_arange);
  mappings.add({"aten.eye.default", "aten.eye.m"}, map_eye);
  mappings.add({"aten.meshgrid.default", "aten.meshgrid.indexing"}, map_meshgrid);
  mappings.add("aten.tril_indices.default", map_triangle_indices<0>);
  mappings.add("aten.triu_indices.default", map_triangle_indices<1>);
  mappings.add("aten.tril.default", map_triangle<0>);
  mappings.add("aten.triu.default", map_triangle<1>);
}

}  // namespace onnxkit::pt2
