#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace onnxkit::fuzz {

/// A file fuzz_NAME.cpp: one entry of the library that takes bytes which nobody has checked.
struct Target {
  std::string_view name;  ///< with `fuzz_`
  int (*run)(const std::uint8_t* data, std::size_t size);
  bool takes_models;  ///< libFuzzer changes its inputs as models (mutate_run.cpp)
};

/// Written by CMake from tests/fuzz/CMakeLists.txt.
std::span<const Target> targets();
/// Null where there is none of that name.
const Target* find_target(std::string_view name);

}  // namespace onnxkit::fuzz
