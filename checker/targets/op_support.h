#pragma once

#include <memory>
#include <span>
#include <vector>

#include "checker/targets/profile.h"
#include "libonnxkit/spec/op_schema.h"
#include "onnxkit/ops.h"

namespace onnxkit::checker {

/// How each target stands to the version of an operator that is in force in the opsets `schema.since_version` to `until`.
std::vector<OpSupport> support_of(std::span<const std::shared_ptr<const TargetProfile>> profiles,
                                  const spec::OpSchema& schema, std::optional<std::int64_t> until);

}  // namespace onnxkit::checker
