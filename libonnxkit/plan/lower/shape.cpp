#include <algorithm>
#include <limits>

#include "libonnxkit/plan/compose.h"

// Operators that only move elements: views wherever strides can say it.
namespace onnxkit::plan {
namespace {

Unlowered lower_reshape(LowerCall& call) {
  const Dims dims = call.output_dims(0);
  auto view = reshaped(call.input(0), dims);
  if (!view) view = reshaped(call.contiguous(call.input(0)), dims);
  call.set_output(0, *view);
  return std::nullopt;
}

Unlowered lower_transpose(LowerCall& call) {
  const View& view = call.input(0);
  auto order = call.integers("perm");
  if (!order || order->empty()) {
    order.emplace();
    for (std::size_t axis = view.rank(); axis-- > 0;) order->push_back(static_cast<std::int64_t>(axis));
  }
  call.set_output(0, permuted(view, *order));
  return std::nullopt;
}

Unlowered lower_expand(LowerCall& call) {
  call.set_output(0, broadcast_to(call.input(0), call.output_dims(0)));
  return std::nullopt;
}

Unlowered lower_slice(LowerCall& call) {
  if (call.since() < 10) return "an old version";
  const auto starts = call.constant_integers(1);
  const auto axes = call.constant_integers(3), steps = call.constant_integers(4);
  if (!starts || (call.has_input(3) && !axes) || (call.has_input(4) && !steps)) return "bounds are not constant";
  View view = call.input(0);
  const Dims dims = call.output_dims(0);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::size_t axis = counted_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), view.rank());
    const std::int64_t size = view.dims[axis], step = steps ? (*steps)[i] : 1;
    std::int64_t start = (*starts)[i];
    if (start < 0) start += size;
    start = std::clamp<std::int64_t>(start, 0, step < 0 ? std::max<std::int64_t>(size - 1, 0) : size);
    view = sliced(view, axis, start, step, dims[axis]);
  }
  call.set_output(0, view);
  return std::nullopt;
}

Unlowered lower_split(LowerCall& call) {
  const View view = call.input(0);
  const std::size_t axis = counted_axis(call.integer("axis"), view.rank());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.output_count(); ++i) {
    if (!call.has_output(i)) return "a part is left out";
    const std::int64_t count = call.output_dims(i)[axis];
    call.set_output(i, sliced(view, axis, start, 1, count));
    start += count;
  }
  return std::nullopt;
}

Unlowered lower_concat(LowerCall& call) {
  if (!call.has_input(0)) return "without an operand";
  const ElementType stored = LowerCall::stored_type(call.output_type(0));
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    if (call.input(i).type != stored && !has_lane(stored)) return "operands are stored in different types";
  }
  const View output = call.make_like(stored, call.output_dims(0), call.input(0));
  const std::size_t axis = counted_axis(call.integer("axis"), output.rank());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const View& part = call.input(i);
    const View to = sliced(output, axis, start, 1, part.dims[axis]);
    start += part.dims[axis];
    if (to.size() == 0) continue;
    if (part.type == stored) {
      call.emit_copy(part, to);
    } else {
      Expression expression;
      expression.input(0, lane_of(stored));
      call.emit_map(expression, {part}, to);
    }
  }
  call.set_output(0, output);
  return std::nullopt;
}

Unlowered lower_pad(LowerCall& call) {
  if (call.since() < 11) return "an old version";
  if (const auto mode = call.string("mode"); !mode.empty() && mode != "constant")
    return "only constants are padded with";
  const auto pads = call.constant_integers(1);
  const auto axes = call.constant_integers(3);
  if (!pads || (call.has_input(3) && !axes)) return "pads are not constant";
  const double value = call.has_input(2) ? call.constant_real(2).value_or(std::numeric_limits<double>::quiet_NaN()) : 0;
  const ElementType stored = LowerCall::stored_type(call.output_type(0));
  if (call.has_input(2) && !call.constant_real(2)) return "the value is not constant";
  if (!has_lane(stored)) return "the elements cannot be computed";
  View from = call.input(0);
  const View output = call.make_like(stored, call.output_dims(0), from);
  View inside = output;
  const std::size_t count = axes ? axes->size() : from.rank();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = counted_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), from.rank());
    const std::int64_t before = (*pads)[i], size = from.dims[axis];
    const std::int64_t first = std::max<std::int64_t>(0, -before), last = std::min(size, output.dims[axis] - before);
    if (last <= first) return "all is cut off";
    from = sliced(from, axis, first, 1, last - first);
    inside = sliced(inside, axis, before + first, 1, last - first);
  }
  Expression constant;
  constant.constant(lane_of(stored), value);
  call.emit_map(constant, {}, output);
  Expression same;
  same.input(0, lane_of(from.type));
  call.emit_map(same, {from}, inside);
  call.set_output(0, output);
  return std::nullopt;
}

