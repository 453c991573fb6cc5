#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "libonnxkit/cuda/device.h"
#include "libonnxkit/cuda/step.h"
#include "libonnxkit/cuda/text/kernel_form.h"

namespace onnxkit::cuda {

/// What a kernel is compiled from: launches of equal sources share one.
struct KernelSource {
  std::string text;
  std::uint32_t threads = 1;
  bool synchronizes = false, spends_registers = false;

  std::string key() const;
};

KernelSource source_of(const Launch& launch);

/// A kernel that the driver has loaded.
struct LoadedKernel {
  std::shared_ptr<const LoadedModule> loaded;
  DriverFunction function = nullptr;
};

/// The kernels of the plans of a session, so that a plan compiles only those that no living plan has. Sizes are numbers in the text of a kernel: for
/// the third size that a step is met with, the numbers that changed become parameters of one kernel for all further sizes; then also for the second
/// size of other forms, as those of sizes that divide by four are.
class KernelStore {
 public:
  /// Of a launch: what it is compiled from, the numbers that are its last parameters, and the kernel where a living plan has it.
  struct Wanted {
    KernelSource source;
    std::vector<std::int64_t> numbers = {};
    std::optional<LoadedKernel> held = {};
  };
  /// What comes next belongs to another plan.
  void begin_plan();
  /// `step`: that the launch is for.
  Wanted wanted(const Launch& launch, const plan::Step& step);
  /// That of a living plan.
  std::optional<LoadedKernel> find(const KernelSource& source) const;
  void keep(const KernelSource& source, const LoadedKernel& kernel);
  /// Numbers are parameters no longer: a program with such kernels does not compile.
  void give_up_parameters() { has_parameters_ = false; }

 private:
  struct Form {
    std::vector<std::int64_t> first, last;  ///< numbers that it was met with
    std::vector<bool> varies;
    int sizes = 1;
  };
  struct Held {
    std::weak_ptr<const LoadedModule> loaded;
    DriverFunction function = nullptr;
  };

  std::unordered_map<std::string, int> met_;  ///< launches for nodes in the plan that is being made
  /// By place, which is nodes and how many launches for them come before in a plan: the hash of the text that the last plan had there, and by form as
  /// well what is known of it.
  std::unordered_map<std::string, std::size_t> texts_;
  std::unordered_map<std::string, Form> forms_;
  std::unordered_map<std::string, Held> held_;
  std::size_t most_held_ = 0;                              ///< before those that are gone are looked for
  bool has_parameters_ = true, goes_on_changing_ = false;  ///< a step was met with a third size
};

}  // namespace onnxkit::cuda
