#pragma once

#include <optional>

#include "libonnxkit/cuda/step.h"

namespace onnxkit::cuda {

/// One thing that is done to a sum, the last value of it being instruction `end`.
struct EpilogueLink {
  enum class Kind : std::uint8_t {
    scale,    ///< times `factor`
    times,    ///< times operand `input`
    add,      ///< plus operand `input` times `factor`
    relu,     ///< max(x, 0)
    minimum,  ///< min(x, `factor`)
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
  plan::Expression::Number end = 0;
};

/// What the expression does to its input 0, one after the other, as far as nothing else reads what is between. Nothing for an empty expression.
std::vector<EpilogueLink> links_of(const plan::Expression& expression);

/// The instruction that is input 0; nothing when the expression does not read it, or more than once.
std::optional<plan::Expression::Number> sum_of(const plan::Expression& expression);

/// Whether instruction `at` of the expression computes what `pattern` does to its input 0, which is instruction `x`. Factors and addends may be in
/// either order, constants differ by float32's rounding.
bool computes(const plan::Expression& expression, plan::Expression::Number at, const plan::Expression& pattern,
              plan::Expression::Number x);

/// A map in place on the output that does what the expression does behind instruction `done`. Nothing when it would read what the library overwrote.
std::optional<plan::Step> rest_of(const plan::Step& step, const plan::Expression& expression,
                                  plan::Expression::Number done, const plan::Plan& plan);

/// Whether the bytes of two views may be the same.
bool may_overlap(const plan::Plan& plan, const View& a, const View& b);

/// Bytes that divide the address of a view's first element, at most 256.
std::uint32_t alignment_of(const plan::Plan& plan, const View& view);

}  // namespace onnxkit::cuda
