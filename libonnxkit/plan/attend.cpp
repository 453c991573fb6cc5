#include "libonnxkit/plan/attend.h"

#include <algorithm>
#include <cmath>

namespace onnxkit::plan {
namespace {

/// k or v seen for each head of q: [batch, heads of k, sharing, rows, columns].
View by_groups(const View& view, std::int64_t groups, std::int64_t sharing) {
  View result = view;
  result.dims = {view.dims[0], groups, sharing, view.dims[2], view.dims[3]};
  const bool is_shared = view.dims[1] == groups;
  result.strides = {view.strides[0], view.strides[1] * (is_shared ? 1 : sharing), is_shared ? 0 : view.strides[1],
                    view.strides[2], view.strides[3]};
  return result;
}

}  // namespace

std::optional<View> split_heads(LowerCall& call, const View& view, std::int64_t heads) {
  if (view.rank() != 3 || heads <= 0 || view.dims[2] % heads != 0) return std::nullopt;
  const Dims split = {view.dims[0], view.dims[1], heads, view.dims[2] / heads};
  return permuted(reshaped_or_copied(call, view, split), heads_before_rows);
}

View with_side_by_side_rows(LowerCall& call, const View& view) {
  return view.strides[3] == 1 || view.dims[3] == 1 ? view : call.contiguous(view);
}

View joined_rows(LowerCall& call, const View& past, const View& now) {
  const std::int64_t before = past.dims[2];
  Dims dims = now.dims;
  dims[2] += before;
  const View whole = call.make(now.type, dims);
  call.emit_copy(past, sliced(whole, 2, 0, 1, before));
  call.emit_copy(now, sliced(whole, 2, before, 1, now.dims[2]));
  return whole;
}

View checked_numbers(LowerCall& call, const View& view, std::int64_t least, std::int64_t greatest) {
  const std::int64_t count = view.size();
  Expression e;  // the step that knows of errors is a gather: position 1 of one zero
  const auto number = e.input(0, Lane::i64);
  e.apply(Operation::logical_or, e.apply(Operation::less, number, e.integer(least)),
          e.apply(Operation::less, e.integer(greatest), number));
  const View positions = mapped(call, e, {view}, ElementType::int64, view.dims);
  const View zeros = call.make(ElementType::int64, {1, count, 1});
  const std::int64_t zero[] = {0};
  call.emit(gather_step, {call.constant(zero, {1, 1, 1}), reshaped_or_copied(call, positions, {count})}, {zeros});
  Expression sum;
  sum.apply(Operation::add, sum.input(0, Lane::i64), sum.input(1, Lane::i64));
  return mapped(call, sum, {view, reshaped(zeros, view.dims)}, ElementType::int64, view.dims);
}

Expression::Number ScoreBias::operand(const View& view, Lane lane) {
  inputs_.push_back(view);
  return expression_.convert(expression_.input(inputs_.size() - 1, lane_of(view.type)), lane);
}

namespace {

/// 0, 1, 2 ... along an axis of the scores that counts from the end.
View numbers_along(LowerCall& call, const Dims& scores, std::size_t from_end) {
  Dims dims(from_end, 1);
  dims[0] = scores[scores.size() - from_end];
  return positions_along(call, dims, 0);
}

}  // namespace

Expression::Number ScoreBias::row() {
  if (!row_) row_ = operand(numbers_along(call_, scores_, 2), Lane::i64);
  return *row_;
}

Expression::Number ScoreBias::column() {
  if (!column_) column_ = operand(numbers_along(call_, scores_, 1), Lane::i64);
  return *column_;
}

void ScoreBias::add(Number bias) {
  is_one_view_ = false;
  sum_ = sum_ ? expression_.apply(Operation::add, *sum_, bias) : bias;
}

void ScoreBias::add(const View& bias) {
  const bool is_first = inputs_.empty();
  add(operand(bias, Lane::f32));
  is_one_view_ = is_first;
}

void ScoreBias::require(Number condition, double hidden) {
  add(expression_.apply(Operation::select, condition, expression_.constant(Lane::f32, 0),
                        expression_.constant(Lane::f32, hidden)));
}

std::optional<View> ScoreBias::made() {
  if (!sum_) return std::nullopt;
  View bias = inputs_.front();
  if (!is_one_view_) {
    Dims dims(scores_.size(), 1);
    for (const View& input : inputs_) {
      for (std::size_t i = 1; i <= input.rank(); ++i) {
        std::int64_t& size = dims[dims.size() - i];
        size = size == 1 ? input.dims[input.rank() - i] : size;
      }
    }
    dims.back() = scores_.back();  // a row of the bias lies side by side
    bias = mapped(call_, expression_, inputs_, ElementType::float32, dims);
  }
  View spread = broadcast_to(bias, scores_);
  if (spread.strides.back() == 1 || scores_.back() == 1) return spread;
  Dims dims = bias.dims;
  if (dims.empty()) dims.push_back(1);
  dims.back() = scores_.back();
  return broadcast_to(call_.contiguous(broadcast_to(bias, dims)), scores_);
}

Unlowered add_padding_mask(LowerCall& call, std::size_t input, const Dims& scores, ScoreBias& bias) {
  if (!call.has_input(input)) return std::nullopt;
  const View given = call.input(input);
  const Dims& dims = given.dims;
  const std::int64_t batch = scores[0], rows = scores[2], columns = scores[3];
  const double hidden = static_cast<double>(call.real("mask_filter_value", -10000));
  Expression& e = bias.expression();
  if (given.size() == 0) return "a mask of another form";
  if (dims == Dims{batch} || dims == Dims{2 * batch}) {
    const auto by_batch = [&](std::int64_t first) {
      return bias.operand(reshaped_or_copied(call, sliced(given, 0, first, 1, batch), {batch, 1, 1, 1}), Lane::i64);
    };
    Expression::Number sees = e.apply(Operation::less, bias.column(), by_batch(0));
    if (dims[0] != batch)
      sees = e.apply(Operation::logical_and, sees, e.apply(Operation::less_or_equal, by_batch(batch), bias.column()));
    bias.require(sees, hidden);
    return std::nullopt;
  }
  View spread;
  if (dims == Dims{batch, columns}) {
    spread = reshaped_or_copied(call, given, {batch, 1, 1, columns});
  } else if (dims == Dims{batch, rows, columns}) {
    spread = reshaped_or_copied(call, given, {batch, 1, rows, columns});
  } else if (dims.size() == 4 && dims[0] == batch && dims[1] == 1 && dims[2] == dims[3] && dims[3] >= columns &&
             columns >= rows) {
    spread = sliced(sliced(given, 2, columns - rows, 1, rows), 3, 0, 1, columns);
  } else {
    return "a mask of another form";
  }
  bias.require(
      e.apply(Operation::logical_not, e.apply(Operation::equal, bias.operand(spread, Lane::i64), e.integer(0))),
      hidden);
  return std::nullopt;
}

Unlowered add_attention_bias(LowerCall& call, std::size_t input, const Dims& scores, ScoreBias& bias) {
  if (!call.has_input(input)) return std::nullopt;
  const View given = call.as_real(call.input(input));
  const auto fits = [&](std::size_t axis) { return given.dims[axis] == 1 || given.dims[axis] == scores[axis]; };
  if (given.rank() != 4 || !fits(0) || !fits(1) || given.dims[2] != scores[2] || given.dims[3] < scores[3])
    return "attention_bias of other sizes";
  bias.add(sliced(given, 3, 0, 1, scores[3]));
  return std::nullopt;
}

double scale_or_usual(LowerCall& call, std::int64_t size) {
  const auto scale = static_cast<double>(call.real("scale"));
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(size));
}

