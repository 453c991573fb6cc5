#pragma once

#include <filesystem>
#include <vector>

namespace onnxkit::plan_cases {

/// The exit status.
int run_steps(const std::vector<std::filesystem::path>& places);

}  // namespace onnxkit::plan_cases
