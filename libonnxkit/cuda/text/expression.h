#pragma once

#include <span>
#include <string>

#include "libonnxkit/cuda/text/element.h"
#include "onnxkit/result.h"

namespace onnxkit::cuda {

/// An expression as statements.
struct ExpressionText {
  std::string statements;  ///< a line each: "    const float v2 = v0 + v1;\n"
  std::string result;      ///< what holds the number: "v2"
  Lane lane = Lane::f32;   ///< of the result
};

/// An input of an expression: an element, or a number that is in a lane already.
struct InputText {
  std::string text;  ///< "x0[c0]"
  ElementType type = ElementType::undefined;
  bool is_number = false;  ///< of the lane of `type`
};

/// Error not-supported.
Result<ExpressionText> write_expression(const plan::Expression& expression, std::span<const InputText> inputs,
                                        std::string_view indent);

}  // namespace onnxkit::cuda
