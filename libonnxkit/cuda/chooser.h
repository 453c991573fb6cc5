#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "libonnxkit/cuda/kernels.h"
#include "libonnxkit/cuda/step.h"
#include "libonnxkit/cuda/stopwatch.h"

namespace onnxkit::cuda {

/// What computes a step: a library, with a map behind it, or generated kernels.
struct Chosen {
  std::optional<LibraryStep> library;
  std::string by;  ///< for the text of the plan
};

/// Chooses what computes the steps of a plan. Used while the device is current.
class Chooser {
 public:
  Chooser(std::span<const std::unique_ptr<Library>> libraries, const KernelMaker& maker)
      : libraries_(libraries), maker_(maker) {}

  /// The first library that takes the step, unless a generated kernel is known to be faster; with a stopwatch the fastest of what there is.
  Result<Chosen> choose(const plan::Step& step, const Preparation& preparation);

 private:
  /// The number of the fastest of the libraries, their count for the generated kernel.
  Result<std::size_t> fastest(const plan::Step& step, const Preparation& preparation, std::span<LibraryStep> made,
                              bool has_kernel);

  std::span<const std::unique_ptr<Library>> libraries_;
  const KernelMaker& maker_;
  std::map<std::string, std::size_t> measured_;  ///< by description of the step
};

/// Whether a product reads many constant weights for few rows, so that its generated kernel is as fast as the memory is.
bool is_for_few_rows(const plan::Step& step, const Preparation& preparation);

}  // namespace onnxkit::cuda
