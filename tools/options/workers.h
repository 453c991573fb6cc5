#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// Where backends of other runtimes come from, and what they may take.
struct WorkerOptions {
  std::vector<std::filesystem::path> folders;  ///< of --workers; resolve_workers adds onnxkit's own
  std::string python;                          ///< empty until resolve_workers
  bool own_folder = true;
  std::uint64_t start_limit_ms = 60'000, load_limit_ms = 300'000, run_limit_ms = 300'000;
  std::uint64_t memory_limit = 0;  ///< bytes; 0: none
};

/// `--workers DIR`, `--no-own-workers`, `--python PATH` and `--start-limit TIME`.
void add_workers(CLI::App& command, WorkerOptions& options);

/// `--load-limit TIME`, `--run-limit TIME` and `--worker-memory BYTES`, for commands that run models.
void add_worker_limits(CLI::App& command, WorkerOptions& options);

/// Fills in what the command line left open: the interpreter from ONNXKIT_PYTHON, else python3, and as the last folder that of onnxkit,
/// share/onnxkit/workers beside the program's own.
void resolve_workers(WorkerOptions& options);

}  // namespace onnxkit::tools
