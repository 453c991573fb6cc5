#include "libonnxkit/plan/compose.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace onnxkit::plan {

std::size_t counted_axis(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) throw Misfit("the axis is out of range");
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

Dims along_axis(std::size_t rank, std::size_t axis, std::int64_t size) {
  Dims dims(rank, 1);
  dims[axis] = size;
  return dims;
}

Expression::Number is_among(Expression& e, Expression::Number x, std::int64_t count) {
  const auto number = [&](std::int64_t value) {
    return e.lane(x) == Lane::i64 ? e.integer(value) : e.constant(e.lane(x), static_cast<double>(value));
  };
  return e.apply(Operation::logical_and, e.apply(Operation::less_or_equal, number(0), x),
                 e.apply(Operation::less, x, number(count)));
}

View positions_along(LowerCall& call, const Dims& dims, std::size_t axis) {
  call.spend_on_tables(dims[axis], sizeof(std::int64_t));
  std::vector<std::int64_t> positions(static_cast<std::size_t>(dims[axis]));
  std::iota(positions.begin(), positions.end(), 0);
  return broadcast_to(call.constant(positions, along_axis(dims.size(), axis, dims[axis])), dims);
}

View mapped(LowerCall& call, const Expression& expression, std::vector<View> inputs, ElementType stored, Dims dims) {
  const View result = call.make(stored, std::move(dims));
  call.emit_map(expression, std::move(inputs), result);
  return result;
}

void fill(LowerCall& call, const View& view, double number) {
  Expression e;
  e.constant(lane_of(view.type), number);
  call.emit_map(e, {}, view);
}

View extended(LowerCall& call, const View& view, std::size_t axis, std::int64_t size, double number) {
  Dims dims = view.dims;
  const std::int64_t held = dims[axis];
  dims[axis] = size;
  const View whole = call.make(view.type, std::move(dims));
  call.emit_copy(view, sliced(whole, axis, 0, 1, held));
  if (size > held) fill(call, sliced(whole, axis, held, 1, size - held), number);
  return whole;
}

View stored_as(LowerCall& call, const View& view, ElementType stored) {
  if (view.type == stored) return view;
  if (const auto held = call.wider_constant(view, stored)) return *held;
  Expression e;
  e.convert(e.input(0, lane_of(view.type)), lane_of(stored));
  const View result = call.make_like(stored, view.dims, view);
  call.emit_map(e, {view}, result);
  return result;
}

View reshaped_or_copied(LowerCall& call, const View& view, Dims dims) {
  if (auto same = try_reshaped(view, dims)) return *same;
  return reshaped(call.contiguous(view), std::move(dims));
}

View LinedAxis::restored(const View& other) const {
  Dims sizes = dims;
  sizes[at] = other.dims[1];
  return permuted(reshaped(other, std::move(sizes)), back);
}

LinedAxis lined_axis(LowerCall& call, const View& view, std::size_t axis) {
  const Dims order = view.is_dense() ? order_in_memory(view) : [&] {
    Dims same(view.rank());
    std::iota(same.begin(), same.end(), 0);
    return same;
  }();
  const View lined = call.contiguous(permuted(view, order));
  LinedAxis made{.rows = {}, .dims = lined.dims, .back = inverse_order(order)};
  made.at = static_cast<std::size_t>(made.back[axis]);
  const auto sizes = std::span(lined.dims);
  made.rows =
      reshaped(lined, {element_count(sizes.first(made.at)), sizes[made.at], element_count(sizes.subspan(made.at + 1))});
  return made;
}

View taken(LowerCall& call, const View& view, std::size_t axis, std::span<const std::int64_t> positions) {
  const auto count = static_cast<std::int64_t>(positions.size());
  call.spend_on_tables(count, sizeof(std::int64_t));
  const LinedAxis lined = lined_axis(call, view, axis);
  const View result = call.make(view.type, {lined.outer(), count, lined.inner()});
  call.emit(gather_step, {lined.rows, call.constant(positions, {count})}, {result});
  return lined.restored(result);
}

View taken_by_blocks(LowerCall& call, const View& view, std::size_t axis, std::int64_t block, std::int64_t size) {
  call.spend_on_tables(size, sizeof(std::int64_t));
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < size; ++i) positions.push_back(i / block);
  return taken(call, view, axis, positions);
}

