#pragma once

#include <optional>
#include <string>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::checker {
class Collector;
}

namespace onnxkit::plan {

/// What is wrong with the structure of the model's graphs, by the rules of the checker; nothing for what passes and lowerings may rely on.
std::optional<std::string> fault_of(const ir::Model& model, const spec::OpTable& operators, bool allow_outside_data);
/// The first error in a graph among what was found.
std::optional<std::string> first_fault(const checker::Collector& found);

}  // namespace onnxkit::plan
