#pragma once

#include "libonnxkit/spec/version_registry.h"

namespace onnxkit::checker {

using spec::all_versions;
using spec::since;
using spec::VersionRange;
using spec::versions;

class InferContext;
/// Infers one node: reads the context, sets what it knows of the outputs, reports what is provably wrong.
/// Called only when arity and types agree with the schema (unknown types count as agreeing).
using InferFunction = void (*)(InferContext&);

/// Filled by the `register_<basename>` function of each file in checker/ops.
class InferRegistry : public spec::VersionRegistry<InferFunction> {};

/// All of checker/ops; made once.
const InferRegistry& infer_registry();

}  // namespace onnxkit::checker