View reduced(LowerCall& call, Reduction reduction, const View& view, const std::vector<bool>& goes) {
  Dims order, kept;
  for (const bool going : {false, true}) {
    for (std::size_t i = 0; i < view.rank(); ++i) {
      if (goes[i] == going) order.push_back(static_cast<std::int64_t>(i));
      if (goes[i] == going && !going) kept.push_back(view.dims[i]);
    }
  }
  ReduceParameters parameters;
  parameters.reduction = reduction;
  const View result = call.make(view.type, kept);
  call.emit(reduce_step, {permuted(view, order)}, {result}, parameters);
  return result;
}

View subtracted(LowerCall& call, const View& x, const View& y) {
  Expression e;
  e.apply(Operation::subtract, e.input(0, lane_of(x.type)), e.input(1, lane_of(x.type)));
  const View result = call.make_like(x.type, x.dims, x);
  call.emit_map(e, {x, y}, result);
  return result;
}

View squared(LowerCall& call, const View& x) {
  Expression e;
  const Expression::Number number = e.input(0, lane_of(x.type));
  e.apply(Operation::multiply, number, number);
  const View result = call.make_like(x.type, x.dims, x);
  call.emit_map(e, {x}, result);
  return result;
}

namespace {

/// Axes that go keep one element.
View mean_over(LowerCall& call, const View& view, const std::vector<bool>& goes) {
  Dims kept = view.dims;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (goes[i]) kept[i] = 1;
  }
  return reshaped(reduced(call, Reduction::mean, view, goes), kept);
}

}  // namespace

Statistics statistics_over(LowerCall& call, const View& view, const std::vector<bool>& goes) {
  Statistics found;
  found.mean = mean_over(call, view, goes);
  found.centered = subtracted(call, view, found.mean);
  found.variance = mean_over(call, squared(call, found.centered), goes);
  return found;
}

Statistics squares_over(LowerCall& call, const View& view, const std::vector<bool>& goes) {
  return {.mean = {}, .variance = mean_over(call, squared(call, view), goes), .centered = view};
}

namespace {

/// Means of groups of channels [n, groups, channels / groups, rest], one for each channel: [n, channels, 1].
View group_means(LowerCall& call, const View& split) {
  const std::int64_t channels = split.dims[1] * split.dims[2];
  const View means = reduced(call, Reduction::mean, split, {false, false, true, true});
  const View each = reshaped(means, {split.dims[0], split.dims[1], 1});
  const Dims dims = {split.dims[0], split.dims[1], split.dims[2]};
  return reshaped_or_copied(call, broadcast_to(each, dims), {split.dims[0], channels, 1});
}

/// Groups of planes that lie side by side as rows that are normalized, then scaled and moved by channel. Fewer rows would leave threads idle.
bool are_rows(const View& flat, std::int64_t groups) {
  constexpr std::int64_t least_rows = 8;
  return flat.type == ElementType::float32 && flat.is_contiguous() && flat.dims[0] * groups >= least_rows;
}

View normalized_rows(LowerCall& call, const View& flat, std::int64_t groups) {
  const std::int64_t rows = flat.dims[0] * groups;
  NormalizeParameters parameters;
  parameters.epsilon = call.real("epsilon", 1e-5F);
  const View result = call.make(ElementType::float32, {rows, flat.size() / rows});
  call.emit(normalize_step, {reshaped(flat, result.dims)}, {result}, parameters);
  return reshaped(result, flat.dims);
}

View times_plus(LowerCall& call, const View& x, const View& factor, const View& offset) {
  const Lane lane = lane_of(x.type);
  Expression e;
  e.apply(Operation::add, e.apply(Operation::multiply, e.input(0, lane), e.input(1, lane)), e.input(2, lane));
  const View result = call.make_like(x.type, x.dims, x);
  call.emit_map(e, {x, factor, offset}, result);
  return result;
}

}  // namespace

