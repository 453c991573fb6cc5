// Shapes: asked for, changed and filled.
#include <algorithm>

#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

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

void map_concat(WriteCall& call) {
  call.result(concat(call, call.inputs(), call.axis("axis", 0, call.rank(0)), call.output_type()));
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

/// Indices from -depth on; those outside are off everywhere.
void map_one_hot(WriteCall& call) {
  const ElementType elem = call.elem(2);
  const ValueId size = as_scalar(call, cast(call, call.input(1), ElementType::int64));
  const ValueId places = positions_from_start(call, cast(call, call.input(0), ElementType::int64), size);
  const auto value = [&](std::int64_t at) {
    return squeeze(call, part(call, call.input(2), {at}, {at + 1}, {1}, Type::tensor(elem, {Dim(1)})), {0},
                   Type::tensor(elem, Shape()));
  };
  const ValueId depth = cast(call, size, ElementType::int32), on = value(1), off = value(0);
  give_one_hot(call, places, depth, on, off);
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
  writers.add("Concat", map_concat);
  writers.add("Expand", map_expand);
  writers.add("Tile", map_tile);
  writers.add("Shape", map_shape);
  writers.add("Size", map_size);
  writers.add("OneHot", map_one_hot);
  writers.add("EyeLike", map_eye_like);
  writers.add("NonZero", map_non_zero);
}

}  // namespace onnxkit::to_tensorflow
