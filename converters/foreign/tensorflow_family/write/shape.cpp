// Shapes: asked for, changed and filled.
#include <algorithm>

#include "converters/foreign/tensorflow_family/operators.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::tensorflow_family {
namespace {

void map_transpose(WriteCall& call) {
  Ints order = call.integers("perm");
  if (order.empty())
    for (std::size_t i = call.rank(0); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  call.result(transpose(call, call.input(0), order));
}

void map_constant_of_shape(WriteCall& call) {
  const Type& type = call.output_type();
  const ir::Attribute* value = call.node.find_attribute("value");
  const ir::Tensor* filling = value ? value->tensor() : nullptr;
  double number = 0;
  if (filling) {
    auto reader = ir::ElementReader::open(*filling);
    if (!reader || reader->read(std::span(&number, 1)) != 1) return call.refuse("its value cannot be read");
  }
  const ValueId sizes = shape_operand(call, 0, type);
  call.result(fill(call, sizes, call.scalar(type.elem, number), type));
}

void map_range(WriteCall& call) {
  const ElementType elem = call.elem(0);
  const bool is_computed_in_int32 =
      elem == ElementType::int16 || (elem == ElementType::int64 && call.dialect().is_lite);
  const ElementType within = is_computed_in_int32 ? ElementType::int32 : elem;
  const auto scalar = [&](std::size_t input) {
    const ValueId value = cast(call, call.input(input), within);
    return call.shape(input) && !call.shape(input)->empty() ? reshape(call, value, Shape()) : value;
  };
  const ValueId range = emit(call, "Range", {{"start", scalar(0)}, {"limit", scalar(1)}, {"delta", scalar(2)}},
                             with_elem(call.output_type(), within));
  call.result(cast(call, range, elem));
}

}  // namespace

ValueId positions_from_start(WriteCall& call, ValueId positions, ValueId size) {
  const ValueId is_negative = compare(call, "Less", positions, call.scalar(call.type_of(positions).elem, 0));
  return select(call, is_negative, binary(call, "AddV2", positions, size), positions);
}

void give_one_hot(WriteCall& call, ValueId places, ValueId depth, ValueId on, ValueId off) {
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  std::int64_t axis = call.integer("axis", -1);
  if (axis < -1) axis += rank + 1;
  if (axis == rank) axis = -1;
  call.result(emit(call, "OneHot",
                   {{"indices", places}, {"depth", depth}, {"on_value", on}, {"off_value", off}, {"axis", axis}},
                   call.output_type()));
}

bool give_known_shape(WriteCall& call) {
  const Type& type = call.output_type();
  if (!type.shape) return false;
  const auto open = std::count_if(type.shape->begin(), type.shape->end(), [](Dim dim) { return !dim.is_constant(); });
  const bool has_zero = std::any_of(type.shape->begin(), type.shape->end(), [](Dim dim) { return dim.is(0); });
  const bool is_stated = open == 1 && (!has_zero || call.dialect().is_lite);
  if (!is_stated && !are_computable(call, *type.shape)) return false;
  call.result(reshape(call, call.input(0), *type.shape));
  return true;
}

ValueId computed_sizes(WriteCall& call) {
  const ElementType elem = call.dialect().is_lite ? ElementType::int32 : ElementType::int64;
  const ValueId sizes = cast(call, call.input(1), elem);
  const Shape known = call.symbolic_integers(1);
  const bool has_no_zero = call.integer("allowzero", 0) != 0 ||
                           (!known.empty() && std::all_of(known.begin(), known.end(),
                                                          [](Dim dim) { return dim.is_constant() && !dim.is(0); }));
  const auto count = call.size(1, 0);
  if (has_no_zero || !count || !call.shape(0)) return sizes;
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  const Type vector = Type::tensor(elem, {Dim(*count)});
  ValueId own = sizes_of(call, call.input(0), elem);
  if (*count < rank) own = part(call, own, {0}, {*count}, {1}, vector);
  if (*count > rank) {
    const Ints zeros(static_cast<std::size_t>(*count - rank), 0);
    own = concat(call, {own, call.integers_tensor(elem, zeros)}, 0, vector);
  }
  return select(call, compare(call, "Equal", sizes, call.scalar(elem, 0)), own, sizes);
}

void register_shape(Writers& writers);
void register_shape(Writers& writers) {
  writers.add("Transpose", map_transpose);
  writers.add("ConstantOfShape", map_constant_of_shape);
  writers.add("Range", map_range);
}

}  // namespace onnxkit::tensorflow_family
