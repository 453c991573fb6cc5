#include <algorithm>
#include <limits>

#include "libonnxkit/plan/compose.h"

// Operators whose inputs hold positions: each becomes a gather or scatter at positions in the flattened data, which maps compute.
namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

bool holds_positions(ElementType type) { return type == ElementType::int64 || type == ElementType::int32; }

/// A place in the flattened data; `nowhere` when a position is outside its axis, which ends the run with an error.
class PlaceExpression {
 public:
  explicit PlaceExpression(std::int64_t nowhere) : nowhere_(nowhere) {}

  /// A position along an axis of `size`, negative ones counted from the end.
  void add_checked(const View& positions, std::int64_t size, std::int64_t stride) {
    const Number given = next(positions);
    const Number is_negative = e_.apply(Operation::less, given, e_.integer(0));
    const Number at =
        e_.apply(Operation::select, is_negative, e_.apply(Operation::add, given, e_.integer(size)), given);
    const Number is_outside = e_.apply(Operation::logical_or, e_.apply(Operation::less, at, e_.integer(0)),
                                       e_.apply(Operation::less, e_.integer(size - 1), at));
    outside_ = outside_ ? e_.apply(Operation::logical_or, *outside_, is_outside) : is_outside;
    add(e_.apply(Operation::multiply, at, e_.integer(stride)));
  }
  void add_known(const View& positions, std::int64_t stride) {
    add(e_.apply(Operation::multiply, next(positions), e_.integer(stride)));
  }

  /// One place for each index of `dims`, as a list.
  View emit(LowerCall& call, Dims dims) {
    e_.apply(Operation::select, *outside_, e_.integer(nowhere_), *sum_);
    const std::int64_t count = element_count(dims);
    return reshaped(mapped(call, e_, std::move(inputs_), ElementType::int64, std::move(dims)), {count});
  }

 private:
  Number next(const View& view) {
    inputs_.push_back(view);
    return e_.input(inputs_.size() - 1, Lane::i64);
  }
  void add(Number term) { sum_ = sum_ ? e_.apply(Operation::add, *sum_, term) : term; }

  Expression e_;
  std::vector<View> inputs_;
  std::optional<Number> sum_, outside_;
  std::int64_t nowhere_;
};

/// The place of what each index names along `axis`, at its own position along the other axes.
View places_along(LowerCall& call, const View& index, const Dims& data, std::size_t axis) {
  const Dims strides = row_major_strides(data);
  PlaceExpression place(element_count(data));
  place.add_checked(index, data[axis], strides[axis]);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (i != axis && index.dims[i] > 1) place.add_known(positions_along(call, index.dims, i), strides[i]);
  }
  return place.emit(call, index.dims);
}

/// The place of the slice that each tuple along the last axis names, behind `batch_axes` shared axes.
View places_of_tuples(LowerCall& call, const View& tuples, std::span<const std::int64_t> data, std::size_t batch_axes) {
  const std::int64_t length = tuples.dims.back();
  const auto depth = batch_axes + static_cast<std::size_t>(length);
  const Dims strides = row_major_strides(data.first(depth));
  const Dims dims(tuples.dims.begin(), tuples.dims.end() - 1);
  PlaceExpression place(element_count(data.first(depth)));
  for (std::int64_t i = 0; i < length; ++i) {
    const auto axis = batch_axes + static_cast<std::size_t>(i);
    place.add_checked(picked(tuples, tuples.rank() - 1, i), data[axis], strides[axis]);
  }
  for (std::size_t i = 0; i < batch_axes; ++i) place.add_known(positions_along(call, dims, i), strides[i]);
  return place.emit(call, dims);
}

constexpr std::size_t most_tuple_length = 8;

/// Whether the elements behind `axis` have one position, as where an Expand gave it to them, so that rows are gathered.
bool chooses_rows(const View& index, const Dims& data, std::size_t axis) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (i != axis && index.dims[i] != data[i]) return false;
    if (i > axis && index.dims[i] > 1 && index.strides[i] != 0) return false;
  }
  return true;
}