std::optional<View> normalized_groups(LowerCall& call, const View& x, std::int64_t groups) {
  const Lane lane = lane_of(x.type);
  const std::int64_t channels = x.dims[1];
  if (groups < 1 || channels % groups != 0) return std::nullopt;
  for (const std::size_t i : {1, 2})
    if (call.input(i).size() != channels) return std::nullopt;
  const std::int64_t rest = element_count(std::span(x.dims).subspan(2));
  const Dims split = {x.dims[0], groups, channels / groups, rest}, joined = {x.dims[0], channels, rest};
  const View flat = reshaped_or_copied(call, x, joined);
  const auto weight = [&](std::size_t i) {
    return reshaped_or_copied(call, stored_as(call, call.input(i), x.type), {channels, 1});
  };
  if (are_rows(flat, groups)) {
    const View rows = normalized_rows(call, flat, groups);
    return reshaped_or_copied(call, times_plus(call, rows, weight(1), weight(2)), x.dims);
  }
  const View centered = subtracted(call, flat, group_means(call, reshaped(flat, split)));
  const View variance = group_means(call, reshaped(squared(call, centered), split));
  // One factor for each channel, so that no element is divided.
  Expression of_channel;
  const auto epsilon = static_cast<double>(call.real("epsilon", 1e-5F));
  const Expression::Number shifted =
      of_channel.apply(Operation::add, of_channel.input(0, lane), of_channel.constant(lane, epsilon));
  of_channel.apply(Operation::divide, of_channel.input(1, lane), of_channel.apply(Operation::square_root, shifted));
  const View factor = mapped(call, of_channel, {variance, weight(1)}, x.type, variance.dims);
  return reshaped_or_copied(call, times_plus(call, centered, factor, weight(2)), x.dims);
}

namespace {

/// Positions along an axis as numbers in which they are compared fastest: float32 holds those of most axes.
View places_along(LowerCall& call, const View& x, std::size_t axis) {
  constexpr std::int64_t most_exact = std::int64_t{1} << 24;
  if (x.type != ElementType::float32 || x.dims[axis] > most_exact) return positions_along(call, x.dims, axis);
  call.spend_on_tables(x.dims[axis], sizeof(float));
  std::vector<float> positions(static_cast<std::size_t>(x.dims[axis]));
  std::iota(positions.begin(), positions.end(), 0.0F);
  return broadcast_to(call.constant(positions, along_axis(x.rank(), axis, x.dims[axis])), x.dims);
}

Expression::Number number_of(Expression& e, Lane lane, std::int64_t value) {
  return lane == Lane::i64 ? e.integer(value) : e.constant(lane, static_cast<double>(value));
}

/// Where the greatest or the least is, in the type of `places`, which counts along the axis.
View place_of_extreme(LowerCall& call, Reduction extreme, const View& x, std::size_t axis, const View& places,
                      bool takes_last = false) {
  const std::vector<bool> goes = only_axis(x.rank(), axis);
  const Lane lane = lane_of(x.type), place = lane_of(places.type);
  Dims kept = x.dims;
  kept[axis] = 1;
  const View best = reshaped(reduced(call, extreme, x, goes), kept);
  Expression e;
  const Expression::Number number = e.input(0, lane), found = e.input(1, lane);
  Expression::Number is_best = e.apply(Operation::equal, number, found);
  if (lane != Lane::i64) is_best = e.apply(Operation::logical_or, is_best, e.apply(Operation::is_nan, number));
  const Expression::Number other = number_of(e, place, takes_last ? -1 : x.dims[axis]);
  e.apply(Operation::select, is_best, e.input(2, place), other);
  const View candidates = mapped(call, e, {x, best, places}, places.type, x.dims);
  return reshaped(reduced(call, takes_last ? Reduction::maximum : Reduction::minimum, candidates, goes), kept);
}

/// x with an infinity for each NaN: the greatest where it is the first of its line, else the least.
View without_nan(LowerCall& call, const View& x, const View& places) {
  const Lane lane = lane_of(x.type), place = lane_of(places.type);
  if (lane == Lane::i64) return x;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  Expression key;
  const Expression::Number number = key.input(0, lane);
  const Expression::Number is_first = key.apply(Operation::equal, key.input(1, place), number_of(key, place, 0));
  const Expression::Number extreme =
      key.apply(Operation::select, is_first, key.constant(lane, infinite), key.constant(lane, -infinite));
  key.apply(Operation::select, key.apply(Operation::is_nan, number), extreme, number);
  return mapped(call, key, {x, places}, x.type, x.dims);
}

}  // namespace

View extreme_positions(LowerCall& call, Reduction extreme, const View& x, std::size_t axis, bool takes_last) {
  const View place = place_of_extreme(call, extreme, x, axis, places_along(call, x, axis), takes_last);
  return stored_as(call, place, ElementType::int64);
}

View first_greatest(LowerCall& call, const View& x, std::size_t axis) {
  const View places = places_along(call, x, axis);
  const View keys = without_nan(call, x, places);
  return stored_as(call, place_of_extreme(call, Reduction::maximum, keys, axis, places), ElementType::int64);
}

View marked_greatest(LowerCall& call, const View& x, std::size_t axis) {
  const View places = places_along(call, x, axis);
  const View keys = without_nan(call, x, places);
  const View best = place_of_extreme(call, Reduction::maximum, keys, axis, places);
  const Lane place = lane_of(places.type);
  Expression e;
  e.convert(e.apply(Operation::equal, e.input(0, place), e.input(1, place)), lane_of(x.type));
  return mapped(call, e, {places, best}, x.type, x.dims);
}

