// Shapes: asked for, changed and filled.
#include <algorithm>

#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

void refuse_open_sizes(WriteCall& call) { call.refuse("the sizes of its result are known only when the model runs"); }

void map_reshape(WriteCall& call) {
  if (give_known_shape(call)) return;
  if (call.integer("allowzero", 0) != 0) return refuse_open_sizes(call);
  call.result(call.emit("RESHAPE", {{"x", call.input(0)}, {"shape", computed_sizes(call)}}, call.output_type()));
}

/// The elements of the first input in their order.
void map_same_elements(WriteCall& call) {
  if (!give_known_shape(call)) refuse_open_sizes(call);
}

void map_concat(WriteCall& call) {
  const std::int64_t axis = call.axis("axis", 0, call.rank(0));
  std::vector<ValueId> xs;
  for (std::size_t i = 0; i < call.node.inputs.size(); ++i) {
    const bool is_empty =
        call.shape(i) && std::any_of(call.shape(i)->begin(), call.shape(i)->end(), [](Dim dim) { return dim.is(0); });
    if (!is_empty) xs.push_back(call.input(i));
  }
  if (xs.empty()) xs = call.inputs();
  call.result(concat(call, xs, axis, call.output_type()));
}

void map_expand(WriteCall& call) {
  const Type& type = call.output_type();
  if (type.shape && call.shape(0) && *type.shape == *call.shape(0)) return call.result(call.input(0));
  ValueId shape = shape_operand(call, 1, type);
  if (!type.shape || !are_computable(call, *type.shape)) {  // axes of one element on either side grow
    call.rank(0);
    const ValueId own = sizes_of(call, call.input(0));
    shape = call.emit("BROADCAST_ARGS", {{"x", own}, {"y", shape}}, Type(call.type_of(shape)));
  }
  call.result(call.emit("BROADCAST_TO", {{"x", call.input(0)}, {"shape", shape}}, type));
}

void map_tile(WriteCall& call) {
  call.result(call.emit("TILE", {{"x", call.input(0)}, {"multiples", cast(call, call.input(1), ElementType::int32)}},
                        call.output_type()));
}

void map_shape(WriteCall& call) {
  call.result(call.emit("SHAPE", {{"x", call.input(0)}, {"out_type", ElementType::int64}}, call.output_type()));
}

void map_size(WriteCall& call) {
  const ValueId sizes = call.emit("SHAPE", {{"x", call.input(0)}, {"out_type", ElementType::int32}},
                                  Type::tensor(ElementType::int32, {Dim(static_cast<std::int64_t>(call.rank(0)))}));
  call.result(cast(call, reduce(call, "REDUCE_PROD", sizes, {0}, false), ElementType::int64));
}

/// Indices from -depth on; those outside are off everywhere.
void map_one_hot(WriteCall& call) {
  const auto depth = call.known_integers(1);
  const auto values = call.known_reals(2);
  const bool is_known = depth && depth->size() == 1;
  const ElementType elem = call.elem(2);
  const ValueId size =
      is_known ? number(call, depth->front()) : as_scalar(call, cast(call, call.input(1), ElementType::int32));
  const auto choice = [&](std::int64_t at) {
    if (values && values->size() == 2) return call.scalar(elem, (*values)[static_cast<std::size_t>(at)]);
    return as_scalar(call, part(call, call.input(2), {at}, {at + 1}, {1}, Type::tensor(elem, {Dim(1)})));
  };
  const ValueId places = positions_from_start(call, cast(call, call.input(0), ElementType::int32), size);
  const ValueId on = choice(1), off = choice(0);
  give_one_hot(call, places, size, on, off);
}

/// Positions as columns; here each is a row.
void map_non_zero(WriteCall& call) {
  const ValueId x = call.input(0);
  const ValueId condition =
      call.elem(0) == ElementType::boolean ? x : compare(call, "NOT_EQUAL", x, call.scalar(call.elem(0), 0));
  const Type rows = Type::tensor(ElementType::int64, {Dim(), Dim(static_cast<std::int64_t>(call.rank(0)))});
  call.result(transpose(call, call.emit("WHERE", {{"condition", condition}}, rows), {1, 0}));
}

}  // namespace

void register_shape(Writers& writers);
void register_shape(Writers& writers) {
  writers.add("Reshape", map_reshape);
  writers.add({"Flatten", "Squeeze", "Unsqueeze"}, map_same_elements);
  writers.add("Concat", map_concat);
  writers.add("Expand", map_expand);
  writers.add("Tile", map_tile);
  writers.add("Shape", map_shape);
  writers.add("Size", map_size);
  writers.add("OneHot", map_one_hot);
  writers.add("NonZero", map_non_zero);
}

}  // namespace onnxkit::to_tflite
