// Shapes: asked for, changed and filled.
#include <algorithm>
#include <numeric>

#include "converters/formats/tflite/emit.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::to_tflite {
namespace {

/// The sizes that Reshape is given, with those of its input where they are 0.
ValueId computed_sizes(WriteCall& call) {
  const ValueId sizes = cast(call, call.input(1), ElementType::int32);
  const Shape known = call.symbolic_integers(1);
  const bool has_no_zero = !known.empty() && std::all_of(known.begin(), known.end(),
                                                         [](Dim dim) { return dim.is_constant() && !dim.is(0); });
  const auto count = call.size(1, 0);
  if (has_no_zero || !count || !call.shape(0)) return sizes;
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  const Type vector = Type::tensor(ElementType::int32, {Dim(*count)});
  ValueId own = call.emit("SHAPE", {{"x", call.input(0)}, {"out_type", ElementType::int32}},
                          Type::tensor(ElementType::int32, {Dim(rank)}));
  if (*count < rank) own = part(call, own, {0}, {*count}, {1}, vector);
  if (*count > rank)
    own = concat(call, {own, numbers(call, Ints(static_cast<std::size_t>(*count - rank), 0))}, 0, vector);
  return select(call, compare(call, "EQUAL", sizes, call.scalar(ElementType::int32, 0)), own, sizes);
}

/// Any operator whose result has the elements of its first input in their order.
void map_reshape(WriteCall& call) {
  const Type& type = call.output_type();
  const auto is_unknown = [](Dim dim) { return dim.is_unknown(); };
  const std::size_t unknown =
      type.shape ? static_cast<std::size_t>(std::count_if(type.shape->begin(), type.shape->end(), is_unknown)) : 2;
  const auto open =
      type.shape ? std::count_if(type.shape->begin(), type.shape->end(), [](Dim dim) { return !dim.is_constant(); })
                 : 2;
  if (unknown == 0 || open == 1) {
    bool has_all = true;
    for (const Dim dim : *type.shape) has_all = has_all && (open == 1 || dim.is_constant() || call.has_size(dim));
    if (has_all) return call.result(reshape(call, call.input(0), *type.shape));
  }
  if (call.node.op_type != "Reshape" || call.integer("allowzero", 0) != 0)
    return call.refuse("the sizes of its result are known only when the model runs");
  call.result(call.emit("RESHAPE", {{"x", call.input(0)}, {"shape", computed_sizes(call)}}, type));
}

void map_transpose(WriteCall& call) {
  Ints order = call.integers("perm");
  if (order.empty())
    for (std::size_t i = call.rank(0); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  call.result(transpose(call, call.input(0), order));
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

/// A shape that is computed, or one that inference knows.
ValueId shape_operand(WriteCall& call, std::size_t input, const Shape* known) {
  if (known && std::none_of(known->begin(), known->end(),
                            [&](Dim dim) { return !dim.is_constant() && (dim.is_unknown() || !call.has_size(dim)); }))
    return sizes_vector(call, *known);
  return cast(call, call.input(input), ElementType::int32);
}

void map_expand(WriteCall& call) {
  const Type& type = call.output_type();
  if (type.shape && call.shape(0) && *type.shape == *call.shape(0)) return call.result(call.input(0));
  ValueId shape = shape_operand(call, 1, type.shape ? &*type.shape : nullptr);
  const bool is_result = type.shape && std::none_of(type.shape->begin(), type.shape->end(), [&](Dim dim) {
                           return !dim.is_constant() && (dim.is_unknown() || !call.has_size(dim));
                         });
  if (!is_result) {  // axes of one element on either side grow
    const auto rank = static_cast<std::int64_t>(call.rank(0));
    const ValueId own = call.emit("SHAPE", {{"x", call.input(0)}, {"out_type", ElementType::int32}},
                                  Type::tensor(ElementType::int32, {Dim(rank)}));
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

void map_constant_of_shape(WriteCall& call) {
  const Type& type = call.output_type();
  const ir::Attribute* value = call.node.find_attribute("value");
  const ir::Tensor* filling = value ? value->tensor() : nullptr;
  double number = 0;
  if (filling) {
    auto reader = ir::ElementReader::open(*filling);
    if (!reader || reader->read(std::span(&number, 1)) != 1) return call.refuse("its value cannot be read");
  }
  const ValueId dims = shape_operand(call, 0, type.shape ? &*type.shape : nullptr);
  call.result(call.emit("FILL", {{"dims", dims}, {"value", call.scalar(type.elem, number)}}, type));
}

void map_range(WriteCall& call) {
  const ElementType elem = call.elem(0);
  const ElementType within = elem == ElementType::int64 || elem == ElementType::int16 ? ElementType::int32 : elem;
  const auto scalar = [&](std::size_t input) {
    const ValueId value = cast(call, call.input(input), within);
    return call.shape(input) && !call.shape(input)->empty() ? reshape(call, value, Shape()) : value;
  };
  const ValueId range = call.emit("RANGE", {{"start", scalar(0)}, {"limit", scalar(1)}, {"delta", scalar(2)}},
                                  with_elem(call.output_type(), within));
  call.result(cast(call, range, elem));
}

/// Indices from -depth on; those outside are off everywhere.
void map_one_hot(WriteCall& call) {
  const auto depth = call.known_integers(1);
  const auto values = call.known_reals(2);
  const bool is_known = depth && depth->size() == 1;
  const ElementType elem = call.elem(2);
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  const std::int64_t axis = call.integer("axis", -1);
  const auto scalar = [&](ValueId vector) { return reshape(call, vector, Shape()); };
  const ValueId size = is_known ? call.scalar(ElementType::int32, static_cast<double>(depth->front()))
                                : scalar(cast(call, call.input(1), ElementType::int32));
  const auto choice = [&](std::int64_t at) {
    if (values && values->size() == 2) return call.scalar(elem, (*values)[static_cast<std::size_t>(at)]);
    return scalar(part(call, call.input(2), {at}, {at + 1}, {1}, Type::tensor(elem, {Dim(1)})));
  };
  const ValueId indices = cast(call, call.input(0), ElementType::int32);
  const ValueId is_negative = compare(call, "LESS", indices, call.scalar(ElementType::int32, 0));
  const ValueId places = select(call, is_negative, binary(call, "ADD", indices, size), indices);
  call.result(call.emit("ONE_HOT",
                        {{"indices", places},
                         {"depth", size},
                         {"on_value", choice(1)},
                         {"off_value", choice(0)},
                         {"axis", axis == rank ? std::int64_t{-1}
                                  : axis < -1  ? axis + rank + 1
                                               : axis}},
                        call.output_type()));
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
  writers.add({"Reshape", "Flatten", "Squeeze", "Unsqueeze"}, map_reshape);
  writers.add("Transpose", map_transpose);
  writers.add("Concat", map_concat);
  writers.add("Expand", map_expand);
  writers.add("Tile", map_tile);
  writers.add("Shape", map_shape);
  writers.add("Size", map_size);
  writers.add("ConstantOfShape", map_constant_of_shape);
  writers.add("Range", map_range);
  writers.add("OneHot", map_one_hot);
  writers.add("NonZero", map_non_zero);
}

}  // namespace onnxkit::to_tflite
