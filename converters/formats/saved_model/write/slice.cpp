// Parts of values, values made of parts, and borders.
#include <algorithm>
#include <numeric>

#include "converters/foreign/sampling.h"
#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

/// Where each axis begins, ends or how it steps: from a vector of those that are sliced.
class SlicedAxes {
 public:
  SlicedAxes(WriteCall& call, Ints axes) : call_(call), axes_(std::move(axes)) {}

  ValueId vector(std::size_t input, std::int64_t otherwise) {
    const std::size_t rank = call_.rank(0);
    if (const auto known = call_.known_integers(input); known && known->size() == axes_.size()) {
      Ints all(rank, otherwise);
      for (std::size_t i = 0; i < axes_.size(); ++i) all[static_cast<std::size_t>(axes_[i])] = (*known)[i];
      return call_.integers_tensor(ElementType::int64, all);
    }
    const ValueId given = cast(call_, call_.input(input), ElementType::int64);
    std::vector<ValueId> all(rank, call_.integers_tensor(ElementType::int64, Ints{otherwise}));
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      all[static_cast<std::size_t>(axes_[i])] =
          part(call_, given, {place}, {place + 1}, {1}, Type::tensor(ElementType::int64, {Dim(1)}));
    }
    return concat(call_, all, 0, Type::tensor(ElementType::int64, {Dim(static_cast<std::int64_t>(rank))}));
  }

  /// A bit for each axis that stays whole.
  std::int64_t whole() const {
    std::int64_t mask = (std::int64_t{1} << call_.rank(0)) - 1;
    for (const std::int64_t axis : axes_) mask &= ~(std::int64_t{1} << axis);
    return mask;
  }

 private:
  WriteCall& call_;
  Ints axes_;
};

/// Both sides clamp positions in the same way.
void map_slice(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  constexpr std::size_t most_axes = 32;
  if (rank == 0 || rank > most_axes) return call.refuse("it slices a value of no or too many axes");
  auto axes = call.has(3) ? call.known_integers(3) : std::optional<Ints>();
  if (!call.has(3)) {
    if (const auto count = call.size(1, 0)) {
      axes.emplace(static_cast<std::size_t>(*count));
      std::iota(axes->begin(), axes->end(), 0);
    }
  }
  if (!axes) return call.refuse("its axes are known only when the model runs");
  SlicedAxes sliced(call, WriteCall::from_start(*axes, rank));
  const ValueId strides = call.has(4) ? sliced.vector(4, 1) : call.integers_tensor(ElementType::int64, Ints(rank, 1));
  call.result(call.emit("StridedSlice",
                        {{"input", call.input(0)},
                         {"begin", sliced.vector(1, 0)},
                         {"end", sliced.vector(2, 0)},
                         {"strides", strides},
                         {"begin_mask", sliced.whole()},
                         {"end_mask", sliced.whole()}},
                        call.output_type()));
}

void map_split(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const std::int64_t axis = call.axis("axis", 0, rank);
  const auto parts = static_cast<std::int64_t>(call.outputs());
  std::vector<Type> types;
  for (std::size_t o = 0; o < call.outputs(); ++o) types.push_back(call.output_type(o));
  for (Type& type : types) type.elem = call.elem(0);
  if (parts == 1) return call.result(call.input(0));
  if (call.has(1))
    return call.results(call.emit_many("SplitV",
                                       {{"value", call.input(0)},
                                        {"size_splits", call.input(1)},
                                        {"split_dim", number(call, axis)},
                                        {"num_split", parts}},
                                       std::move(types)));
  const auto size = call.size(0, static_cast<std::size_t>(axis));
  if (size && *size % parts != 0) return call.refuse("its parts are not of one size");
  call.results(call.emit_many(
      "Split", {{"split_dim", number(call, axis)}, {"value", call.input(0)}, {"num_split", parts}}, std::move(types)));
}

/// Whole values with fewer elements at some ends.
ValueId cropped(WriteCall& call, ValueId x, Ints& begins, Ints& ends) {
  Ints firsts;
  std::vector<std::optional<std::int64_t>> lasts;
  Type type = call.type_of(x);
  bool crops = false;
  for (std::size_t axis = 0; axis < begins.size(); ++axis) {
    const std::int64_t first = std::max<std::int64_t>(-begins[axis], 0), last = std::min<std::int64_t>(ends[axis], 0);
    firsts.push_back(first);
    lasts.push_back(last < 0 ? std::optional(last) : std::nullopt);
    crops = crops || first > 0 || last < 0;
    if (type.shape && (first > 0 || last < 0)) {
      Dim& size = (*type.shape)[axis];
      size = size.is_constant() ? Dim(std::max<std::int64_t>(size.constant() - first + last, 0)) : Dim();
    }
    begins[axis] = std::max<std::int64_t>(begins[axis], 0);
    ends[axis] = std::max<std::int64_t>(ends[axis], 0);
  }
  return crops ? part(call, x, firsts, lasts, Ints(begins.size(), 1), std::move(type)) : x;
}

