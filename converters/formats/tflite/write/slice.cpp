// Parts of values, values made of parts, and borders.
#include <algorithm>
#include <limits>
#include <numeric>

#include "converters/foreign/sampling.h"
#include "converters/formats/tflite/coordinates.h"

namespace onnxkit::to_tflite {
namespace {

constexpr std::int64_t far = std::numeric_limits<std::int32_t>::max();

struct SlicedAxis {
  std::int64_t begin = 0, end = 0, stride = 1;
  bool opens_begin = false, opens_end = true;
};

/// What Slice and STRIDED_SLICE say of one axis. `size` is that of the axis where it is known.
SlicedAxis sliced_axis(std::int64_t start, std::int64_t end, std::int64_t step, std::optional<std::int64_t> size) {
  SlicedAxis axis{.stride = step};
  const auto bounded = [](std::int64_t at) { return std::clamp(at, -far, far); };
  axis.begin = bounded(start);
  axis.end = bounded(end);
  axis.opens_end = false;
  if (step > 0) {
    axis.opens_end = end >= far || (size && end >= *size);
  } else {
    axis.opens_begin = start >= far || (size && start >= *size - 1);
    axis.opens_end = end <= -far || (size && end < -*size);
  }
  if (axis.opens_begin) axis.begin = 0;
  if (axis.opens_end) axis.end = 0;
  return axis;
}

/// Positions that are computed, one entry for each axis of the value.
void slice_at_values(WriteCall& call, const Ints& axes, const Ints& steps) {
  const std::size_t rank = call.rank(0);
  if (steps.size() != axes.size()) return call.refuse("it has another number of steps than of axes");
  const auto bounded = [&](std::size_t input) {
    const ValueId at = call.input(input);
    if (call.elem(input) == ElementType::int32) return at;
    const ValueId low = binary(call, "MAXIMUM", at, static_cast<double>(-far));
    return cast(call, binary(call, "MINIMUM", low, static_cast<double>(far)), ElementType::int32);
  };
  const ValueId starts = bounded(1), ends = bounded(2);
  std::vector<ValueId> begins, lasts;
  Ints strides;
  std::int64_t end_mask = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto named = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
    if (named == axes.end()) {
      begins.push_back(numbers(call, {0}));
      lasts.push_back(numbers(call, {0}));
      strides.push_back(1);
      end_mask |= std::int64_t{1} << axis;
      continue;
    }
    const std::int64_t place = named - axes.begin();
    const auto one = [&](ValueId vector) {
      return part(call, vector, {place}, {place + 1}, {1}, Type::tensor(ElementType::int32, {Dim(1)}));
    };
    begins.push_back(one(starts));
    lasts.push_back(one(ends));
    strides.push_back(steps[static_cast<std::size_t>(place)]);
  }
  const Type vector = Type::tensor(ElementType::int32, {Dim(static_cast<std::int64_t>(rank))});
  call.result(call.emit("STRIDED_SLICE",
                        {{"x", call.input(0)},
                         {"begin", concat(call, begins, 0, vector)},
                         {"end", concat(call, lasts, 0, vector)},
                         {"strides", numbers(call, strides)},
                         {"end_mask", end_mask}},
                        call.output_type()));
}

/// Axes that are computed: starts, ends and steps go to their places among those of an axis that stays whole.
void slice_along_computed_axes(WriteCall& call) {
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  const auto count = call.size(1, 0);
  if (!count) return call.refuse("how many axes it slices is known only when the model runs");
  const Type vector = Type::tensor(ElementType::int32, {Dim(rank)}),
             given = Type::tensor(ElementType::int32, {Dim(*count)});
  const ValueId size = numbers(call, {rank});
  const auto at_axes = [&](ValueId indices, ValueId values) {
    return call.emit("SCATTER_ND", {{"indices", indices}, {"updates", values}, {"shape", size}}, Type(vector));
  };
  Ints first(static_cast<std::size_t>(*count));
  std::iota(first.begin(), first.end(), 0);
  const ValueId axes =
      call.has(3) ? binary(call, "FLOOR_MOD", cast(call, call.input(3), ElementType::int32), static_cast<double>(rank))
                  : numbers(call, first);
  const ValueId places = reshape(call, axes, {Dim(*count), Dim(1)});
  const ValueId ones = numbers(call, Ints(static_cast<std::size_t>(*count), 1));
  const ValueId is_sliced = compare(call, "GREATER", at_axes(places, ones), number(call, 0));
  const auto bounded = [&](std::size_t input) {
    if (call.elem(input) == ElementType::int32) return call.input(input);
    const ValueId low = binary(call, "MAXIMUM", call.input(input), static_cast<double>(-far));
    return cast(call, binary(call, "MINIMUM", low, static_cast<double>(far)), ElementType::int32);
  };
  const auto ranks = static_cast<std::size_t>(rank);
  const ValueId begins = at_axes(places, bounded(1));
  const ValueId ends = select(call, is_sliced, at_axes(places, bounded(2)), numbers(call, Ints(ranks, far)));
  const ValueId steps = call.has(4) ? bounded(4) : ones;
  const ValueId strides = select(call, is_sliced, at_axes(places, steps), numbers(call, Ints(ranks, 1)));
  call.result(call.emit("STRIDED_SLICE", {{"x", call.input(0)}, {"begin", begins}, {"end", ends}, {"strides", strides}},
                        call.output_type()));
}

void map_slice(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  if (call.refused()) return;
  const auto starts = call.known_integers(1), ends = call.known_integers(2);
  const auto steps = call.has(4) ? call.known_integers(4) : Ints(starts ? starts->size() : 0, 1);
  auto axes = call.has(3) ? call.known_integers(3) : std::optional<Ints>();
  if (!call.has(3) && starts) {
    axes = Ints(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  const bool steps_ahead = steps && std::none_of(steps->begin(), steps->end(), [](std::int64_t s) { return s < 1; });
  if (steps_ahead && axes && (!starts || !ends))
    return slice_at_values(call, WriteCall::from_start(*axes, rank), *steps);
  if (!starts || !ends || !steps || !axes) return slice_along_computed_axes(call);
  axes = WriteCall::from_start(*axes, rank);
  std::vector<SlicedAxis> sliced(rank);
  for (std::size_t i = 0; i < axes->size(); ++i)
    sliced[static_cast<std::size_t>((*axes)[i])] =
        sliced_axis((*starts)[i], (*ends)[i], (*steps)[i], call.size(0, static_cast<std::size_t>((*axes)[i])));
  Ints begins, lasts, strides;
  std::int64_t begin_mask = 0, end_mask = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    begins.push_back(sliced[axis].begin);
    lasts.push_back(sliced[axis].end);
    strides.push_back(sliced[axis].stride);
    begin_mask |= std::int64_t{sliced[axis].opens_begin} << axis;
    end_mask |= std::int64_t{sliced[axis].opens_end} << axis;
  }
  call.result(call.emit("STRIDED_SLICE",
                        {{"x", call.input(0)},
                         {"begin", numbers(call, begins)},
                         {"end", numbers(call, lasts)},
                         {"strides", numbers(call, strides)},
                         {"begin_mask", begin_mask},
                         {"end_mask", end_mask}},
                        call.output_type()));
}

void map_split(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const std::int64_t axis = call.axis("axis", 0, rank);
  Ints sizes;
  std::vector<Type> types;
  for (std::size_t o = 0; o < call.outputs(); ++o) {
    const Type& type = call.output_type(o);
    types.push_back(type);
    const bool is_known =
        type.shape && type.shape->size() == rank && (*type.shape)[static_cast<std::size_t>(axis)].is_constant();
    if (is_known) sizes.push_back((*type.shape)[static_cast<std::size_t>(axis)].constant());
  }
  const std::size_t count = types.size();
  if (count == 1) return call.result(call.input(0));
  const ValueId place = number(call, axis);
  const auto parts = static_cast<std::int64_t>(count);
  if (sizes.size() != count && !call.has(1))  // parts of one size, whatever that is
    return call.results(call.emit_many("SPLIT", {{"axis", place}, {"x", call.input(0)}, {"num_splits", parts}}, types));
  const ValueId given = sizes.size() == count ? numbers(call, sizes) : cast(call, call.input(1), ElementType::int32);
  call.results(call.emit_many(
      "SPLIT_V", {{"x", call.input(0)}, {"sizes", given}, {"axis", place}, {"num_splits", parts}}, std::move(types)));
}

/// The value of the border, which may be computed.
ValueId border_value(WriteCall& call) {
  if (!call.has(2)) return call.scalar(call.elem(0), 0);
  return as_scalar(call, call.input(2));
}

/// Pads that are computed: all begins, then all ends, become a pair for each axis.
void pad_by_values(WriteCall& call, std::string_view mode) {
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  if (mode != "constant" || call.has(3) || !(call.size(1, 0) == 2 * rank))
    return call.refuse("its pads are known only when the model runs");
  const ValueId rows = reshape(call, cast(call, call.input(1), ElementType::int32), {Dim(2), Dim(rank)});
  call.result(call.emit(
      "PADV2", {{"x", call.input(0)}, {"paddings", transpose(call, rows, {1, 0})}, {"value", border_value(call)}},
      call.output_type()));
}

/// Elements at the border repeated.
void repeat_border(WriteCall& call, const Ints& begins, const Ints& ends) {
  ValueId x = call.input(0);
  for (std::size_t axis = 0; axis < begins.size(); ++axis) {
    if (begins[axis] == 0 && ends[axis] == 0) continue;
    const auto size = call.size(0, axis);
    if (!size || *size < 1) return call.refuse("it repeats the border of an axis whose size is not known");
    const Ints places = foreign::repeated_ends(*size, begins[axis], ends[axis]);
    Type type = call.type_of(x);
    (*type.shape)[axis] = Dim(static_cast<std::int64_t>(places.size()));
    x = gather(call, x, numbers(call, places), static_cast<std::int64_t>(axis), std::move(type));
  }
  call.result(x);
}

void map_pad(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const auto pads = call.known_integers(1);
  const std::string_view mode = call.text("mode", "constant");
  if (!pads || pads->size() != 2 * rank) return pad_by_values(call, mode);
  Ints begins(pads->begin(), pads->begin() + static_cast<std::ptrdiff_t>(rank)),
      ends(pads->begin() + static_cast<std::ptrdiff_t>(rank), pads->end());
  if (mode == "edge") return repeat_border(call, begins, ends);
  if (mode != "constant" && mode != "reflect") return call.refuse("borders of its mode are not made there");
  std::vector<std::optional<std::int64_t>> lasts;
  Ints firsts;
  bool crops = false;
  Ints pairs;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    firsts.push_back(std::max<std::int64_t>(-begins[axis], 0));
    lasts.push_back(ends[axis] < 0 ? std::optional(ends[axis]) : std::nullopt);
    crops = crops || begins[axis] < 0 || ends[axis] < 0;
    begins[axis] = std::max<std::int64_t>(begins[axis], 0);
    ends[axis] = std::max<std::int64_t>(ends[axis], 0);
    pairs.insert(pairs.end(), {begins[axis], ends[axis]});
  }
  if (crops && mode != "constant") return call.refuse("it mirrors a part");
  ValueId x = call.input(0);
  if (crops) {
    Type type = Type::tensor(call.elem(0));
    if (call.output_type().shape) {
      type.shape = call.output_type().shape;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        Dim& size = (*type.shape)[axis];
        size = size.is_constant() ? Dim(size.constant() - begins[axis] - ends[axis]) : Dim();
      }
    }
    x = part(call, x, firsts, lasts, Ints(rank, 1), std::move(type));
  }
  if (mode == "reflect") {
    const ValueId paddings = matrix(call, {static_cast<std::int64_t>(rank), 2}, pairs);
    return call.result(
        call.emit("MIRROR_PAD", {{"x", x}, {"paddings", paddings}, {"mode", std::int64_t{0}}}, call.output_type()));
  }
  const auto value = call.has(2) ? call.known_real(2) : std::optional(0.0);
  if (value) return call.result(pad(call, x, begins, ends, *value));
  const ValueId paddings = matrix(call, {static_cast<std::int64_t>(rank), 2}, pairs);
  call.result(
      call.emit("PADV2", {{"x", x}, {"paddings", paddings}, {"value", border_value(call)}}, call.output_type()));
}

