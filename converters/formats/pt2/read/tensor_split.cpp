// Parts of tensors by their number or by where they begin.
#include <optional>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// The axis by name, and those of rows, columns and layers; of a vector its only one.
std::optional<std::int64_t> split_axis(Call& call, Val x) {
  const std::size_t rank = call.rank(x);
  const std::string_view op = call.node.op;
  if (op.starts_with("aten.tensor_split")) return call.axis("dim", 0, rank);
  const std::size_t axis = op.starts_with("aten.vsplit") ? 0 : op.starts_with("aten.dsplit") ? 2 : rank == 1 ? 0 : 1;
  const std::size_t least = op.starts_with("aten.hsplit") ? 1 : op.starts_with("aten.vsplit") ? 2 : 3;
  if (rank >= least) return static_cast<std::int64_t>(axis);
  call.refuse("the tensor has too few axes");
  return std::nullopt;
}

/// So many parts, of which the first ones are larger by one where it does not come out even.
void give_sections(Call& call, Val x, std::int64_t axis) {
  auto& onnx = call.onnx;
  const auto count = static_cast<std::int64_t>(call.node.outputs.size());
  const auto size = onnx.size(x, static_cast<std::size_t>(axis));
  Val sizes;
  if (size) {
    std::vector<std::int64_t> known;
    for (std::int64_t i = 0; i < count; ++i) known.push_back(*size / count + (i < *size % count ? 1 : 0));
    sizes = onnx.integers(known);
  } else {
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(count - 1 - i);
    // (size + count - 1 - i) / count
    sizes =
        onnx.emit("Div", {onnx.emit("Add", {onnx.size_of(x, axis), onnx.integers(numbers)}), onnx.integers({count})});
  }
  call.results(onnx.emit_many(call.node.outputs.size(), "Split", {x, sizes}, {{"axis", axis}}));
}

/// From each place to the next one, as Python slices: places may be behind the end, or before the one before them.
void give_slices(Call& call, Val x, std::int64_t axis, const std::vector<Val>& places) {
  auto& onnx = call.onnx;
  if (places.size() + 1 != call.node.outputs.size())
    return call.refuse("the number of parts is not that of the places");
  std::vector<Val> parts;
  for (std::size_t i = 0; i <= places.size(); ++i) {
    const Val start = i == 0 ? onnx.integers({0}) : places[i - 1];
    const Val end = i < places.size() ? places[i] : onnx.size_of(x, axis);
    parts.push_back(onnx.emit("Slice", {x, start, end, onnx.integers({axis})}));
  }
  call.results(parts);
}

void map_sections(Call& call) {
  const Val x = call.tensor("self");
  if (const auto axis = split_axis(call, x)) give_sections(call, x, *axis);
}

void map_split_at(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const auto axis = split_axis(call, x);
  if (!axis) return;
  const Val given = call.sizes("indices");
  std::vector<Val> places;
  const auto known = onnx.constant_integers(given);
  for (std::size_t i = 0; i + 1 < call.node.outputs.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    places.push_back(known && i < known->size()
                         ? onnx.integers({(*known)[i]})
                         : onnx.emit("Slice", {given, onnx.integers({at}), onnx.integers({at + 1})}));
  }
  give_slices(call, x, *axis, places);
}

/// A tensor without axes is the number of parts, which the results tell; another one has the places.
void map_split_by_tensor(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self"), given = call.tensor("tensor_indices_or_sections");
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  if (call.rank(given) == 0) return give_sections(call, x, axis);
  std::vector<Val> places;
  for (std::size_t i = 0; i + 1 < call.node.outputs.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    places.push_back(onnx.emit("Slice", {given, onnx.integers({at}), onnx.integers({at + 1})}));
  }
  give_slices(call, x, axis, places);
}

}  // namespace

void register_tensor_split(Mappings& mappings);
void register_tensor_split(Mappings& mappings) {
  mappings.add({"aten.tensor_split.sections", "aten.hsplit.int", "aten.vsplit.int", "aten.dsplit.int"}, map_sections);
  mappings.add({"aten.tensor_split.indices", "aten.hsplit.array", "aten.vsplit.array", "aten.dsplit.array"},
               map_split_at);
  mappings.add("aten.tensor_split.tensor_indices_or_sections", map_split_by_tensor);
}

}  // namespace onnxkit::pt2
