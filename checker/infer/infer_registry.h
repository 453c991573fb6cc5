#pragma once

#include "checker/infer/infer_traits.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
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
class InferRegistry : public spec::VersionRegistry<InferFunction, InferTraits> {};

/// All of checker/ops; made once.
const InferRegistry& infer_registry();

/// What is known of the operator of a node where these opsets are imported; nothing where the operator is not known.
const InferTraits& traits_of(const ir::Node& node, std::span<const ir::OpsetImport> opsets, const spec::OpTable& table);

}  // namespace onnxkit::checker
