// Shapes: asked for, changed and filled.
#include <algorithm>

#include "converters/formats/saved_model/emit.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::to_tensorflow {
namespace {

/// The sizes that Reshape is given, with those of its input where they are 0.
ValueId computed_sizes(WriteCall& call) {
  const ValueId sizes = call.input(1);
  const Shape known = call.symbolic_integers(1);
  const bool has_no_zero = call.integer("allowzero", 0) != 0 ||
                           (!known.empty() && std::all_of(known.begin(), known.end(),
                                                          [](Dim dim) { return dim.is_constant() && !dim.is(0); }));
  const auto count = call.size(1, 0);
  if (has_no_zero || !count || !call.shape(0)) return sizes;
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  const Type vector = Type::tensor(ElementType::int64, {Dim(*count)});
  ValueId own = sizes_of(call, call.input(0), ElementType::int64);
  if (*count < rank) own = part(call, own, {0}, {*count}, {1}, vector);
  if (*count > rank) {
    const Ints zeros(static_cast<std::size_t>(*count - rank), 0);
    own = concat(call, {own, call.integers_tensor(ElementType::int64, zeros)}, 0, vector);
  }
  return select(call, compare(call, "Equal", sizes, call.scalar(ElementType::int64, 0)), own, sizes);
}

/// Whether the shape of the result is one that can be stated or computed; then it is the result.
bool give_known_shape(WriteCall& call) {
  const Type& type = call.output_type();
  if (!type.shape) return false;
  const auto open = std::count_if(type.shape->begin(), type.shape->end(), [](Dim dim) { return !dim.is_constant(); });
  const bool has_zero = std::any_of(type.shape->begin(), type.shape->end(), [](Dim dim) { return dim.is(0); });
  if (!(open == 1 && !has_zero) && !are_computable(call, *type.shape)) return false;
  call.result(reshape(call, call.input(0), *type.shape));
  return true;
}

void map_reshape(WriteCall& call) {
  if (give_known_shape(call)) return;
  call.result(call.emit("Reshape", {{"tensor", call.input(0)}, {"shape", computed_sizes(call)}}, call.output_type()));
}

void map_flatten(WriteCall& call) {
  if (give_known_shape(call)) return;
  const std::size_t rank = call.rank(0);
  const auto axis = call.axis("axis", 1, rank);
  const ValueId sizes = sizes_of(call, call.input(0));
  const ValueId first = part(call, sizes, {0}, {axis}, {1}, Type::tensor(ElementType::int32, {Dim(axis)}));
  const ValueId rows = reduce(call, "Prod", first, {0}, true);
  const ValueId wanted = concat(call, {rows, numbers(call, {-1})}, 0, Type::tensor(ElementType::int32, {Dim(2)}));
  call.result(call.emit("Reshape", {{"tensor", call.input(0)}, {"shape", wanted}}, call.output_type()));
}

void map_squeeze(WriteCall& call) {
  if (give_known_shape(call)) return;
  const auto axes = call.has(1) ? call.known_integers(1) : std::optional(Ints());
  if (!axes) return call.refuse("its axes are known only when the model runs");
  call.result(squeeze(call, call.input(0), *axes, call.output_type()));
}

void map_unsqueeze(WriteCall& call) {
  if (give_known_shape(call)) return;
  const auto axes = call.known_integers(1);
  if (!axes) return call.refuse("its axes are known only when the model runs");
  Ints places = WriteCall::from_start(*axes, call.rank(0) + axes->size());
  std::sort(places.begin(), places.end());
  ValueId result = call.input(0);
  for (const std::int64_t axis : places) result = expand_dims(call, result, axis);
  call.result(result);
}

void map_transpose(WriteCall& call) {
  Ints order = call.integers("perm");
  if (order.empty())
    for (std::size_t i = call.rank(0); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  call.result(transpose(call, call.input(0), order));
}

void map_concat(WriteCall& call) {
  call.result(concat(call, call.inputs(), call.axis("axis", 0, call.rank(0)), call.output_type()));
}

/// A shape that is computed, or one that inference knows.
ValueId shape_operand(WriteCall& call, std::size_t input, const Type& known) {
  return known.shape && are_computable(call, *known.shape) ? sizes_vector(call, *known.shape) : call.input(input);
}

void map_expand(WriteCall& call) {
  const Type& type = call.output_type();
  if (type.shape && call.shape(0) && *type.shape == *call.shape(0)) return call.result(call.input(0));
  ValueId shape = shape_operand(call, 1, type);
  if (!type.shape || !are_computable(call, *type.shape)) {  // axes of one element on either side grow
    const ValueId own = sizes_of(call, call.input(0), call.type_of(shape).elem);
    shape = call.emit("BroadcastArgs", {{"s0", own}, {"s1", shape}}, Type(call.type_of(shape)));
  }
  call.result(call.emit("BroadcastTo", {{"input", call.input(0)}, {"shape", shape}}, type));
}

void map_tile(WriteCall& call) {
  call.result(call.emit("Tile", {{"input", call.input(0)}, {"multiples", call.input(1)}}, call.output_type()));
}

void map_shape(WriteCall& call) { call.result(sizes_of(call, call.input(0), ElementType::int64)); }

void map_size(WriteCall& call) {
  call.result(call.emit("Size", {{"input", call.input(0)}, {"out_type", ElementType::int64}}, call.output_type()));
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
  const ElementType within = elem == ElementType::int16 ? ElementType::int32 : elem;
  const auto scalar = [&](std::size_t input) {
    const ValueId value = cast(call, call.input(input), within);
    return call.shape(input) && !call.shape(input)->empty() ? reshape(call, value, Shape()) : value;
  };
  const ValueId range = call.emit("Range", {{"start", scalar(0)}, {"limit", scalar(1)}, {"delta", scalar(2)}},
                                  with_elem(call.output_type(), within));
  call.result(cast(call, range, elem));
}

/// Indices from -depth on; those outside are off everywhere.
void map_one_hot(WriteCall& call) {
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  const std::int64_t axis = call.integer("axis", -1);
  const ElementType elem = call.elem(2);
  const ValueId depth = reshape(call, cast(call, call.input(1), ElementType::int64), Shape());
  const ValueId indices = cast(call, call.input(0), ElementType::int64);
  const ValueId is_negative = compare(call, "Less", indices, call.scalar(ElementType::int64, 0));
  const ValueId places = select(call, is_negative, binary(call, "AddV2", indices, depth), indices);
  const auto value = [&](std::int64_t at) {
    return squeeze(call, part(call, call.input(2), {at}, {at + 1}, {1}, Type::tensor(elem, {Dim(1)})), {0},
                   Type::tensor(elem, Shape()));
  };
  call.result(call.emit("OneHot",
                        {{"indices", places},
                         {"depth", cast(call, depth, ElementType::int32)},
                         {"on_value", value(1)},
                         {"off_value", value(0)},
                         {"axis", axis == rank ? std::int64_t{-1}
                                  : axis < -1  ? axis + rank + 1
                                               : axis}},
                        call.output_type()));
}

/// 1 where the column is k further than the row.
void map_eye_like(WriteCall& call) {
  if (call.rank(0) != 2) return call.refuse("it has not two axes");
  const Shape& shape = *call.shape(0);
  if (!are_computable(call, shape)) return call.refuse("its sizes are not known");
  const ValueId rows = expand_dims(call, counted(call, shape[0]), 1);
  const ValueId distance = binary(call, "Sub", counted(call, shape[1]), rows);
  const ValueId is_on = compare(call, "Equal", distance, number(call, call.integer("k", 0)));
  call.result(cast(call, is_on, call.output_type().elem));
}

/// Positions as columns; here each is a row.
void map_non_zero(WriteCall& call) {
  const Type rows = Type::tensor(ElementType::int64, {Dim(), Dim(static_cast<std::int64_t>(call.rank(0)))});
  call.result(transpose(call, call.emit("Where", {{"input", call.input(0)}}, rows), {1, 0}));
}

}  // namespace

void register_shape(Writers& writers);
void register_shape(Writers& writers) {
  writers.add("Reshape", map_reshape);
  writers.add("Flatten", map_flatten);
  writers.add("Squeeze", map_squeeze);
  writers.add("Unsqueeze", map_unsqueeze);
  writers.add("Transpose", map_transpose);
  writers.add("Concat", map_concat);
  writers.add("Expand", map_expand);
  writers.add("Tile", map_tile);
  writers.add("Shape", map_shape);
  writers.add("Size", map_size);
  writers.add("ConstantOfShape", map_constant_of_shape);
  writers.add("Range", map_range);
  writers.add("OneHot", map_one_hot);
  writers.add("EyeLike", map_eye_like);
  writers.add("NonZero", map_non_zero);
}

}  // namespace onnxkit::to_tensorflow
