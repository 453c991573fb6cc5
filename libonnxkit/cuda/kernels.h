#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "libonnxkit/cuda/device.h"
#include "libonnxkit/cuda/kernel_store.h"
#include "libonnxkit/cuda/libraries/nvrtc.h"
#include "libonnxkit/cuda/step.h"

namespace onnxkit::cuda {

/// Kernels as one program.
struct KernelProgram {
  std::string text;
  std::vector<std::string> names;  ///< of the kernels, in the order of the text
};
KernelProgram join_kernels(std::span<const KernelSource> sources);

/// Code on disk, by what it was made from. Files of other processes and damaged ones do no harm: what is not whole is made again.
class CodeCache {
 public:
  static constexpr std::uintmax_t usual_bytes = std::uintmax_t{512} << 20;

  /// "off", a folder, or empty for the usual one: onnxkit/cuda in XDG_CACHE_HOME, else in ~/.cache. Its codes take at most so many bytes.
  explicit CodeCache(std::string_view where, std::uintmax_t most_bytes = usual_bytes);

  /// What is found counts as used now.
  std::optional<std::string> find(const std::string& key) const;
  /// Codes that were not used for longest go where all take more than they may, this one excepted. Errors: those of writing, with the path. A code
  /// that is not kept is made again in the next session.
  Result<void> keep(const std::string& key, const std::string& code) const;

 private:
  std::filesystem::path file_of(const std::string& key) const;
  void make_room(const std::filesystem::path& newest) const;

  std::filesystem::path folder_;  ///< empty: none
  std::uintmax_t most_bytes_;
};

/// What turns launches into functions of a device.
struct KernelMaker {
  std::shared_ptr<const Device> device;
  std::shared_ptr<const Nvrtc> nvrtc;
  std::string architecture;
  bool fuses = true;  ///< multiplication and addition in one rounding
  CodeCache cache;
};

/// What a launch runs.
struct LaunchedKernel {
  DriverFunction function = nullptr;
  std::vector<std::int64_t> numbers = {};  ///< parameters behind all others
};

struct Kernels {
  std::vector<std::shared_ptr<const LoadedModule>> loaded = {};
  std::vector<LaunchedKernel> by_launch = {};
  std::string note = {};  ///< why the code could not be kept
};

/// Called while the device is current. `steps` are those that the launches belong to; an error names the kind. `store`: kernels of other plans; null:
/// all are compiled. Errors: device-failed, with the compiler's log; out-of-memory.
Result<Kernels> make_kernels(const KernelMaker& maker, std::span<const Launch* const> launches,
                             std::span<const plan::Step* const> steps, KernelStore* store = nullptr);

}  // namespace onnxkit::cuda