/// The rows behind `axis`, by a list of positions for each of the parts before it.
View gathered_rows(LowerCall& call, const View& data, View index, std::size_t axis) {
  for (std::size_t i = axis + 1; i < index.rank(); ++i) index = sliced(index, i, 0, 1, 1);
  const std::int64_t outer = element_count(std::span(data.dims).first(axis)), size = data.dims[axis];
  const std::int64_t inner = element_count(std::span(data.dims).subspan(axis + 1)), count = index.dims[axis];
  const View source = reshaped(call.contiguous(data), {outer, size, inner});
  const View result = call.make(data.type, {outer, count, inner});
  call.emit(gather_step, {source, reshaped(call.contiguous(index), {outer, count})}, {result});
  return result;
}

View gathered_at(LowerCall& call, const View& data, const View& places, std::int64_t width) {
  const View source = reshaped(call.contiguous(data), {1, data.size() / width, width});
  const View result = call.make(data.type, {1, places.dims[0], width});
  call.emit(gather_step, {source, places}, {result});
  return result;
}

Unlowered lower_gather_elements(LowerCall& call) {
  const View &data = call.input(0), &index = call.input(1);
  if (!holds_positions(index.type)) return "positions of another type";
  if (data.size() == 0 || index.size() == 0 || data.rank() == 0 || data.rank() > most_tuple_length)
    return "without elements or of many axes";
  const std::size_t axis = counted_axis(call.integer("axis"), data.rank());
  for (std::size_t i = 0; i < data.rank(); ++i) {
    if (i != axis && index.dims[i] > data.dims[i]) return "there are more positions than data";
  }
  const View source = data, positions = index;
  const View result = chooses_rows(positions, source.dims, axis)
                          ? gathered_rows(call, source, positions, axis)
                          : gathered_at(call, source, places_along(call, positions, source.dims, axis), 1);
  call.set_output(0, reshaped(result, call.output_dims(0)));
  return std::nullopt;
}

Unlowered lower_gather_nd(LowerCall& call) {
  const View data = call.input(0), index = call.input(1);
  const std::int64_t batch = call.integer("batch_dims");
  if (!holds_positions(index.type)) return "positions of another type";
  if (data.size() == 0 || index.size() == 0 || index.rank() == 0) return "without elements";
  const std::int64_t length = index.dims.back();
  if (length < 1 || static_cast<std::size_t>(batch + length) > data.rank() || batch < 0 ||
      static_cast<std::size_t>(batch) >= index.rank() || data.rank() > most_tuple_length)
    return "tuples of another length";
  const View places = places_of_tuples(call, index, data.dims, static_cast<std::size_t>(batch));
  const std::int64_t width = element_count(std::span(data.dims).subspan(static_cast<std::size_t>(batch + length)));
  call.set_output(0, reshaped(gathered_at(call, data, places, width), call.output_dims(0)));
  return std::nullopt;
}

std::optional<Combination> combination_of(const std::string& name) {
  if (name.empty() || name == "none") return Combination::replace;
  if (name == "add") return Combination::add;
  if (name == "mul") return Combination::multiply;
  if (name == "max") return Combination::maximum;
  if (name == "min") return Combination::minimum;
  return std::nullopt;
}

/// The data with updates of `width` elements at the places.
Unlowered scattered(LowerCall& call, const View& places, std::int64_t width) {
  ScatterParameters parameters;
  const auto combination = combination_of(std::string(call.string("reduction")));
  if (!combination) return "an unknown reduction";
  parameters.combination = *combination;
  const ElementType stored = LowerCall::stored_type(call.output_type(0));
  if (*combination != Combination::replace && !has_lane(stored)) return "elements cannot be computed";
  if (*combination != Combination::replace && stored == ElementType::boolean) return "truth values are combined";
  if (!has_lane(stored) && call.input(0).type != call.input(2).type) return "operands are stored in different types";
  const ElementType type = *combination == Combination::replace ? stored : wide_type(stored);
  const View data = call.contiguous(stored_as(call, call.input(0), type));
  const View updates = call.contiguous(stored_as(call, call.input(2), type));
  const View result = call.make(type, {data.size() / width, width});
  call.emit(scatter_step, {reshaped(data, result.dims), places, reshaped(updates, {places.dims[0], width})}, {result},
            parameters);
  if (type == stored) {
    call.set_output(0, reshaped(result, call.output_dims(0)));
    return std::nullopt;
  }
  Expression e;
  e.round_to(e.input(0, lane_of(type)), stored);
  call.set_output(0, reshaped(mapped(call, e, {result}, stored, result.dims), call.output_dims(0)));
  return std::nullopt;
}

