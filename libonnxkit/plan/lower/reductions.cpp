#include <algorithm>

#include "libonnxkit/plan/compose.h"

// Reductions: what is done to each number before, the reduction, what is done to the result; and norms over axes or channels made of them.
namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// For each axis whether it is reduced.
Unlowered reduced_axes_of(LowerCall& call, std::vector<bool>& goes) {
  const std::size_t rank = call.input(0).rank();
  const bool by_input = call.since() >= 18 || (call.has_input(1) && call.since() >= 13);
  const auto axes = by_input ? call.constant_integers(1) : call.integers("axes");
  if (call.has_input(1) && !axes) return "the axes are not constant";
  const bool names_none = !axes || axes->empty();
  goes.assign(rank, names_none && call.integer("noop_with_empty_axes") == 0);
  if (!names_none) {
    for (const std::int64_t axis : *axes) goes[counted_axis(axis, rank)] = true;
  }
  return std::nullopt;
}

/// expression(view) in the stored type, in the order of axes of the view.
View applied(LowerCall& call, const Expression& e, std::vector<View> inputs, ElementType stored) {
  const View result = call.make_like(stored, inputs.front().dims, inputs.front());
  call.emit_map(e, std::move(inputs), result);
  return result;
}

View with_operation(LowerCall& call, Operation operation, const View& view) {
  Expression e;
  e.apply(operation, e.input(0, lane_of(view.type)));
  return applied(call, e, {view}, view.type);
}

/// The result in the type of the output; integers wrap.
void give_reduced(LowerCall& call, const View& view) {
  const ElementType type = call.output_type(0), stored = LowerCall::stored_type(type);
  if (view.type == stored) return give(call, view);
  Expression e;
  const Number number = e.convert(e.input(0, lane_of(view.type)), lane_of(stored));
  if (lane_of(stored) == Lane::i64) e.round_to(number, type);
  give(call, mapped(call, e, {view}, stored, view.dims));
}

enum class Before : std::uint8_t { nothing, absolute, square };
enum class After : std::uint8_t { nothing, root, logarithm };

template <Reduction reduction, Before before = Before::nothing, After after = After::nothing>
Unlowered lower_reduce(LowerCall& call) {
  const ElementType type = call.input_type(0);
  if (!has_lane(type)) return "elements cannot be computed";
  const bool is_integer = lane_of(type) == Lane::i64;
  if (is_integer && (reduction == Reduction::mean || after != After::nothing)) return "only for real numbers";
  std::vector<bool> goes;
  if (auto reason = reduced_axes_of(call, goes)) return reason;
  View view = stored_as(call, call.input(0), wide_type(call.input(0).type));
  if (view.size() == 0) return "without elements";
  if (before == Before::absolute) view = with_operation(call, Operation::absolute, view);
  if (before == Before::square) view = squared(call, view);
  view = reduced(call, reduction, view, goes);
  if (after == After::root) view = with_operation(call, Operation::square_root, view);
  if (after == After::logarithm) view = with_operation(call, Operation::logarithm, view);
  give_reduced(call, view);
  return std::nullopt;
}

/// max + log(sum(exp(x - max))), or max where that is infinite.
Unlowered lower_reduce_log_sum_exp(LowerCall& call) {
  const ElementType type = call.input_type(0);
  if (!has_lane(type) || lane_of(type) == Lane::i64) return "only for real numbers";
  std::vector<bool> goes;
  if (auto reason = reduced_axes_of(call, goes)) return reason;
  const View view = call.input(0).type == wide_type(call.input(0).type)
                        ? call.input(0)
                        : stored_as(call, call.input(0), wide_type(call.input(0).type));
  if (view.size() == 0) return "without elements";
  const Lane lane = lane_of(view.type);
  Dims kept = view.dims;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (goes[i]) kept[i] = 1;
  }
  const View most = reduced(call, Reduction::maximum, view, goes);
  Expression e;
  e.apply(Operation::exponential, e.apply(Operation::subtract, e.input(0, lane), e.input(1, lane)));
  const View sums = reduced(call, Reduction::sum, applied(call, e, {view, reshaped(most, kept)}, view.type), goes);
  Expression last;
  const Number greatest = last.input(0, lane);
  const Number sum = last.apply(Operation::add, last.apply(Operation::logarithm, last.input(1, lane)), greatest);
  last.apply(Operation::select, last.apply(Operation::is_infinite, greatest), greatest, sum);
  give_reduced(call, applied(call, last, {most, sums}, view.type));
  return std::nullopt;
}

