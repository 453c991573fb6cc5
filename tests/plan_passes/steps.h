#pragma once

#include <filesystem>
#include <vector>

namespace onnxkit::plan_cases {

/// The exit status.
int run_steps(std::size_t every, const std::vector<std::filesystem::path>& places);

}  // namespace onnxkit::plan_cases
