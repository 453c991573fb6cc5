#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/exec/backend.h"
#include "onnxkit/context.h"

namespace onnxkit::exec {

/// Where backends in processes of their own are found, and what they may take.
struct BackendSettings {
  std::vector<std::filesystem::path> worker_folders = {};
  std::string python = "python3";
  std::chrono::milliseconds start_limit{60'000};
  std::uint64_t process_memory = 0;  ///< bytes; 0: any
  bool trust_files = false;          ///< files may run code when a runtime loads them
  std::stop_token stop = {};
};

/// As a caller of the library sets them.
BackendSettings settings_of(const WorkerSettings& workers, std::stop_token stop = {});

/// A backend that can be made. Making it starts nothing.
struct BackendEntry {
  std::string name;
  std::function<std::unique_ptr<Backend>(const BackendSettings& settings)> make;
  bool listed = true;              ///< among the backends that are asked what is there
  bool named = true;               ///< users choose it by its name
  bool perturbed_samples = false;  ///< has this capability
  bool own_process = false;        ///< likewise
};

/// The backends by name. Each layer with a backend has a file NAME_backend.cpp that exports register_NAME_backend(BackendRegistry&); CMake
/// collects these (libonnxkit/backends), so that a backend edits no existing file.
class BackendRegistry {
 public:
  using Discovery = std::function<std::vector<BackendEntry>(const BackendSettings& settings)>;

  void add(BackendEntry entry);
  /// Backends that are looked for each time; a name that was added wins.
  void add_discovery(Discovery discovery);

  /// Those that were added, then those discovered by name.
  std::vector<BackendEntry> entries(const BackendSettings& settings) const;
  /// By its name, or by a usual short one ("ort"). Error unknown-backend, with the names that users may choose.
  Result<BackendEntry> find(std::string_view name, const BackendSettings& settings) const;
  /// A backend in this process that has perturbed samples; null when there is none.
  std::unique_ptr<Backend> make_perturbed() const;

 private:
  std::vector<BackendEntry> added_;
  std::vector<Discovery> discoveries_;
};

}  // namespace onnxkit::exec
