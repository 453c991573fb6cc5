#pragma once

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_schema.h"
#include "tests/op_cases/case.h"

namespace onnxkit::op_cases {

/// The case's model, or one of a single node: the case's operator at `opset`. Inputs with values become initializers, `shape_of` inputs the output of a Shape
/// node before it, the others graph inputs. The node's outputs are the graph's, without declared types.
/// Throws YAML::Exception when the case cannot be read.
ir::Model make_model(const Case& c, const spec::OpSchema& schema, std::int64_t opset);

/// Type and shape of a case's value: a string ("float[N, 3]") or a mapping with type and shape. Kind none when it states no type.
ir::DeclaredType declared_type(const ValueSpec& value, StringPool& strings);

}  // namespace onnxkit::op_cases