void map_gather(WriteCall& call) {
  const std::int64_t axis = call.axis("axis", 0, call.rank(0));
  const ValueId indices = positions(call, 1, static_cast<std::size_t>(axis));
  call.result(gather(call, call.input(0), indices, axis, call.output_type()));
}

void map_gather_nd(WriteCall& call) {
  if (call.integer("batch_dims", 0) != 0) return call.refuse("it gathers from batches, which GATHER_ND does not");
  const ValueId at = row_positions(call, 1);
  call.result(call.emit("GATHER_ND", {{"x", call.input(0)}, {"indices", at}}, call.output_type()));
}

void map_gather_elements(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const std::int64_t axis = call.axis("axis", 0, rank);
  if (!call.shape(1) || call.shape(1)->size() != rank) return call.refuse("the rank of its indices is not known");
  const ValueId at = element_coordinates(call, 1, axis, *call.shape(1));
  call.result(call.emit("GATHER_ND", {{"x", call.input(0)}, {"indices", at}}, call.output_type()));
}

}  // namespace

void register_slice(Writers& writers);
void register_slice(Writers& writers) {
  writers.add("Slice", map_slice);
  writers.add("Split", map_split);
  writers.add("Pad", map_pad);
  writers.add("Gather", map_gather);
  writers.add("GatherND", map_gather_nd);
  writers.add("GatherElements", map_gather_elements);
}

}  // namespace onnxkit::to_tflite
