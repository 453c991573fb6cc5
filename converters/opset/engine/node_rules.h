#pragma once

#include <optional>

#include "converters/opset/engine/inferred_values.h"
#include "converters/opset/engine/step.h"
#include "libonnxkit/spec/op_schema.h"

namespace onnxkit::opset {

/// Why the node is none of that version: an attribute, a number of inputs or outputs, or a known type that the schema does not have. `schema` is null when
/// the operator does not exist in `opset`. `before`: the version that the node satisfies; where it allows other types inference is asked anew for
/// values that conversion made. Null for new nodes.
std::optional<Refusal> unfit(const ir::Node& node, const Scope& scope, const spec::OpSchema* schema, std::int64_t opset,
                             InferredValues& inferred, const spec::OpSchema* before = nullptr);

/// As unfit, of a node that a runtime's addition defines so far: its types may also differ where the version has one for several inputs.
std::optional<Refusal> unfit_addition(const ir::Node& node, const Scope& scope, const spec::OpSchema* schema,
                                      std::int64_t opset, InferredValues& inferred);

/// Leaves out what the node names "" at the end of its inputs and outputs beyond the number that the version takes.
void drop_omitted(const ir::Node& node, const spec::OpSchema& after, Patch& patch);

/// Sets attributes that the node leaves out and whose default differs between the versions to the old default.
void write_old_defaults(const ir::Node& node, const spec::OpSchema& before, const spec::OpSchema& after, Step& step,
                        Patch& patch);

}  // namespace onnxkit::opset
