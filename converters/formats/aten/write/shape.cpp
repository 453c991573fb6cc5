// Operators that rearrange elements and change shapes.
#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

/// Any operator whose result has the elements of its first input in their order. The sizes are those that inference knows, or those of the
/// second input where it does not.
void map_reshape(WriteCall& call) {
  if (const Type& type = call.output_type(); type.shape) return call.result(reshape(call, call.input(0), *type.shape));
  call.refuse("the sizes of its result are known only when the model runs");
}

void map_transpose(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  std::vector<std::int64_t> order = call.integers("perm");
  if (order.empty())
    for (std::size_t i = rank; i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  call.result(permute(call, call.input(0), std::move(order)));
}

void map_concat(WriteCall& call) {
  const std::int64_t axis = call.axis("axis", 0, call.rank(0));
  call.result(call.emit("aten.cat.default", {{"tensors", call.inputs()}, {"dim", axis}}, call.output_type()));
}

void map_identity(WriteCall& call) { call.result(call.input(0)); }

void map_expand(WriteCall& call) {
  if (const Type& type = call.output_type(); type.shape)
    return call.result(
        call.emit("aten.expand.default", {{"self", call.input(0)}, {"size", size_arguments(call, *type.shape)}}, type));
  call.refuse("the sizes of its result are known only when the model runs");
}

/// A vector of sizes as a tensor, for who computes with it.
void map_shape(WriteCall& call) {
  const Shape sizes = call.symbolic_integers_of_output();
  if (sizes.empty()) return call.refuse("the rank of its input is not known");
  std::vector<ValueId> parts;
  for (const Dim size : sizes) {
    const auto part = size_argument(call, size);
    if (const auto* constant = std::get_if<std::int64_t>(&part)) {
      parts.push_back(call.integers_tensor(ElementType::int64, std::span(constant, 1)));
      continue;
    }
    parts.push_back(call.emit("aten.full.default",
                              {{"size", std::vector<std::int64_t>{1}},
                               {"fill_value", std::get<ValueId>(part)},
                               {"dtype", ElementType::int64}},
                              Type::tensor(ElementType::int64, {Dim(1)})));
  }
  call.result(call.emit("aten.cat.default", {{"tensors", parts}, {"dim", std::int64_t{0}}}, call.output_type()));
}

}  // namespace

void register_shape(Writers& writers);
void register_shape(Writers& writers) {
  writers.add({"Reshape", "Flatten", "Squeeze", "Unsqueeze"}, map_reshape);
  writers.add("Transpose", map_transpose);
  writers.add("Concat", map_concat);
  writers.add({"Identity", "Dropout"}, map_identity);
  writers.add("Expand", map_expand);
  writers.add("Shape", map_shape);
}

}  // namespace onnxkit::aten