template <Reduction reduction>
Unlowered lower_global_pool(LowerCall& call) {
  const ElementType type = call.output_type(0);
  if (!has_lane(type) || lane_of(type) == Lane::i64) return "only for real numbers";
  const View view = stored_as(call, call.input(0), wide_type(call.input(0).type));
  if (view.rank() < 3 || view.size() == 0) return "without elements";
  give(call, reduced(call, reduction, view, last_axes(view.rank(), 2)));
  return std::nullopt;
}

/// (sum of |x| ^ p) ^ (1 / p) of each channel.
Unlowered lower_global_lp_pool(LowerCall& call) {
  if (call.since() < 2) return "an old version";
  const View x = stored_as(call, call.input(0), wide_type(call.input(0).type));
  const Lane lane = lane_of(x.type);
  if (lane == Lane::i64 || x.rank() < 3 || x.size() == 0) return "without elements";
  const auto p = static_cast<double>(call.integer("p", 2));
  if (p < 1) return "the exponent is not positive";
  const auto raised = [&](const View& view, double power, bool is_signed) {
    Expression e;
    Number number = e.input(0, lane);
    if (is_signed) number = e.apply(Operation::absolute, number);
    if (power == 2) {
      e.apply(Operation::multiply, number, number);
    } else if (power == 0.5) {
      e.apply(Operation::square_root, number);
    } else if (power != 1) {
      e.apply(Operation::power, number, e.constant(lane, power));
    }
    return applied(call, e, {view}, view.type);
  };
  const View sums = reduced(call, Reduction::sum, raised(x, p, true), last_axes(x.rank(), 2));
  give(call, raised(sums, 1 / p, false));
  return std::nullopt;
}

// ---- norms

/// x / norm along one axis; 0 where the norm is 0.
Unlowered lower_lp_normalization(LowerCall& call) {
  const View x = stored_as(call, call.input(0), wide_type(call.input(0).type));
  const Lane lane = lane_of(x.type);
  const std::int64_t p = call.integer("p", 2);
  if (lane == Lane::i64 || x.size() == 0 || (p != 1 && p != 2)) return "without elements or of another order";
  const std::size_t axis = counted_axis(call.integer("axis", -1), x.rank());
  const std::vector<bool> goes = only_axis(x.rank(), axis);
  Dims kept = x.dims;
  kept[axis] = 1;
  View norm =
      reduced(call, Reduction::sum, p == 1 ? with_operation(call, Operation::absolute, x) : squared(call, x), goes);
  if (p == 2) norm = with_operation(call, Operation::square_root, norm);
  Expression e;
  const Number number = e.input(0, lane), by = e.input(1, lane), zero = e.constant(lane, 0);
  const Number quotient = e.apply(Operation::divide, number, by);
  e.apply(Operation::select, e.apply(Operation::equal, by, zero), zero, quotient);
  give(call, applied(call, e, {x, reshaped(norm, kept)}, x.type));
  return std::nullopt;
}

Unlowered lower_groups(LowerCall& call, std::int64_t groups) {
  const View x = stored_as(call, call.input(0), wide_type(call.input(0).type));
  if (lane_of(x.type) == Lane::i64 || x.size() == 0 || x.rank() < 2) return "without elements or channels";
  const auto y = normalized_groups(call, x, groups);
  if (!y) return "channels that do not share groups evenly, or scales of other sizes";
  give(call, *y);
  return std::nullopt;
}

Unlowered lower_instance_normalization(LowerCall& call) {
  return call.input(0).rank() < 2 ? Unlowered("without channels") : lower_groups(call, call.input_dims(0)[1]);
}
Unlowered lower_group_normalization(LowerCall& call) {
  if (call.since() < 21) return "an old version";
  return lower_groups(call, call.integer("num_groups"));
}

/// The squares of the channels, with zeros for `before` of them in front and up to `count` in all.
View padded_squares(LowerCall& call, const View& x, std::int64_t before, std::int64_t count) {
  const Lane lane = lane_of(x.type);
  Dims padded = x.dims;
  padded[1] = count;
  const View squares = call.make_like(x.type, padded, x);
  fill(call, squares, 0);
  Expression square;
  const Number number = square.input(0, lane);
  square.apply(Operation::multiply, number, number);
  call.emit_map(square, {x}, sliced(squares, 1, before, 1, x.dims[1]));
  return squares;
}

