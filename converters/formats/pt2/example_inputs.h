#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnxkit/element_type.h"

namespace onnxkit::pt2 {

/// Type and sizes of an input in an example run.
struct ExampleInput {
  ElementType elem = ElementType::undefined;
  std::vector<std::int64_t> dims;
};

/// An archive of torch.save with the arguments of an example run, all of them zeros: what compilers of programs start from. Its pickle names tensors
/// and their storages only, so it loads with weights_only. Empty where an input has a type without storages, or all of them take more than 16 MiB.
std::string example_inputs(const std::vector<ExampleInput>& inputs);

}  // namespace onnxkit::pt2