Unlowered lower_scatter_elements(LowerCall& call) {
  const View data = call.input(0), index = call.input(1);
  if (!holds_positions(index.type)) return "positions of another type";
  if (data.size() == 0 || index.size() == 0 || data.rank() == 0 || data.rank() > most_tuple_length)
    return "without elements or of many axes";
  if (index.dims != call.input_dims(2) || index.rank() != data.rank()) return "positions and updates differ in shape";
  const std::size_t axis = counted_axis(call.integer("axis"), data.rank());
  for (std::size_t i = 0; i < data.rank(); ++i) {
    if (i != axis && index.dims[i] > data.dims[i]) return "there are more positions than data";
  }
  return scattered(call, places_along(call, index, data.dims, axis), 1);
}

Unlowered lower_scatter_nd(LowerCall& call) {
  const View data = call.input(0), index = call.input(1);
  if (!holds_positions(index.type)) return "positions of another type";
  if (data.size() == 0 || index.size() == 0 || index.rank() == 0) return "without elements";
  const std::int64_t length = index.dims.back();
  if (length < 1 || static_cast<std::size_t>(length) > data.rank() || data.rank() > most_tuple_length)
    return "tuples of another length";
  const std::int64_t width = element_count(std::span(data.dims).subspan(static_cast<std::size_t>(length)));
  if (call.input(2).size() != index.size() / length * width) return "updates of another shape";
  return scattered(call, places_of_tuples(call, index, data.dims, 0), width);
}

/// The view with `axis` last, and how to put it back.
struct LastAxis {
  View view;
  Dims back;
};
LastAxis axis_last(LowerCall& call, const View& view, std::size_t axis) {
  const Dims order = order_with_last(view.rank(), axis);
  return {call.contiguous(permuted(view, order)), inverse_order(order)};
}

Unlowered lower_top_k(LowerCall& call) {
  if (call.since() < 10) return "an old version";
  if (!has_lane(call.input_type(0))) return "elements cannot be computed";
  const View& x = call.input(0);
  const std::size_t axis = counted_axis(call.integer("axis", -1), x.rank());
  const Dims out = call.output_dims(call.has_output(0) ? 0 : 1);
  if (x.size() == 0 || element_count(out) == 0) return "without elements";
  if (out[axis] > x.dims[axis]) return "more elements than there are";
  const LastAxis from = axis_last(call, stored_as(call, x, wide_type(x.type)), axis);
  Dims dims = from.view.dims;
  dims.back() = out[axis];
  TopKParameters parameters;
  parameters.is_largest = call.integer("largest", 1) != 0;
  const View values = call.make(from.view.type, dims), places = call.make(ElementType::int64, dims);
  call.emit(top_k_step, {from.view}, {values, places}, parameters);
  if (call.has_output(0))
    call.set_output(0, permuted(stored_as(call, values, LowerCall::stored_type(call.output_type(0))), from.back));
  if (call.has_output(1)) call.set_output(1, permuted(places, from.back));
  return std::nullopt;
}

}  // namespace

void register_indexing(LoweringRegistry& registry);
void register_indexing(LoweringRegistry& registry) {
  registry.add("GatherElements", all_versions(), lower_gather_elements);
  registry.add("GatherND", all_versions(), lower_gather_nd);
  registry.add("ScatterElements", all_versions(), lower_scatter_elements);
  registry.add("ScatterND", all_versions(), lower_scatter_nd);
  registry.add("TopK", all_versions(), lower_top_k);
}

}  // namespace onnxkit::plan