std::vector<bool> last_axes(std::size_t rank, std::size_t first) {
  std::vector<bool> goes(rank, false);
  std::fill(goes.begin() + static_cast<std::ptrdiff_t>(first), goes.end(), true);
  return goes;
}

std::vector<bool> only_axis(std::size_t rank, std::size_t axis) {
  std::vector<bool> goes(rank, false);
  goes[axis] = true;
  return goes;
}

void give(LowerCall& call, const View& view) {
  const View stored = stored_as(call, view, LowerCall::stored_type(call.output_type(0)));
  call.set_output(0, reshaped_or_copied(call, stored, call.output_dims(0)));
}

ElementType wide_type(ElementType type) {
  const Lane lane = lane_of(type);
  return lane == Lane::f32 ? ElementType::float32 : lane == Lane::f64 ? ElementType::float64 : ElementType::int64;
}

View bytes_of(LowerCall& call, const Tensor& content) {
  const auto size = static_cast<std::int64_t>(content.bytes().size());
  return call.constant(
      *Tensor::view(ElementType::uint8, {size}, content.bytes(), std::make_shared<const Tensor>(content)));
}

View unpacked(LowerCall& call, const BlockedWeights& blocks, const Tensor& numbers) {
  std::vector<std::byte> reals(static_cast<std::size_t>(blocks.n * blocks.k) * sizeof(float));
  unpack(blocks, numbers.bytes(), {reinterpret_cast<float*>(reals.data()), reals.size() / sizeof(float)});
  return call.constant(*Tensor::from_bytes(ElementType::float32, {blocks.n, blocks.k}, std::move(reals)));
}

void emit_packed_product(LowerCall& call, std::vector<View> inputs, const View& output, ProductParameters parameters,
                         const Tensor& numbers) {
  if (call.emit_if_taken(product_step, inputs, {output}, parameters)) return;
  constexpr std::int64_t swapped[] = {1, 0};
  inputs[1] = permuted(unpacked(call, *parameters.blocks, numbers), swapped);
  parameters.blocks = nullptr;
  call.emit(product_step, std::move(inputs), {output}, std::move(parameters));
}

View rows_side_by_side(LowerCall& call, const View& view) {
  const std::size_t rank = view.rank();
  return view.strides[rank - 1] == 1 || view.dims[rank - 1] == 1 ? view : call.contiguous(view);
}

View matrix_product(LowerCall& call, View a, View b, Dims dims, ProductParameters parameters) {
  const Dims result = dims;
  const bool is_row = a.rank() == 1;
  if (is_row) {
    a.dims.insert(a.dims.begin(), 1);
    a.strides.insert(a.strides.begin(), a.dims[1]);
    dims.insert(b.rank() == 1 ? dims.end() : dims.end() - 1, 1);
  }
  if (b.rank() == 1) b.dims.push_back(1), b.strides.push_back(1), dims.push_back(1);
  // One matrix b for all of a: the leading axes of a are rows.
  const bool is_shared = element_count(std::span(b.dims).first(b.rank() - 2)) == 1;
  a = rows_side_by_side(call, a);
  const View output = call.make(a.type, dims);
  View product = output;
  if (is_shared && dims.size() > 2) {
    const std::int64_t rows = element_count(std::span(dims).first(dims.size() - 1));
    a = reshaped_or_copied(call, a, {rows, a.dims.back()});
    b = reshaped(b, {b.dims[b.rank() - 2], b.dims.back()});
    product = reshaped(output, {rows, dims.back()});
  } else {
    Dims leading(dims.begin(), dims.end() - 2), a_dims = leading, b_dims = leading;
    a_dims.insert(a_dims.end(), a.dims.end() - 2, a.dims.end());
    b_dims.insert(b_dims.end(), b.dims.end() - 2, b.dims.end());
    a = broadcast_to(a, a_dims);
    b = broadcast_to(b, b_dims);
  }
  call.emit(product_step, {a, b}, {product}, std::move(parameters));
  return reshaped(output, result);
}

View multiplied(LowerCall& call, const View& a, const View& b) {
  Dims dims = a.dims;
  dims.back() = b.dims.back();
  const View result = call.make(a.type, dims);
  call.emit(product_step, {a, b}, {result}, ProductParameters());
  return result;
}

}  // namespace onnxkit::plan
