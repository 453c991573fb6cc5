#include <algorithm>
#include <cstdlib>

#include "libonnxkit/plan/compose.h"

// Operators that only move elements: views wherever strides can say it.
namespace onnxkit::plan {
namespace {

Unlowered lower_reshape(LowerCall& call) {
  const Dims dims = call.output_dims(0);
  // What the file or the caller asks for may not be possible, which is the reference's to say.
  if (element_count(dims) != call.input(0).size()) return "the sizes do not fit";
  call.set_output(0, reshaped_or_copied(call, call.input(0), dims));
  return std::nullopt;
}

Unlowered lower_reshape_to(LowerCall& call) {
  if (call.since() >= 5 && !call.knows_content(1)) return "the run may ask for sizes that do not fit";
  const auto wanted = call.constant_integers(1);
  const Dims dims = call.output_dims(0);
  if (wanted && wanted->size() == dims.size()) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if ((*wanted)[i] > 0 && (*wanted)[i] != dims[i]) return "the sizes do not fit";
    }
  }
  return lower_reshape(call);
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
  if (!call.knows_content(1)) return "the run may ask for sizes that do not fit";
  const Dims dims = call.output_dims(0);
  if (const auto wanted = call.constant_integers(1)) {
    for (std::size_t i = 1; i <= wanted->size() && i <= dims.size(); ++i) {
      const std::int64_t size = (*wanted)[wanted->size() - i];
      if (size != 1 && size != dims[dims.size() - i]) return "the sizes do not fit";
    }
  }
  call.set_output(0, broadcast_to(call.input(0), dims));
  return std::nullopt;
}

/// Copies side by side: a view with an axis that repeats.
Unlowered lower_tile(LowerCall& call) {
  if (call.since() < 6) return "an old version";
  const View& view = call.input(0);
  const Dims dims = call.output_dims(0);
  if (view.size() == 0 || element_count(dims) == 0) return "without elements";
  const auto counts = call.constant_integers(1);
  if (!counts || counts->size() != dims.size()) return "the counts are not constant";
  Dims parts, repeated;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if ((*counts)[i] != dims[i] / view.dims[i]) return "the sizes do not fit";
    parts.insert(parts.end(), {1, view.dims[i]});
    repeated.insert(repeated.end(), {(*counts)[i], view.dims[i]});
  }
  const View apart = reshaped(call.contiguous(view), parts);
  call.set_output(0, reshaped_or_copied(call, broadcast_to(apart, repeated), dims));
  return std::nullopt;
}

Unlowered lower_shape_of(LowerCall& call) {
  const Dims& dims = call.input_dims(0);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto counted = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = counted(call.integer("start")), end = counted(call.integer("end", rank));
  const Dims part(dims.begin() + start, dims.begin() + std::max(start, end));
  call.set_output(0, call.constant(part, {static_cast<std::int64_t>(part.size())}));
  return std::nullopt;
}

Unlowered lower_size_of(LowerCall& call) {
  const std::int64_t size[] = {call.input(0).size()};
  call.set_output(0, call.constant(size, {}));
  return std::nullopt;
}

/// Ones along a diagonal.
Unlowered lower_eye_like(LowerCall& call) {
  const ElementType stored = LowerCall::stored_type(call.output_type(0));
  const Dims dims = call.output_dims(0);
  if (!has_lane(stored) || dims.size() != 2 || element_count(dims) == 0) return "elements cannot be computed";
  Expression e;
  const Lane lane = lane_of(stored);
  const Expression::Number row = e.input(0, Lane::i64), column = e.input(1, Lane::i64);
  const Expression::Number shifted = e.apply(Operation::add, row, e.integer(call.integer("k")));
  e.convert(e.apply(Operation::equal, column, shifted), lane);
  call.set_output(0, mapped(call, e, {positions_along(call, dims, 0), positions_along(call, dims, 1)}, stored, dims));
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

struct PadSizes {
  Dims begins, ends;  ///< of every axis
};

/// What is added to each axis; negative where it is cropped.
Unlowered pad_sizes(LowerCall& call, PadSizes& sizes) {
  const auto pads = call.constant_integers(1);
  const auto axes = call.constant_integers(3);
  if (!pads || (call.has_input(3) && !axes)) return "pads are not constant";
  const View& from = call.input(0);
  const Dims dims = call.output_dims(0);
  const std::size_t count = axes ? axes->size() : from.rank();
  if (pads->size() != 2 * count) return "pads of another number";
  sizes.begins.assign(from.rank(), 0);
  sizes.ends = sizes.begins;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = counted_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), from.rank());
    sizes.begins[axis] = (*pads)[i];
    sizes.ends[axis] = (*pads)[i + count];
  }
  constexpr std::int64_t most = std::int64_t{1} << 60;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (std::abs(sizes.begins[i] / 2) > most / 2 || std::abs(sizes.ends[i] / 2) > most / 2 ||
        from.dims[i] + sizes.begins[i] + sizes.ends[i] != dims[i])
      return "the sizes do not fit";
  }
  return std::nullopt;
}

