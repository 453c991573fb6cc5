#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "onnxkit/context.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// Where backends of other runtimes come from, and what they may take.
struct WorkerOptions {
  WorkerSettings settings = {.python = {}};  ///< as the command line has them
  bool own_folder = true;
};

/// `--workers DIR`, `--no-own-workers`, `--python PATH` and `--start-limit TIME`.
void add_workers(CLI::App& command, WorkerOptions& options);

/// `--load-limit TIME`, `--run-limit TIME`, `--worker-memory BYTES` and `--trust`, for commands that run models.
void add_worker_limits(CLI::App& command, WorkerOptions& options);

/// Prints a warning when limits of worker processes were set and none of the backends runs in one.
void warn_of_unused_limits(const CLI::App& command, const std::vector<std::string>& backends, const Context& context);

/// With what the command line left open: the interpreter from ONNXKIT_PYTHON, else python3, and as the last folder that of onnxkit,
/// share/onnxkit/workers beside the program's own.
WorkerSettings worker_settings(const WorkerOptions& options);

/// The file NAME of share/onnxkit, which came with the program; empty where the program's own place cannot be told.
std::filesystem::path own_file(const std::string& name);

}  // namespace onnxkit::tools