Unlowered attend(LowerCall& call, const Attending& attending) {
  const View &q = attending.q, &k = attending.k, &v = attending.v;
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) return "operands of other ranks";
  if (q.size() == 0 || k.size() == 0 || v.size() == 0) return "without elements";
  if (q.dims[1] % k.dims[1] != 0 || v.dims[1] != k.dims[1]) return "heads that do not share keys evenly";
  if (k.dims[2] != v.dims[2] || k.dims[3] != q.dims[3] || k.dims[0] != q.dims[0] || v.dims[0] != q.dims[0])
    return "the sizes do not fit";
  std::vector<View> inputs = {with_side_by_side_rows(call, q), with_side_by_side_rows(call, k),
                              with_side_by_side_rows(call, v)};
  if (attending.bias) inputs.push_back(*attending.bias);
  const Dims heads = {q.dims[0], q.dims[1], q.dims[2], v.dims[3]};
  const bool joins = attending.joins_heads;
  const View result = call.make(ElementType::float32, joins ? Dims{heads[0], heads[2], heads[1], heads[3]} : heads);
  call.emit(attention_step, std::move(inputs), {joins ? permuted(result, heads_before_rows) : result},
            attending.parameters);
  call.set_output(0, reshaped(result, call.output_dims(0)));
  return std::nullopt;
}

View scores_of(LowerCall& call, const Attending& attending) {
  const std::int64_t groups = attending.k.dims[1], sharing = attending.q.dims[1] / groups;
  constexpr std::int64_t turned[] = {0, 1, 2, 4, 3};
  const View q = by_groups(with_side_by_side_rows(call, attending.q), groups, sharing),
             k = permuted(by_groups(attending.k, groups, sharing), turned);
  const View product = multiplied(call, q, k);
  Expression e;
  e.apply(Operation::multiply, e.input(0, Lane::f32), e.constant(Lane::f32, attending.parameters.scale));
  const View scaled = mapped(call, e, {product}, ElementType::float32, product.dims);
  return reshaped(scaled, {product.dims[0], groups * sharing, product.dims[3], product.dims[4]});
}

}  // namespace onnxkit::plan
