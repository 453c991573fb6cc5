#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/step.h"
#include "tests/cuda_host/fibres.h"

// Generated kernels compiled by the host's compiler and run on the host: threads of a block are fibres that meet at barriers.
namespace onnxkit::tests {

/// A step with memory for its operands.
class HostStep {
 public:
  explicit HostStep(plan::Step step);

  /// A view of a new buffer.
  static plan::View view(std::uint32_t buffer, ElementType type, plan::Dims dims);

  plan::Step step;
  plan::Plan plan;                             ///< its buffers
  std::vector<std::vector<std::byte>> memory;  ///< by buffer
  std::vector<cuda::Launch> launches;
  bool passes_numbers = false;  ///< all numbers of the kernels are parameters
  std::string error;

  double real(const plan::View& view, std::int64_t at) const;  ///< of the element at this place of the buffer
  std::span<std::int64_t> integers(std::size_t input);         ///< of the buffer of an input of int64
  /// The kernels see what the buffer of this input holds now.
  void make_constant(std::size_t input);

 private:
  void write();
};

/// Kernels that are compiled together.
class HostProgram {
 public:
  void add(HostStep& step);
  /// The compiler's complaint, else nothing. The folder ONNXKIT_KERNEL_TEXTS, if any, gets the program as NVRTC would.
  std::string compile();
  /// Threads run in their order, or the other way round. What is wrong, else nothing.
  std::string run(HostStep& step, bool backwards = false);

  static std::string source(const std::vector<cuda::Launch>& launches);

 private:
  std::map<std::string, std::string> names_;  ///< of kernels by text
  std::map<std::string, unsigned> threads_;
  std::set<std::string> numbered_;  ///< texts whose numbers are parameters
  void* library_ = nullptr;
  cuda_host::Fibres fibres_;
};

}  // namespace onnxkit::tests
