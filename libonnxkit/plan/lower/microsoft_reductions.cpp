// com.microsoft: distances of rows, sums of bytes, whether all numbers are finite, slices that overlap.
#include <algorithm>

#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

// ---- CDist

/// The sums of the first features, if there are any, and the squares of the differences of some more: [rows, columns]. a [rows, features], b turned
/// [features, columns]. With `has_root` the root of that.
View with_differences(LowerCall& call, const std::optional<View>& sums, const View& a, const View& turned,
                      std::int64_t first, std::int64_t count, bool has_root) {
  Expression e;
  std::vector<View> inputs;
  const auto next = [&](const View& view) {
    inputs.push_back(view);
    return e.input(inputs.size() - 1, lane_of(a.type));
  };
  std::optional<Number> sum;
  if (sums) sum = next(*sums);
  for (std::int64_t i = first; i < first + count; ++i) {
    const Number left = next(sliced(a, 1, i, 1, 1)), right = next(sliced(turned, 0, i, 1, 1));
    const Number apart = e.apply(Operation::subtract, left, right);
    const Number square = e.apply(Operation::multiply, apart, apart);
    sum = sum ? e.apply(Operation::add, *sum, square) : square;
  }
  if (has_root) e.apply(Operation::square_root, *sum);
  return mapped(call, e, std::move(inputs), a.type, {a.dims[0], turned.dims[1]});
}

/// By differences: lengths less products would lose what points that lie close together differ by.
Unlowered lower_cdist(LowerCall& call) {
  const View x = call.input(0), y = call.input(1);
  if (x.rank() != 2 || y.rank() != 2 || x.dims[1] != y.dims[1]) return "operands of other forms";
  if (x.size() == 0 || y.size() == 0) return "without elements";
  constexpr std::int64_t most_features = 1 << 12, features_of_map = 8;
  const std::int64_t features = x.dims[1];
  if (features > most_features) return "rows of too many numbers";
  constexpr std::int64_t turned_axes[] = {1, 0};
  if (!is_narrow_real(x.type) && x.type != ElementType::float64) return "only for real numbers";
  const ElementType type = wide_type(x.type);
  const View a = stored_as(call, x, type), b = stored_as(call, y, type);
  const View turned = call.contiguous(permuted(b, turned_axes));
  const bool has_root = call.string("metric") == "euclidean";
  std::optional<View> sums;
  for (std::int64_t first = 0; first < features; first += features_of_map) {
    const std::int64_t count = std::min(features_of_map, features - first);
    sums = with_differences(call, sums, a, turned, first, count, has_root && first + count == features);
  }
  give(call, *sums);
  return std::nullopt;
}

// ---- ReduceSumInteger

Unlowered lower_reduce_sum_integer(LowerCall& call) {
  const View x = call.input(0);
  constexpr std::int64_t most_terms = std::int64_t{1} << 23;  // their sums fit 32 bits
  if (x.size() == 0) return "without elements";
  if (x.size() > most_terms) return "sums that may not fit 32 bits";
  const auto axes = call.integers("axes").value_or(std::vector<std::int64_t>());
  std::vector<bool> goes(x.rank(), axes.empty());
  for (const std::int64_t axis : axes) goes[counted_axis(axis, x.rank())] = true;
  give(call, reduced(call, Reduction::sum, stored_as(call, x, ElementType::int64), goes));
  return std::nullopt;
}

// ---- IsAllFinite

/// 1 for numbers that count as not finite.
View finite_faults(LowerCall& call, const View& x, bool sees_infinities, bool sees_nans) {
  Expression e;
  const Number number = e.input(0, lane_of(x.type));
  Number is_fault = e.apply(sees_nans ? Operation::is_nan : Operation::is_infinite, number);
  if (sees_nans && sees_infinities)
    is_fault = e.apply(Operation::logical_or, is_fault, e.apply(Operation::is_infinite, number));
  e.convert(is_fault, Lane::f32);
  const View faults = call.make_like(ElementType::float32, x.dims, x);
  call.emit_map(e, {x}, faults);
  return faults;
}

Unlowered lower_is_all_finite(LowerCall& call) {
  const bool sees_infinities = call.integer("isnan_only") == 0, sees_nans = call.integer("isinf_only") == 0;
  const View result = call.make_output(0);
  if (!sees_infinities && !sees_nans) {
    fill(call, result, 1);
    return std::nullopt;
  }
  std::vector<View> given;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    if (!call.has_input(i)) continue;
    if (!has_lane(call.input_type(i)) || lane_of(call.input_type(i)) == Lane::i64) return "only for real numbers";
    if (call.input(i).size() > 0) given.push_back(call.input(i));
  }
  if (given.empty()) return "without elements";
  const View most = call.make(ElementType::float32, {static_cast<std::int64_t>(given.size())});
  ReduceParameters maximum;
  maximum.reduction = Reduction::maximum;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const View faults = finite_faults(call, given[i], sees_infinities, sees_nans);
    call.emit(reduce_step, {faults}, {picked(most, 0, static_cast<std::int64_t>(i))}, maximum);
  }
  Expression e;
  e.apply(Operation::equal, e.input(0, Lane::f32), e.constant(Lane::f32, 0));
  call.emit_map(e, {reshaped_or_copied(call, reduced(call, Reduction::maximum, most, {true}), result.dims)}, result);
  return std::nullopt;
}

// ---- UnfoldTensor

/// Slices of `size` elements along an axis, so many steps apart, as a new last axis.
Unlowered lower_unfold_tensor(LowerCall& call) {
  const View x = call.input(0);
  if (x.rank() == 0 || x.size() == 0) return "without elements";
  const std::size_t axis = counted_axis(call.integer("dim", -1), x.rank());
  const std::int64_t size = call.integer("size"), length = x.dims[axis];
  if (size < 1 || size > length || call.integer("step", 1) < 1) return "slices beyond the axis";
  const std::int64_t step = std::min(call.integer("step", 1), length), count = (length - size) / step + 1;
  call.spend_on_tables(count, static_cast<std::uint64_t>(size) * sizeof(std::int64_t));
  std::vector<std::int64_t> positions;
  for (std::int64_t slice = 0; slice < count; ++slice) {
    for (std::int64_t i = 0; i < size; ++i) positions.push_back(slice * step + i);
  }
  Dims dims = x.dims;
  dims[axis] = count;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, size);
  const View slices = reshaped_or_copied(call, taken(call, x, axis, positions), dims);
  call.set_output(0, permuted(slices, order_with_last(dims.size(), axis + 1)));
  return std::nullopt;
}

}  // namespace

void register_microsoft_reductions(LoweringRegistry& registry);
void register_microsoft_reductions(LoweringRegistry& registry) {
  const auto add = [&](const char* op, Lowering lowering) {
    registry.add("com.microsoft", op, all_versions(), lowering);
  };
  add("CDist", lower_cdist);
  add("ReduceSumInteger", lower_reduce_sum_integer);
  add("IsAllFinite", lower_is_all_finite);
  add("UnfoldTensor", lower_unfold_tensor);
}

}  // namespace onnxkit::plan
