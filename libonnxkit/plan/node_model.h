#pragma once

#include <cstddef>
#include <vector>

#include "libonnxkit/ir/extract.h"
#include "libonnxkit/plan/subject.h"

namespace onnxkit::plan {

/// One node of the subject: its inputs are what it reads, in its bodies too, but for constants.
ir::Part part_of_node(const Subject& subject, std::size_t node);
/// The part as a model of its own, whose inputs and outputs have the types that are known of them. Lives as long as the subject's.
ir::Model part_model(const Subject& subject, const ir::Part& part, const std::vector<ir::ValueId>& outputs);

}  // namespace onnxkit::plan
