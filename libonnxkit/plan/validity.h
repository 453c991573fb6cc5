#pragma once

#include <optional>
#include <string>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::checker {
class Collector;
}

namespace onnxkit::plan {

/// Why passes and lowerings may not rely on the model: what is wrong with the structure of its graphs by the rules of the checker, or functions that
/// mean something else than ONNX's operators of their names.
std::optional<std::string> fault_of(const ir::Model& model, const spec::OpTable& operators, bool allow_outside_data);
/// The first error in a graph among what was found.
std::optional<std::string> first_fault(const checker::Collector& found);

}  // namespace onnxkit::plan