Unlowered lower_constant_pad(LowerCall& call, const PadSizes& sizes) {
  const ElementType stored = LowerCall::stored_type(call.output_type(0));
  if (!has_lane(stored)) return "the elements cannot be computed";
  View from = call.input(0);
  const View output = call.make_like(stored, call.output_dims(0), from);
  View inside = output;
  bool is_cut = false;
  for (std::size_t axis = 0; axis < from.rank(); ++axis) {
    const std::int64_t before = sizes.begins[axis], size = from.dims[axis];
    const std::int64_t first = std::max<std::int64_t>(0, -before), last = std::min(size, output.dims[axis] - before);
    is_cut = is_cut || last <= first;
    if (is_cut) break;
    from = sliced(from, axis, first, 1, last - first);
    inside = sliced(inside, axis, before + first, 1, last - first);
  }
  Expression filling;
  std::vector<View> value;
  const Lane lane = lane_of(stored);
  const auto constant = call.constant_real(2);
  if (call.has_input(2) && !constant) {
    if (call.input(2).size() != 1) return "the value is not one element";
    value = {reshaped_or_copied(call, call.input(2), {})};
    filling.convert(filling.input(0, lane_of(value[0].type)), lane);
  } else if (lane == Lane::i64) {
    const auto integers = call.constant_integers(2);  // a double would round large ones
    filling.integer(integers ? integers->front() : static_cast<std::int64_t>(constant.value_or(0)));
  } else {
    filling.constant(lane, constant.value_or(0));
  }
  call.emit_map(filling, value, output);
  if (!is_cut) {
    Expression same;
    same.input(0, lane_of(from.type));
    call.emit_map(same, {from}, inside);
  }
  call.set_output(0, output);
  return std::nullopt;
}

/// Where position i of an axis of `size` elements takes its element from.
std::int64_t padded_source(std::int64_t i, std::int64_t size, bool is_edge, bool is_wrap) {
  if (is_edge || size == 1) return std::clamp<std::int64_t>(i, 0, size - 1);
  const std::int64_t period = is_wrap ? size : 2 * (size - 1);
  const std::int64_t at = (i % period + period) % period;
  return at < size ? at : period - at;
}

Unlowered lower_pad(LowerCall& call) {
  if (call.since() < 11) return "an old version";
  PadSizes sizes;
  if (auto reason = pad_sizes(call, sizes)) return reason;
  const auto mode = call.string("mode");
  if (mode.empty() || mode == "constant") return lower_constant_pad(call, sizes);
  if (mode != "edge" && mode != "reflect" && mode != "wrap") return "an unknown mode";
  View view = call.input(0);
  const Dims dims = call.output_dims(0);
  if (view.size() == 0 || element_count(dims) == 0) return "without elements";
  for (std::size_t axis = view.rank(); axis-- > 0;) {  // rows are copied whole along all axes but the last
    const std::int64_t begin = sizes.begins[axis], end = sizes.ends[axis];
    if (begin == 0 && end == 0) continue;
    const std::int64_t first = std::max<std::int64_t>(0, -begin);
    const std::int64_t kept = view.dims[axis] - first + std::min<std::int64_t>(end, 0);
    if (kept <= 0) return "nothing is left to pad with";
    call.spend_on_tables(dims[axis], sizeof(std::int64_t));
    std::vector<std::int64_t> positions;
    for (std::int64_t i = 0; i < dims[axis]; ++i)
      positions.push_back(first +
                          padded_source(i - std::max<std::int64_t>(begin, 0), kept, mode == "edge", mode == "wrap"));
    view = taken(call, view, axis, positions);
  }
  call.set_output(0, view);
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
    call.set_output(0, reshaped_or_copied(call, slice, call.output_dims(0)));
    return std::nullopt;
  }
  const View& positions = call.input(1);
  if (positions.type != ElementType::int64 && positions.type != ElementType::int32) return "positions of another type";
  // A step that writes nothing does not run, and would not find a position out of range.
  if (data.size() == 0 && positions.size() != 0) return "without elements";
  Dims outer(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  Dims inner(data.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.dims.end());
  const std::int64_t before = element_count(outer), behind = element_count(inner), count = positions.size();
  const View source = reshaped(call.contiguous(data), {before, data.dims[axis], behind});
  const View flat = reshaped(call.contiguous(positions), {count});
  const View result = call.make(source.type, {before, count, behind});
  call.emit(gather_step, {source, flat}, {result});
  call.set_output(0, reshaped(result, call.output_dims(0)));
  return std::nullopt;
}

Unlowered lower_depth_to_space(LowerCall& call) {
  const std::int64_t block = call.integer("blocksize");
  const Dims& d = call.input_dims(0);
  const bool is_crd = call.string("mode") == "CRD";
  const std::int64_t depth = d[1] / (block * block);
  const Dims parts = is_crd ? Dims{d[0], depth, block, block, d[2], d[3]} : Dims{d[0], block, block, depth, d[2], d[3]};
  const Dims order = is_crd ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2};
  const View view = reshaped_or_copied(call, call.input(0), parts);
  call.set_output(0, reshaped(call.contiguous(permuted(view, order)), call.output_dims(0)));
  return std::nullopt;
}

Unlowered lower_space_to_depth(LowerCall& call) {
  const std::int64_t block = call.integer("blocksize");
  const Dims& d = call.input_dims(0);
  const Dims parts = {d[0], d[1], d[2] / block, block, d[3] / block, block};
  const Dims order = call.string("mode") == "CRD" ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4};
  const View view = reshaped_or_copied(call, call.input(0), parts);
  call.set_output(0, reshaped(call.contiguous(permuted(view, order)), call.output_dims(0)));
  return std::nullopt;
}

}  // namespace

void register_shape(LoweringRegistry& registry);
void register_shape(LoweringRegistry& registry) {
  for (const char* op : {"Flatten", "Squeeze", "Unsqueeze"}) registry.add(op, all_versions(), lower_reshape);
  registry.add("Reshape", all_versions(), lower_reshape_to);
  registry.add("Tile", all_versions(), lower_tile);
  registry.add("Shape", all_versions(), lower_shape_of);
  registry.add("Size", all_versions(), lower_size_of);
  registry.add("EyeLike", all_versions(), lower_eye_like);
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
