// Parts of values, values made of parts, and borders.
#include <algorithm>
#include <limits>
#include <numeric>

#include "converters/formats/tflite/emit.h"

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
  if (std::any_of(steps.begin(), steps.end(), [](std::int64_t step) { return step < 1; }) ||
      steps.size() != axes.size())
    return call.refuse("its positions are known only when the model runs and it steps backwards");
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

void map_slice(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const auto starts = call.known_integers(1), ends = call.known_integers(2);
  const auto steps = call.has(4) ? call.known_integers(4) : Ints(starts ? starts->size() : 0, 1);
  auto axes = call.has(3) ? call.known_integers(3) : std::optional<Ints>();
  if (!call.has(3) && starts) {
    axes = Ints(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (steps && axes && (!starts || !ends)) return slice_at_values(call, WriteCall::from_start(*axes, rank), *steps);
  if (!starts || !ends || !steps || !axes) return call.refuse("its axes are known only when the model runs");
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
    if (!is_known) return call.refuse("the sizes of its parts are not known", "give the model's open sizes constants");
    sizes.push_back((*type.shape)[static_cast<std::size_t>(axis)].constant());
  }
  if (sizes.size() == 1) return call.result(call.input(0));
  call.results(call.emit_many("SPLIT_V",
                              {{"x", call.input(0)},
                               {"sizes", numbers(call, sizes)},
                               {"axis", call.scalar(ElementType::int32, static_cast<double>(axis))},
                               {"num_splits", static_cast<std::int64_t>(sizes.size())}},
                              std::move(types)));
}

void map_pad(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const auto pads = call.known_integers(1);
  const std::string_view mode = call.text("mode", "constant");
  if (!pads || pads->size() != 2 * rank) return call.refuse("its pads are known only when the model runs");
  Ints begins(pads->begin(), pads->begin() + static_cast<std::ptrdiff_t>(rank)),
      ends(pads->begin() + static_cast<std::ptrdiff_t>(rank), pads->end());
  if (mode != "constant" && mode != "reflect")
    return call.refuse("borders of its mode are not made there", "modes constant and reflect have counterparts");
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
  if (!value) return call.refuse("the value of its border is known only when the model runs");
  call.result(pad(call, x, begins, ends, *value));
}

/// Positions counted from the start. Those that are computed may be negative.
ValueId positions(WriteCall& call, std::size_t input, std::size_t of_axis) {
  const std::optional<std::int64_t> size = call.size(0, of_axis);
  const auto known = call.known_integers(input);
  const ElementType elem = call.elem(input);
  const bool is_negative = !known || std::any_of(known->begin(), known->end(), [](std::int64_t at) { return at < 0; });
  const ValueId given = call.input(input);
  if (!is_negative) return given;
  if (!size) {
    const Dim open = call.shape(0) && of_axis < call.shape(0)->size() ? (*call.shape(0))[of_axis] : Dim();
    const ValueId length = cast(call, reshape(call, sizes_vector(call, {open}), Shape()), elem);
    return call.refused() ? given : binary(call, "FLOOR_MOD", given, length);
  }
  return binary(call, "FLOOR_MOD", given, call.scalar(elem, static_cast<double>(*size)));
}

void map_gather(WriteCall& call) {
  const std::int64_t axis = call.axis("axis", 0, call.rank(0));
  const ValueId indices = positions(call, 1, static_cast<std::size_t>(axis));
  call.result(call.emit("GATHER", {{"x", call.input(0)}, {"indices", indices}, {"axis", axis}}, call.output_type()));
}

void map_gather_nd(WriteCall& call) {
  if (call.integer("batch_dims", 0) != 0) return call.refuse("it gathers from batches, which GATHER_ND does not");
  const auto known = call.known_integers(1);
  if (known && std::any_of(known->begin(), known->end(), [](std::int64_t at) { return at < 0; }))
    return call.refuse("it counts from the end of an axis");
  call.result(call.emit("GATHER_ND", {{"x", call.input(0)}, {"indices", call.input(1)}}, call.output_type()));
}

/// 0, 1, ... along an axis of a value of that rank.
ValueId counted_axis(WriteCall& call, Dim size, std::size_t axis, std::size_t rank) {
  Shape shape(rank, Dim(1));
  shape[axis] = size;
  if (size.is_constant()) {
    Ints places(static_cast<std::size_t>(std::max<std::int64_t>(size.constant(), 0)));
    std::iota(places.begin(), places.end(), 0);
    return matrix(call, *known_sizes(Type::tensor(ElementType::int32, shape)), places);
  }
  const ValueId limit = reshape(call, sizes_vector(call, {size}), Shape());
  const ValueId zero = call.scalar(ElementType::int32, 0), one = call.scalar(ElementType::int32, 1);
  const ValueId range =
      call.emit("RANGE", {{"start", zero}, {"limit", limit}, {"delta", one}}, Type::tensor(ElementType::int32, {size}));
  return reshape(call, range, shape);
}

/// Coordinates of the elements that GatherElements takes: an index along its axis, and along others the place of the index.
ValueId element_coordinates(WriteCall& call, std::size_t input, std::int64_t axis, const Shape& sizes) {
  const std::size_t rank = sizes.size();
  const ValueId along = cast(call, positions(call, input, static_cast<std::size_t>(axis)), ElementType::int32);
  const ValueId zeros = binary(call, "SUB", along, along);
  Shape column = sizes;
  column.push_back(Dim(1));
  std::vector<ValueId> columns;
  for (std::size_t a = 0; a < rank; ++a) {
    const ValueId places = static_cast<std::int64_t>(a) == axis
                               ? along
                               : binary(call, "ADD", zeros, counted_axis(call, sizes[a], a, rank));
    columns.push_back(call.emit("EXPAND_DIMS",
                                {{"x", places}, {"axis", numbers(call, {static_cast<std::int64_t>(rank)})}},
                                Type::tensor(ElementType::int32, column)));
  }
  column.back() = Dim(static_cast<std::int64_t>(rank));
  return concat(call, columns, static_cast<std::int64_t>(rank), Type::tensor(ElementType::int32, column));
}

void map_gather_elements(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const std::int64_t axis = call.axis("axis", 0, rank);
  if (!call.shape(1) || call.shape(1)->size() != rank) return call.refuse("the rank of its indices is not known");
  const ValueId at = element_coordinates(call, 1, axis, *call.shape(1));
  call.result(call.emit("GATHER_ND", {{"x", call.input(0)}, {"indices", at}}, call.output_type()));
}

/// SCATTER_ND adds to zeros: the data stays where no update goes.
void map_scatter_nd(WriteCall& call) {
  if (const auto reduction = call.text("reduction", "none"); reduction != "none")
    return call.refuse("it combines updates with the data");
  const ValueId indices = cast(call, call.input(1), ElementType::int32), updates = call.input(2);
  if (!call.shape(0) || !call.shape(2)) return call.refuse("the rank of its data is not known");
  const ElementType elem = call.elem(0);
  if (elem == ElementType::boolean) return call.refuse("SCATTER_ND does not place booleans");
  const ValueId sizes = sizes_vector(call, *call.shape(0));
  const auto scattered = [&](ValueId what, ElementType type) {
    return call.emit("SCATTER_ND", {{"indices", indices}, {"updates", what}, {"shape", sizes}},
                     Type::tensor(type, *call.shape(0)));
  };
  const ValueId ones =
      call.emit("FILL", {{"dims", sizes_vector(call, *call.shape(2))}, {"value", call.scalar(ElementType::int32, 1)}},
                Type::tensor(ElementType::int32, *call.shape(2)));
  const ValueId hits =
      compare(call, "GREATER", scattered(ones, ElementType::int32), call.scalar(ElementType::int32, 0));
  call.result(select(call, hits, scattered(updates, elem), call.input(0)));
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
  writers.add("ScatterND", map_scatter_nd);
}

}  // namespace onnxkit::to_tflite