/// The last elements repeated: those whose places are bounded.
ValueId with_repeated_ends(WriteCall& call, ValueId x, const Ints& begins, const Ints& ends) {
  for (std::size_t axis = 0; axis < begins.size(); ++axis) {
    const auto size = known_sizes(Type::tensor(ElementType::int64, {(*call.type_of(x).shape)[axis]}));
    if (begins[axis] == 0 && ends[axis] == 0) continue;
    if (!size || size->front() == 0) {
      call.refuse("which elements it repeats depends on sizes that are not known");
      return x;
    }
    const Ints places = foreign::repeated_ends(size->front(), begins[axis], ends[axis]);
    Type type = call.type_of(x);
    (*type.shape)[axis] = Dim(static_cast<std::int64_t>(places.size()));
    x = gather(call, x, numbers(call, places), static_cast<std::int64_t>(axis), std::move(type));
  }
  return x;
}

/// Pads that are computed, all begins first.
void pad_with_values(WriteCall& call) {
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  if (call.text("mode", "constant") != "constant") return call.refuse("its pads are known only when the model runs");
  const ValueId rows = reshape(call, call.input(1), {Dim(2), Dim(rank)});
  const ValueId filling = call.has(2) ? as_scalar(call, call.input(2)) : call.scalar(call.elem(0), 0);
  call.result(call.emit(
      "PadV2", {{"input", call.input(0)}, {"paddings", transpose(call, rows, {1, 0})}, {"constant_values", filling}},
      call.output_type()));
}

void map_pad(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const auto pads = call.known_integers(1);
  const std::string_view mode = call.text("mode", "constant");
  if (!pads) return pad_with_values(call);
  if (pads->size() != 2 * rank) return call.refuse("its pads do not fit its input");
  const auto middle = pads->begin() + static_cast<std::ptrdiff_t>(rank);
  Ints begins(pads->begin(), middle), ends(middle, pads->end());
  const ValueId x = cropped(call, call.input(0), begins, ends);
  if (mode == "edge") {
    const ValueId wide = with_repeated_ends(call, x, begins, ends);
    return call.result(wide);
  }
  if (mode != "constant" && mode != "reflect") return call.refuse("borders of its mode are not made there");
  Ints pairs;
  for (std::size_t axis = 0; axis < rank; ++axis) pairs.insert(pairs.end(), {begins[axis], ends[axis]});
  const ValueId paddings = matrix(call, {static_cast<std::int64_t>(rank), 2}, pairs);
  if (mode == "reflect")
    return call.result(call.emit("MirrorPad",
                                 {{"input", x}, {"paddings", paddings}, {"mode", std::string_view("REFLECT")}},
                                 call.output_type()));
  if (!call.has(2)) return call.result(call.emit("Pad", {{"input", x}, {"paddings", paddings}}, call.output_type()));
  const ValueId filling = as_scalar(call, call.input(2));
  call.result(
      call.emit("PadV2", {{"input", x}, {"paddings", paddings}, {"constant_values", filling}}, call.output_type()));
}

bool counts_from_start(const WriteCall& call, std::size_t input) {
  const auto known = constant_integers(call, input);
  return known && std::none_of(known->begin(), known->end(), [](std::int64_t at) { return at < 0; });
}

/// Positions along an axis, counted from its start.
ValueId positions(WriteCall& call, std::size_t input, std::size_t axis) {
  const ValueId given = call.input(input);
  if (counts_from_start(call, input)) return given;
  const ElementType elem = call.elem(input);
  const ValueId size = part(call, sizes_of(call, call.input(0)), {static_cast<std::int64_t>(axis)},
                            {static_cast<std::int64_t>(axis) + 1}, {1}, Type::tensor(ElementType::int32, {Dim(1)}));
  const ValueId length = cast(call, squeeze(call, size, {0}, Type::tensor(ElementType::int32, Shape())), elem);
  return positions_from_start(call, given, length);
}

void map_gather(WriteCall& call) {
  const std::int64_t axis = call.axis("axis", 0, call.rank(0));
  if (call.refused()) return;
  const ValueId indices = positions(call, 1, static_cast<std::size_t>(axis));
  call.result(gather(call, call.input(0), indices, axis, call.output_type()));
}

/// Rows of coordinates, counted from the starts of the axes from `first` on.
ValueId coordinates(WriteCall& call, std::size_t input, std::int64_t first) {
  const ValueId given = call.input(input);
  if (counts_from_start(call, input)) return given;
  const auto depth = call.shape(input) && !call.shape(input)->empty() ? call.shape(input)->back() : Dim();
  if (!depth.is_constant()) {
    call.refuse("how many axes its indices are for is not known");
    return given;
  }
  const ElementType elem = call.elem(input);
  const ValueId sizes = part(call, sizes_of(call, call.input(0), elem), {first}, {first + depth.constant()}, {1},
                             Type::tensor(elem, {depth}));
  return positions_from_start(call, given, sizes);
}

/// 0, 1, ... along one axis of a value of that rank, int64.
ValueId places_along(WriteCall& call, Dim size, std::size_t axis, std::size_t rank) {
  Shape shape(rank, Dim(1));
  shape[axis] = size;
  return reshape(call, cast(call, counted(call, size), ElementType::int64), shape);
}

