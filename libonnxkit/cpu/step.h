#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/exec/backend.h"
#include "libonnxkit/plan/host_node.h"
#include "libonnxkit/plan/planned.h"
#include "libonnxkit/plan/steps.h"
#include "onnxkit/result.h"

// What a file in cpu/steps sees: one step of a plan that is made ready once and runs often.
namespace onnxkit::cpu {

using plan::Dims;
using plan::View;

/// One run of a plan.
struct RunState {
  ThreadPool* threads = nullptr;
  std::byte* const* bases = nullptr;  ///< by buffer; null for slots
  Value* slots = nullptr;
  const plan::PlannedRun* run = nullptr;
  std::optional<Error> error;  ///< a step that fails says so here, and the run ends

  template <class T>
  T* at(const View& view) const {
    return reinterpret_cast<T*>(bases[view.buffer]) + view.offset;
  }
};

/// A step that is ready to run: operands checked, weights packed.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  virtual void run(RunState& state) = 0;
  /// That it holds from one run to the next in proportion to operands that are no constants.
  virtual std::uint64_t held_bytes() const { return 0; }
  /// That it takes while it runs, in proportion to its operands.
  virtual std::uint64_t scratch_bytes() const { return 0; }
};

/// Memory for weights and values: large blocks lie on a boundary of huge pages and ask for them. Not initialised.
struct FreeBlock {
  void operator()(std::byte* memory) const;
};
using Block = std::unique_ptr<std::byte, FreeBlock>;
/// Throws std::bad_alloc.
Block make_block(std::size_t bytes);

/// Floats on a boundary of 64 bytes, where kernels are fastest.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(float)), memory_(make_block(bytes_)) {}
  std::size_t bytes() const { return bytes_; }
  float* data() { return reinterpret_cast<float*>(memory_.get()); }

  bool has_finite_weights = false;  ///< of what is packed in it, where that was looked at

 private:
  std::size_t bytes_;
  Block memory_;
};

/// Weights that were packed for one plan and that others of the session use as well. They live as long as a plan uses them: names hold addresses,
/// which belong to other weights once the plan that made them is gone.
class PackedWeights {
 public:
  using Floats = std::shared_ptr<AlignedFloats>;
  /// What was packed under this name, else what `pack` makes. Nothing is shared without a name.
  template <class Pack>
  Floats get(const std::string& key, Pack pack) {
    if (key.empty()) return pack();
    const auto found = packed_.find(key);
    Floats floats = found == packed_.end() ? nullptr : found->second.lock();
    if (floats) return floats;
    if (packed_.size() >= most_) {
      std::erase_if(packed_, [](const auto& entry) { return entry.second.expired(); });
      most_ = 2 * packed_.size() + 1;
    }
    floats = pack();
    packed_[key] = floats;
    return floats;
  }

 private:
  std::unordered_map<std::string, std::weak_ptr<AlignedFloats>> packed_;
  std::size_t most_ = 0;  ///< before those that are gone are looked for
};

/// A name for weights as they are packed, which tells them apart from all others of a plan.
struct WeightKey {
  std::string name;
  bool is_lasting = false;  ///< so that it means the same in all plans of a session
};

/// Numbers at data() + i * strides[0] + ...: those of the model's file, at any address, or widened copies.
struct StoredFloats {
  const float* from = nullptr;
  Dims strides;
  std::vector<float> widened;

  const float* data() const { return from ? from : widened.data(); }
};

/// None is an infinity or NaN. They may be at any address.
bool are_finite(const float* numbers, std::int64_t count);
/// All elements of a view in row-major order; `from` is where the view begins.
std::vector<float> row_major_floats(const std::byte* from, const View& view);

/// What kernels may look at while they are made.
struct Preparation {
  const plan::Plan& plan;
  PackedWeights& packed;
  ThreadPool& threads;
  exec::Backend& host;
  const exec::LoadOptions& options;
  std::vector<std::uint32_t> packed_reads;  ///< by buffer: inputs of steps that need it no longer
  std::uint64_t packed_bytes = 0;           ///< of all that kernels hold so far
  bool packs_anew = false;                  ///< something was packed, not found, so that its pages are in memory
  std::unordered_map<std::string, PackedWeights::Floats> packed_here = {};  ///< what steps of this plan use, by names
  plan::HostSteps host_steps = plan::HostSteps(plan);

  /// What was packed under this name for this plan, or for another one of the session, else what `pack` makes.
  template <class Pack>
  PackedWeights::Floats pack_once(const WeightKey& key, Pack pack) {
    PackedWeights::Floats& floats = packed_here[key.name];
    if (floats) return floats;
    floats = packed.get(key.is_lasting ? key.name : std::string(), [&] {
      packs_anew = true;
      return pack();
    });
    packed_bytes += floats->bytes();
    return floats;
  }

  bool is_constant(const View& view) const { return plan.buffers[view.buffer].home == plan::Home::constant; }
  /// Weights of the model's file and of a generic model lie at one place for all plans of a session that have them; others that a pass made belong to
  /// one plan and may be gone before it is.
  bool is_lasting(const Tensor& content) const;
  /// A copy on a boundary of 64 bytes.
  PackedWeights::Floats aligned(const Tensor& content);
  /// Of what is packed from a constant operand.
  WeightKey weight_key(std::string_view how, const View& view) const;
  /// The kernel keeps the operand in a form of its own.
  void is_packed(const View& view) { ++packed_reads[view.buffer]; }
  /// The numbers of a constant operand of float16, bfloat16 or float32.
  /// `in_rows`: in row-major order; else with the strides that the answer names.
  StoredFloats stored(const View& view, bool in_rows = false) const;
};

using MakeKernel = Result<std::unique_ptr<Kernel>> (*)(const plan::Step& step, Preparation& preparation);
/// Why the kernel does not run a step; nothing when it does.
using Refuse = std::optional<std::string> (*)(const plan::Plan& plan, const plan::Step& step);

/// Filled by the register functions of the files in `steps/`.
class KernelRegistry {
 public:
  struct Row {
    MakeKernel make = nullptr;
    Refuse refuse = nullptr;
  };
  /// `refuse` is null for a kernel that runs all that lowerings and passes make.
  void add(const plan::StepKind& kind, MakeKernel make, Refuse refuse = nullptr) {
    by_kind_.insert_or_assign(kind.name, Row{make, refuse});
  }
  /// Null when there is none.
  MakeKernel find(const plan::StepKind& kind) const {
    const auto found = by_kind_.find(kind.name);
    return found == by_kind_.end() ? nullptr : found->second.make;
  }
  /// As plan::Takes.
  std::optional<std::string> refusal(const plan::Plan& plan, const plan::Step& step) const;

 private:
  std::unordered_map<std::string_view, Row> by_kind_;
};

/// All of steps/; made once.
const KernelRegistry& kernel_registry();

}  // namespace onnxkit::cpu
