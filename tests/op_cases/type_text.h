#pragma once

#include <string_view>

#include "libonnxkit/base/text/string_pool.h"
#include "libonnxkit/ir/type.h"
#include "onnxkit/element_type.h"

namespace onnxkit::op_cases {

/// "f32", "i64", "bool", "bf16" ... or an ONNX name. Throws YAML::Exception for others.
ElementType parse_element_type(std::string_view text);

/// "float[N, 3]", "float[]", "float" (unknown rank), "seq(float[N])", "optional(...)", "map(int64, float)", "sparse(float[3])".
/// Texts that the result refers to are kept in `strings`. Throws YAML::Exception.
ir::DeclaredType parse_type(std::string_view text, StringPool& strings);

/// "?" or "_" leaves a dimension open, a number is a size, anything else a symbolic expression.
ir::DeclaredDim parse_dim(std::string_view text, StringPool& strings);

}  // namespace onnxkit::op_cases
