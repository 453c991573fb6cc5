// Operators that rearrange elements and change shapes.
#include <cmath>
#include <optional>

#include "converters/formats/aten/lower.h"
#include "converters/formats/aten/run_time_axes.h"

namespace onnxkit::aten {
namespace {

/// Of Reshape. A 0 stands for the input's size where allowzero is not set.
Given::Mixed given_sizes(WriteCall& call) {
  const auto count = call.size(1, 0);
  const Shape* before = call.shape(0);
  if (call.integer("allowzero", 0) != 0 || !count || !before || call.known_integers(1))
    return integer_arguments(call, 1);
  std::vector<ValueId> old;
  Shape sizes = *before;
  sizes.resize(static_cast<std::size_t>(*count), Dim(1));
  const ValueId asked = call.input(1);
  const ValueId kept = sizes_tensor(call, sizes);
  const ValueId chosen = where(call, compare_number(call, "aten.eq.Scalar", asked, 0), kept, asked, call.type(1));
  Given::Mixed arguments;
  for (Int i = 0; i < *count; ++i) arguments.emplace_back(item(call, select(call, chosen, 0, i), Dim()));
  return arguments;
}

/// Any operator whose result has the elements of its first input in their order.
void map_reshape(WriteCall& call) {
  const Type& type = call.output_type();
  if (!type.shape) return call.refuse("the rank of its result is known only when the model runs");
  Given::Mixed sizes;
  std::size_t unknown = 0;
  for (const Dim size : *type.shape) {
    if (is_computable(call, size)) {
      sizes.push_back(size_argument(call, size));
      continue;
    }
    sizes.emplace_back(Int{-1});
    ++unknown;
  }
  if (unknown > 1 && call.node.op_type.view() != "Reshape")
    return call.refuse("sizes of its result are known only when the model runs");
  if (unknown > 0 && call.node.op_type.view() == "Reshape") sizes = given_sizes(call);
  call.result(call.emit("aten.reshape.default", {{"self", call.input(0)}, {"shape", sizes}}, type));
}

/// Of axes that are given while the model runs.
bool change_axes_at_run_time(WriteCall& call, bool adds) {
  const Type& type = call.output_type();
  const bool is_known = type.shape && are_computable(call, *type.shape);
  if (is_known || !call.has(1) || call.known_integers(1) || !call.shape(0)) return false;
  const Shape sizes = *call.shape(0);
  const auto count = call.size(1, 0);
  const std::size_t added = adds ? static_cast<std::size_t>(count.value_or(0)) : 0;
  const RunTimeAxes axes = run_time_axes(call, 1, sizes.size() + added);
  if (call.refused()) return true;
  const Given::Mixed result = adds ? sizes_with_ones(call, axes, sizes) : sizes_without(call, axes, sizes);
  call.result(call.emit("aten.reshape.default", {{"self", call.input(0)}, {"shape", result}}, type));
  return true;
}
void map_squeeze(WriteCall& call) {
  if (!change_axes_at_run_time(call, false)) map_reshape(call);
}
void map_unsqueeze(WriteCall& call) {
  if (!change_axes_at_run_time(call, true)) map_reshape(call);
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

/// One known number in all places. PyTorch's own decompositions and compilers take a filled tensor where they fail on the views that an expanded
/// constant is: the first states of recurrent layers.
std::optional<double> filling_of(const WriteCall& call) {
  const ElementType elem = call.elem(0);
  const auto number = call.known_real(0);
  constexpr double exact_integers = 9007199254740992.0;  // 2^53
  const bool is_plain = elem == ElementType::boolean || elem == ElementType::int32 || elem == ElementType::int64 ||
                        elem == ElementType::float32 || elem == ElementType::float64;
  if (!number || !is_plain || !std::isfinite(*number)) return std::nullopt;
  return elem == ElementType::int64 && std::abs(*number) >= exact_integers ? std::nullopt : number;
}

/// Either shape may be broadcast to the other: sizes of 1 ask for nothing.
void map_expand(WriteCall& call) {
  const Type& type = call.output_type();
  const bool is_computable = type.shape && are_computable(call, *type.shape);
  if (const auto filling = filling_of(call); filling && is_computable)
    return call.result(full(call, *type.shape, *filling, call.elem(0)));
  if (is_computable)
    return call.result(
        call.emit("aten.expand.default", {{"self", call.input(0)}, {"size", size_arguments(call, *type.shape)}}, type));
  const ValueId ones = call.emit("aten.ones.default", {{"size", integer_arguments(call, 1)}, {"dtype", call.elem(0)}},
                                 Type::tensor(call.elem(0)));
  const ElementType elem = call.elem(0);
  const bool is_boolean = elem == ElementType::boolean;
  call.result(binary(call, is_boolean ? "aten.logical_and.default" : "aten.mul.Tensor", call.input(0), ones, type));
}

void map_shape(WriteCall& call) {
  const Shape sizes = call.symbolic_integers_of_output();
  if (sizes.empty()) return call.refuse("the rank of its input is not known");
  call.result(sizes_tensor(call, sizes));
}

void map_size(WriteCall& call) {
  Dim count = 1;
  call.rank(0);
  if (call.refused()) return;
  for (const Dim size : *call.shape(0)) count = call.dims().mul(count, size);
  call.result(full(call, {}, count, ElementType::int64));
}

void map_split(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const Int axis = call.axis("axis", 0, rank);
  if (call.refused()) return;
  Shape sizes;
  std::vector<Type> types;
  for (std::size_t o = 0; o < call.outputs(); ++o) {
    types.push_back(call.output_type(o));
    if (!types.back().shape) return call.refuse("the sizes of its parts are not known");
    sizes.push_back((*types.back().shape)[static_cast<std::size_t>(axis)]);
  }
  const Given::Mixed parts =
      call.has(1) && !are_computable(call, sizes) ? integer_arguments(call, 1) : size_arguments(call, sizes);
  call.results(call.emit_list("aten.split_with_sizes.default",
                              {{"self", call.input(0)}, {"split_sizes", parts}, {"dim", axis}}, types));
}

void map_tile(WriteCall& call) {
  call.result(call.emit("aten.repeat.default", {{"self", call.input(0)}, {"repeats", integer_arguments(call, 1)}},
                        call.output_type()));
}

/// Sizes in order, with an axis of blocks split in two.
void map_depth_to_space(WriteCall& call) {
  const Int block = call.integer("blocksize", 0);
  if (call.rank(0) != 4 || block < 1) return call.refuse("its input has not four axes");
  const Shape& in = *call.shape(0);
  const Shape& out = *call.output_type().shape;
  const ValueId x = call.input(0);
  if (call.text("mode", "DCR") == "CRD")
    return call.result(
        call.emit("aten.pixel_shuffle.default", {{"self", x}, {"upscale_factor", block}}, call.output_type()));
  const ValueId split = reshape(call, x, {in[0], Dim(block), Dim(block), out[1], in[2], in[3]});
  call.result(reshape(call, permute(call, split, {0, 3, 4, 1, 5, 2}), out));
}

void map_space_to_depth(WriteCall& call) {
  const Int block = call.integer("blocksize", 0);
  if (call.rank(0) != 4 || block < 1) return call.refuse("its input has not four axes");
  const Shape& in = *call.shape(0);
  const Shape& out = *call.output_type().shape;
  const ValueId split = reshape(call, call.input(0), {in[0], in[1], out[2], Dim(block), out[3], Dim(block)});
  call.result(reshape(call, permute(call, split, {0, 3, 5, 1, 2, 4}), out));
}

}  // namespace

void register_shape(Writers& writers);
void register_shape(Writers& writers) {
  writers.add({"Reshape", "Flatten"}, map_reshape);
  writers.add("Squeeze", map_squeeze);
  writers.add("Unsqueeze", map_unsqueeze);
  writers.add("Transpose", map_transpose);
  writers.add("Concat", map_concat);
  writers.add("Identity", map_identity);
  writers.add("Expand", map_expand);
  writers.add("Shape", map_shape);
  writers.add("Size", map_size);
  writers.add("Split", map_split);
  writers.add("Tile", map_tile);
  writers.add("DepthToSpace", map_depth_to_space);
  writers.add("SpaceToDepth", map_space_to_depth);
}

}  // namespace onnxkit::aten