/// Columns of one size side by side as rows of coordinates.
ValueId joined(WriteCall& call, std::vector<ValueId> columns, const Shape& sizes) {
  Shape rows = sizes;
  rows.push_back(Dim(static_cast<std::int64_t>(columns.size())));
  return call.emit("Pack", {{"values", std::move(columns)}, {"axis", static_cast<std::int64_t>(sizes.size())}},
                   Type::tensor(ElementType::int64, std::move(rows)));
}

/// Batches become coordinates of their own.
void map_gather_nd(WriteCall& call) {
  const std::int64_t batches = call.integer("batch_dims", 0);
  ValueId at = coordinates(call, 1, batches);
  if (batches > 0) {
    if (!call.shape(1)) return call.refuse("the rank of its indices is not known");
    const Shape& shape = *call.shape(1);
    const ValueId rows = cast(call, at, ElementType::int64);
    Shape column(shape.begin(), shape.end());
    column.back() = Dim(1);
    const ValueId zeros = binary(call, "Mul",
                                 part(
                                     call, rows, Ints(shape.size(), 0),
                                     [&] {
                                       std::vector<std::optional<std::int64_t>> ends(shape.size());
                                       ends.back() = 1;
                                       return ends;
                                     }(),
                                     Ints(shape.size(), 1), Type::tensor(ElementType::int64, column)),
                                 0.0);
    std::vector<ValueId> parts;
    for (std::size_t b = 0; b < static_cast<std::size_t>(batches); ++b)
      parts.push_back(binary(call, "AddV2", zeros, places_along(call, shape[b], b, shape.size())));
    parts.push_back(rows);
    Shape joined_shape = shape;
    joined_shape.back() = shape.back().is_constant() ? Dim(shape.back().constant() + batches) : Dim();
    at = concat(call, parts, static_cast<std::int64_t>(shape.size()) - 1,
                Type::tensor(ElementType::int64, std::move(joined_shape)));
  }
  call.result(call.emit("GatherNd", {{"params", call.input(0)}, {"indices", at}}, call.output_type()));
}

/// Coordinates of the elements that GatherElements takes: an index along its axis, and along others the place of the index.
ValueId element_coordinates(WriteCall& call, std::size_t input) {
  const std::size_t rank = call.rank(0);
  const std::int64_t axis = call.axis("axis", 0, rank);
  if (!call.shape(input) || call.shape(input)->size() != rank || rank == 0) {
    call.refuse("the rank of its indices is not known");
    return call.input(input);
  }
  const Shape sizes = *call.shape(input);
  const ValueId along = cast(call, positions(call, input, static_cast<std::size_t>(axis)), ElementType::int64);
  const ValueId zeros = binary(call, "Sub", along, along);
  std::vector<ValueId> columns;
  for (std::size_t a = 0; a < rank; ++a)
    columns.push_back(static_cast<std::int64_t>(a) == axis
                          ? along
                          : binary(call, "AddV2", zeros, places_along(call, sizes[a], a, rank)));
  return joined(call, std::move(columns), sizes);
}

void map_gather_elements(WriteCall& call) {
  const ValueId at = element_coordinates(call, 1);
  if (call.refused()) return;
  call.result(call.emit("GatherNd", {{"params", call.input(0)}, {"indices", at}}, call.output_type()));
}

void scatter(WriteCall& call, ValueId at) {
  if (call.text("reduction", "none") != "none") return call.refuse("it combines updates with the data");
  call.result(call.emit("TensorScatterUpdate", {{"tensor", call.input(0)}, {"indices", at}, {"updates", call.input(2)}},
                        call.output_type()));
}

void map_scatter_nd(WriteCall& call) { scatter(call, coordinates(call, 1, 0)); }
void map_scatter_elements(WriteCall& call) { scatter(call, element_coordinates(call, 1)); }

/// The places where the condition holds, along an axis or of all elements.
void map_compress(WriteCall& call) {
  const bool has_axis = call.has_attribute("axis");
  const std::size_t rank = call.rank(0);
  const ValueId x = has_axis ? call.input(0) : reshape(call, call.input(0), {Dim()});
  const Type rows = Type::tensor(ElementType::int64, {Dim(), Dim(1)});
  const ValueId found = call.emit("Where", {{"input", call.input(1)}}, rows);
  const ValueId places = squeeze(call, found, {1}, Type::tensor(ElementType::int64, {Dim()}));
  call.result(gather(call, x, places, has_axis ? call.axis("axis", 0, rank) : 0, call.output_type()));
}

void map_reverse_sequence(WriteCall& call) {
  call.result(call.emit("ReverseSequence",
                        {{"input", call.input(0)},
                         {"seq_lengths", call.input(1)},
                         {"seq_dim", call.integer("time_axis", 0)},
                         {"batch_dim", call.integer("batch_axis", 1)}},
                        call.output_type()));
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
  writers.add({"ScatterElements", "Scatter"}, map_scatter_elements);
  writers.add("Compress", map_compress);
  writers.add("ReverseSequence", map_reverse_sequence);
}

}  // namespace onnxkit::to_tensorflow
