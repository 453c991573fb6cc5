#pragma once

#include "checker/infer/type.h"
#include "libonnxkit/spec/op_schema.h"

namespace onnxkit::checker {

/// The schema allows this type; unknown parts count as allowed.
bool allows(const spec::TypeSet& allowed, const Type& type);

/// The only tensor, sequence or optional type that the set holds, as a type without shape; unknown when it holds several.
Type only_type(const spec::TypeSet& allowed);

}  // namespace onnxkit::checker
