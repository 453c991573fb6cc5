#pragma once

#include <string>
#include <vector>

#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {

/// The operands in the lane of the result, broadcast.
/// `make` writes the expression of the operands, or says why not. At most `most` inputs are operands.
template <class Make>
Unlowered lower_elementwise(LowerCall& call, Make make, std::size_t most = std::size_t(-1)) {
  if (!has_lane(call.output_type(0)))
    return std::string("elements cannot be computed: ") + std::string(name_of(call.output_type(0)));
  Expression expression;
  std::vector<View> inputs;
  std::vector<Expression::Number> operands;
  std::optional<std::size_t> leading;  // its order of axes becomes that of the result
  const Dims dims = call.output_dims(0);
  for (std::size_t i = 0; i < call.input_count() && i < most; ++i) {
    if (!call.has_input(i)) continue;
    if (!has_lane(call.input_type(i)))
      return std::string("elements cannot be computed: ") + std::string(name_of(call.input_type(i)));
    const View& view = call.input(i);
    if (view.rank() > dims.size()) return "the result has fewer axes than an operand";
    if (call.is_constant(i) && view.size() == 1 && (call.constant_real(i) || call.constant_integers(i))) {
      const Lane lane = lane_of(view.type);
      const auto integers = call.constant_integers(i);
      operands.push_back(integers ? expression.integer(integers->front())
                                  : expression.constant(lane, *call.constant_real(i)));
      continue;
    }
    operands.push_back(expression.input(inputs.size(), lane_of(view.type)));
    inputs.push_back(view);
    if (!leading && view.dims == dims && view.is_dense() && !call.is_constant(i)) leading = i;
  }
  if (operands.empty()) return "without operands";
  const Unlowered refused = make(expression, operands);
  if (refused) return refused;
  const ElementType type = call.output_type(0);
  const bool may_wrap = lane_of(type) == Lane::i64 && type != ElementType::int64 && type != ElementType::boolean;
  if (may_wrap) expression.round_to(expression.last(), type);
  const View output = leading ? call.make_output_like(0, call.input(*leading)) : call.make_output(0);
  call.emit_map(expression, std::move(inputs), output);
  return std::nullopt;
}

/// x * sigmoid(alpha * x): SiLU where alpha is 1.
Expression::Number swish_of(Expression& e, Expression::Number x, float alpha = 1);
/// log(1 + e^x).
Expression::Number softplus_of(Expression& e, Expression::Number x);
/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
Expression::Number tanh_gelu(Expression& e, Expression::Number x);

inline bool is_real_lane(const Expression& e, Expression::Number x) { return e.lane(x) != Lane::i64; }

}  // namespace onnxkit::plan