Unlowered lower_gather(LowerCall& call) {
  const View& data = call.input(0);
  const std::size_t axis = counted_axis(call.integer("axis"), data.rank());
  // One position is a slice.
  if (const auto position = call.constant_integers(1); position && position->size() == 1) {
    std::int64_t at = position->front();
    if (at < 0) at += data.dims[axis];
    if (at < 0 || at >= data.dims[axis]) return "a position is out of range";
    const View slice = sliced(data, axis, at, 1, 1);
    auto result = reshaped(slice, call.output_dims(0));
    if (!result) result = reshaped(call.contiguous(slice), call.output_dims(0));
    call.set_output(0, *result);
    return std::nullopt;
  }
  const View& positions = call.input(1);
  if (positions.type != ElementType::int64 && positions.type != ElementType::int32) return "positions of another type";
  Dims outer(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  Dims inner(data.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.dims.end());
  const std::int64_t before = element_count(outer), behind = element_count(inner), count = positions.size();
  const View source = *reshaped(call.contiguous(data), {before, data.dims[axis], behind});
  const View flat = *reshaped(call.contiguous(positions), {count});
  const View result = call.make(source.type, {before, count, behind});
  call.emit(gather_step, {source, flat}, {result}, MapParameters());
  call.set_output(0, *reshaped(result, call.output_dims(0)));
  return std::nullopt;
}

Unlowered lower_depth_to_space(LowerCall& call) {
  const std::int64_t block = call.integer("blocksize");
  const Dims& d = call.input_dims(0);
  const bool is_crd = call.string("mode") == "CRD";
  const std::int64_t depth = d[1] / (block * block);
  const Dims parts = is_crd ? Dims{d[0], depth, block, block, d[2], d[3]} : Dims{d[0], block, block, depth, d[2], d[3]};
  const Dims order = is_crd ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2};
  auto view = reshaped(call.input(0), parts);
  if (!view) view = reshaped(call.contiguous(call.input(0)), parts);
  call.set_output(0, *reshaped(call.contiguous(permuted(*view, order)), call.output_dims(0)));
  return std::nullopt;
}

Unlowered lower_space_to_depth(LowerCall& call) {
  const std::int64_t block = call.integer("blocksize");
  const Dims& d = call.input_dims(0);
  const Dims parts = {d[0], d[1], d[2] / block, block, d[3] / block, block};
  const Dims order = call.string("mode") == "CRD" ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4};
  auto view = reshaped(call.input(0), parts);
  if (!view) view = reshaped(call.contiguous(call.input(0)), parts);
  call.set_output(0, *reshaped(call.contiguous(permuted(*view, order)), call.output_dims(0)));
  return std::nullopt;
}

}  // namespace

void register_shape(LoweringRegistry& registry);
void register_shape(LoweringRegistry& registry) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) registry.add(op, all_versions(), lower_reshape);
  registry.add("Transpose", all_versions(), lower_transpose);
  registry.add("Expand", all_versions(), lower_expand);
  registry.add("Slice", all_versions(), lower_slice);
  registry.add("Split", since(2), lower_split);
  registry.add("Concat", since(4), lower_concat);
  registry.add("Pad", all_versions(), lower_pad);
  registry.add("Gather", all_versions(), lower_gather);
  registry.add("DepthToSpace", all_versions(), lower_depth_to_space);
  registry.add("SpaceToDepth", all_versions(), lower_space_to_depth);
}

}  // namespace onnxkit::plan