View added(LowerCall& call, std::vector<View> terms) {
  Expression e;
  const Lane lane = lane_of(terms[0].type);
  Number sum = e.input(0, lane);
  for (std::size_t i = 1; i < terms.size(); ++i) sum = e.apply(Operation::add, sum, e.input(i, lane));
  const ElementType type = terms[0].type;
  return applied(call, e, std::move(terms), type);
}

/// For each channel the sum of the squares of so many, from `before` in front of it on.
View sums_of_neighbours(LowerCall& call, const View& x, std::int64_t before, std::int64_t window) {
  const std::int64_t channels = x.dims[1];
  View sums = padded_squares(call, x, before, channels + window - 1);
  constexpr std::int64_t most_terms = 16;
  if (window <= most_terms) {
    std::vector<View> terms;
    for (std::int64_t i = 0; i < window; ++i) terms.push_back(sliced(sums, 1, i, 1, channels));
    return added(call, std::move(terms));
  }
  // Sums of 1, 2, 4 ... channels, each of two of those before; those whose sizes make up the window are added.
  std::optional<View> total;
  std::int64_t first = 0;
  for (std::int64_t size = 1;; size *= 2) {
    if ((window & size) != 0) {
      const View part = sliced(sums, 1, first, 1, channels);
      total = total ? added(call, {*total, part}) : part;
      first += size;
    }
    if (window < 2 * size) return *total;
    const std::int64_t left = sums.dims[1] - size;
    sums = added(call, {sliced(sums, 1, 0, 1, left), sliced(sums, 1, size, 1, left)});
  }
}

/// x / (bias + alpha / size * the sum of squares of neighbouring channels) ^ beta.
Unlowered lower_lrn(LowerCall& call) {
  const View x = stored_as(call, call.input(0), wide_type(call.input(0).type));
  const Lane lane = lane_of(x.type);
  const std::int64_t size = call.integer("size");
  if (lane == Lane::i64 || x.size() == 0 || x.rank() < 2) return "without elements or channels";
  if (size < 1) return "over no channels";
  const std::int64_t most = x.dims[1] - 1, before = std::min((size - 1) / 2, most),
                     behind = std::min(size - 1 - (size - 1) / 2, most);
  const View sums = sums_of_neighbours(call, x, before, before + 1 + behind);
  Expression e;
  const Number own = e.input(0, lane), sum = e.input(1, lane);
  const double alpha = static_cast<double>(call.real("alpha", 1e-4F)) / static_cast<double>(size);
  const Number scaled = e.apply(Operation::multiply, sum, e.constant(lane, alpha));
  const Number base = e.apply(Operation::add, scaled, e.constant(lane, static_cast<double>(call.real("bias", 1))));
  const Number power = e.apply(Operation::power, base, e.constant(lane, static_cast<double>(call.real("beta", 0.75F))));
  e.apply(Operation::divide, own, power);
  give(call, applied(call, e, {x, sums}, x.type));
  return std::nullopt;
}

}  // namespace

void register_reductions(LoweringRegistry& registry);
void register_reductions(LoweringRegistry& registry) {
  registry.add("ReduceSum", all_versions(), lower_reduce<Reduction::sum>);
  registry.add("ReduceMean", all_versions(), lower_reduce<Reduction::mean>);
  registry.add("ReduceMax", all_versions(), lower_reduce<Reduction::maximum>);
  registry.add("ReduceMin", all_versions(), lower_reduce<Reduction::minimum>);
  registry.add("ReduceProd", all_versions(), lower_reduce<Reduction::product>);
  registry.add("ReduceL1", all_versions(), lower_reduce<Reduction::sum, Before::absolute>);
  registry.add("ReduceL2", all_versions(), lower_reduce<Reduction::sum, Before::square, After::root>);
  registry.add("ReduceSumSquare", all_versions(), lower_reduce<Reduction::sum, Before::square>);
  registry.add("ReduceLogSum", all_versions(), lower_reduce<Reduction::sum, Before::nothing, After::logarithm>);
  registry.add("ReduceLogSumExp", all_versions(), lower_reduce_log_sum_exp);
  registry.add("GlobalAveragePool", all_versions(), lower_global_pool<Reduction::mean>);
  registry.add("GlobalMaxPool", all_versions(), lower_global_pool<Reduction::maximum>);
  registry.add("GlobalLpPool", all_versions(), lower_global_lp_pool);
  registry.add("LpNormalization", all_versions(), lower_lp_normalization);
  registry.add("InstanceNormalization", all_versions(), lower_instance_normalization);
  registry.add("GroupNormalization", all_versions(), lower_group_normalization);
  registry.add("LRN", all_versions(), lower_lrn);
}

}  // namespace onnxkit::plan
