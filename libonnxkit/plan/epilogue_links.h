#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libonnxkit/plan/expression.h"

namespace onnxkit::plan {

/// One thing that an epilogue does to a sum, the last value of it being instruction `end`.
struct EpilogueLink {
  enum class Kind : std::uint8_t {
    scale,    ///< times `factor`
    times,    ///< times operand `input`
    add,      ///< plus operand `input` times `factor`
    relu,     ///< max(x, 0); `factor` is 0
    maximum,  ///< max(x, `factor`), which is neither 0 nor NaN
    minimum,  ///< min(x, `factor`), which is not NaN
    sigmoid,
    tanh,
    gelu_tanh,  ///< in its form with tanh
    gelu_erf,
    swish,     ///< x sigmoid(x)
    round_to,  ///< to `type`
  };
  Kind kind = Kind::scale;
  double factor = 1;
  std::size_t input = 0;  ///< of the expression
  ElementType type = ElementType::undefined;
  Expression::Number end = 0;
};

/// What the expression does to its input 0, one after the other, as far as nothing else reads what is between. Nothing for an empty expression.
std::vector<EpilogueLink> epilogue_links_of(const Expression& expression);

/// The instruction that is input 0; nothing when the expression does not read it, or more than once.
std::optional<Expression::Number> sum_of(const Expression& expression);

}  // namespace onnxkit::plan
