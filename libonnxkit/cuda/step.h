#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libonnxkit/plan/steps.h"
#include "onnxkit/result.h"

// What a file in cuda/steps sees: one step of a plan, for which it writes a kernel or prepares calls of a library.
namespace onnxkit::cuda {

class Stopwatch;

using plan::Dims;
using plan::View;

/// One launch of a generated kernel.
struct Launch {
  /// Parameters and body in CUDA C++: "(const float* a, float* y) { ... }". Sizes and strides are numbers in it, so equal steps have equal texts and
  /// share a kernel. It uses no header, only text/prelude.h and the built-in variables of CUDA, in one dimension.
  std::string text;
  std::vector<View> operands = {};  ///< a parameter each: a pointer to the view's first element
  std::vector<bool> writes = {};    ///< by operand: whether the kernel may write it
  std::uint32_t blocks = 1;         ///< of threads; never 0
  std::uint32_t threads = 1;        ///< of a block
  bool synchronizes = false;        ///< the threads of a block meet at barriers or share memory
  bool spends_registers = false;    ///< many loads at a time are worth more than many threads
  /// What is wrong with the run when the kernel has set *fault to 1: it has a parameter `unsigned* fault` behind those of the operands then. Empty:
  /// nothing can be wrong.
  std::string fault = {};

  void add_operand(const View& view, bool is_written);
  /// The inputs of a step, then its outputs, which are written.
  void add_operands(const plan::Step& step);
};

/// What a step may look at while its launches are written.
struct Preparation {
  const plan::Plan& plan;
  bool allows_tf32 = false;                                ///< factors of float32 may be rounded to TF32
  std::uint64_t most_workspace = std::uint64_t{64} << 20;  ///< bytes that one call of a library may ask for
  Stopwatch* stopwatch = nullptr;                          ///< null: libraries choose engines by their own rules

  bool is_constant(const View& view) const { return plan.buffers[view.buffer].home == plan::Home::constant; }
};

/// A step that a library computes in place of generated kernels, ready for a device. Steps of equal description may share what is behind it.
class LibraryCall {
 public:
  LibraryCall() = default;
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
  virtual ~LibraryCall() = default;

  /// Of which it wants pointers, to the view's first element each. Every buffer lies at a multiple of 256 bytes, those of the arena at their
  /// offset from one.
  virtual const std::vector<View>& operands() const = 0;
  /// The one of them that it writes; nothing but its bytes and those of the workspace changes.
  virtual std::size_t result() const = 0;
  /// Of device memory that nobody else uses while it runs, at a multiple of 256 bytes.
  virtual std::uint64_t workspace_bytes() const = 0;
  /// For the text of a plan: "cublaslt", "cudnn engine 5".
  virtual std::string text() const = 0;
  /// Allocates nothing and does not wait for the device, so a capture of the stream records it. `stream` is a CUstream whose context, the primary
  /// one of its device, is current.
  virtual Result<void> enqueue(void* stream, std::span<void* const> operands, void* workspace) = 0;
};

/// What a library makes of a step: a call, and a map in place on its output for what of the epilogue it cannot do.
struct LibraryStep {
  std::unique_ptr<LibraryCall> call;
  std::optional<plan::Step> rest = {};
};

/// A library of products or convolutions, opened for the current context; one thread at a time.
class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;

  virtual std::string_view name() const = 0;
  virtual bool takes(const plan::StepKind& kind) const = 0;
  /// Error not-supported, with the reason: generated kernels take the step.
  virtual Result<LibraryStep> prepare(const plan::Step& step, const Preparation& preparation) = 0;
};

/// Errors: not-supported, with the reason.
using WriteStep = Result<std::vector<Launch>> (*)(const plan::Step& step, const Preparation& preparation);

/// Filled by the register functions of the files in `steps/`.
class StepRegistry {
 public:
  void add(const plan::StepKind& kind, WriteStep write) { by_kind_.insert_or_assign(kind.name, write); }
  /// Null when there is none.
  WriteStep find(const plan::StepKind& kind) const {
    const auto found = by_kind_.find(kind.name);
    return found == by_kind_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, WriteStep> by_kind_;
};

/// All of steps/; made once.
const StepRegistry& step_registry();

}  // namespace onnxkit::cuda
