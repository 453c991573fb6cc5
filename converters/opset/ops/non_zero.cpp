#include <cstdint>
#include <vector>

#include "converters/opset/compose/loops.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::opset {
namespace {

/// Runtimes stop at a division by 0 even where there is nothing to divide.
ValueId at_least_one(Step& step, ValueId size) {
  const ValueId counts = cast(step, cast(step, size, ElementType::boolean), ElementType::int64, "is_positive");
  return step.add("Add", {size, step.add("Sub", {step.vector(std::vector<std::int64_t>{1}), counts}, {}, "more")}, {},
                  "divisor");
}

/// One row of indices for each axis, from the places in the flat tensor.
ValueId index_rows(Step& step, ValueId places, std::int64_t rank) {
  std::vector<ValueId> rows;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    ValueId row = places;
    if (axis + 1 < rank) {
      const ValueId behind = product_of(step, sizes_of(step, step.input(0), axis + 1, rank));
      row = step.add("Div", {row, at_least_one(step, behind)}, {}, "row");
    }
    if (axis > 0) {
      const ValueId size = at_least_one(step, size_vector(step, step.input(0), axis));
      const ValueId whole = step.add("Mul", {step.add("Div", {row, size}, {}, "rows"), size}, {}, "whole");
      row = step.add("Sub", {row, whole}, {}, "index");
    }
    rows.push_back(unsqueeze(step, row, {0}, "row"));
  }
  return rows.size() == 1 ? rows.front() : step.add("Concat", rows, {{"axis", std::int64_t{0}}}, "rows");
}

/// The length of a vector that ConstantOfShape fills with another number than 0.
ValueId length_of_filled(const Step& step, ValueId x) {
  const ir::Graph& graph = step.graph();
  const std::int32_t at = step.rank(x) == 1 ? ir::producers(graph)[ir::index_of(x)] : -1;
  if (at < 0) return ValueId::none;
  const ir::Node& node = graph.nodes[static_cast<std::size_t>(at)];
  const ir::Attribute* value = node.find_attribute("value");
  const auto reader = value && value->tensor() ? ir::ElementReader::open(*value->tensor()) : std::nullopt;
  if (!(node.op_type == "ConstantOfShape") || !reader || reader->count() != 1 || node.inputs.size() != 1)
    return ValueId::none;
  double number = 0;
  auto numbers = *reader;
  return numbers.read(std::span(&number, 1)) == 1 && number != 0 ? node.inputs[0] : ValueId::none;
}

void find_by_loop(Step& step) {
  const ValueId x = step.input(0);
  if (const ValueId length = length_of_filled(step, x); length != ValueId::none) {
    step.emit("Identity", {unsqueeze(step, counted_by_loop(step, length), {0}, "row")}, {step.output(0)});
    return step.replace();
  }
  const ElementType type = step.need_elem(x);
  const std::int64_t rank = step.need_rank(x);
  if (type == ElementType::string || rank == 0) refuse("older opsets cannot find nonzero elements of text and scalars");
  const ValueId is_other = type == ElementType::boolean ? x : cast(step, x, ElementType::boolean, "is_nonzero");
  const ValueId flags = reshape(step, cast(step, is_other, ElementType::int64, "flags"), {-1}, "flat");
  step.emit("Identity", {index_rows(step, places_of_ones(step, flags), rank)}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_non_zero(StepRegistry& registry) {
  registry.introduced({"NonZero"}, 9,
                      adapt("rewritten as a Loop that finds one element after the other", find_by_loop));
  registry.types({"NonZero"}, {13});
}

}  // namespace onnxkit::opset
