#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libonnxkit/plan/steps.h"
#include "onnxkit/result.h"

// What a file in cuda/steps sees: one step of a plan, for which it writes a kernel or prepares calls of a library.
namespace onnxkit::cuda {

using plan::Dims;
using plan::View;

/// One launch of a generated kernel.
struct Launch {
  /// Parameters and body in CUDA C++: "(const float* a, float* y) { ... }". Sizes and strides are numbers in it, so equal steps have equal texts
  /// and share a kernel. It uses no header, only text/prelude.h and the built-in variables of CUDA, in one dimension.
  std::string text;
  std::vector<View> operands;  ///< a parameter each: a pointer to the view's first element
  std::uint32_t blocks = 1;    ///< of threads; never 0
  std::uint32_t threads = 1;   ///< of a block
  bool synchronizes = false;   ///< the threads of a block meet at barriers or share memory
};

/// What a step may look at while its launches are written.
struct Preparation {
  const plan::Plan& plan;

  bool is_constant(const View& view) const { return plan.buffers[view.buffer].home == plan::Home::constant; }
};

/// Errors: not-supported, with the reason.
using WriteStep = Result<std::vector<Launch>> (*)(const plan::Step& step, const Preparation& preparation);

/// Filled by the register functions of the files in `steps/`.
class StepRegistry {
 public:
  void add(std::string_view kind, WriteStep write) { by_kind_.insert_or_assign(kind, write); }
  /// Null when there is none.
  WriteStep find(std::string_view kind) const {
    const auto found = by_kind_.find(kind);
    return found == by_kind_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, WriteStep> by_kind_;
};

/// All of steps/; made once.
const StepRegistry& step_registry();

}  // namespace onnxkit::cuda
