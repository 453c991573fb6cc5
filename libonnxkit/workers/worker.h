#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "onnxkit/result.h"
#include "onnxkit/value.h"

// The host's side of docs/worker-protocol.md: other people's runtimes, each in a process of its own.
namespace onnxkit::workers {

/// A backend that a program can offer.
struct WorkerProgram {
  std::string name;
  std::vector<std::string> command;  ///< program and arguments
};

/// All programs in the folders, by name; the first folder that has a name wins. `python` runs the .py files.
std::vector<WorkerProgram> find_workers(std::span<const std::filesystem::path> folders, const std::string& python);

/// How long each step may take, and what memory. A worker that goes beyond is ended.
struct WorkerLimits {
  std::chrono::milliseconds start{60'000};  ///< until the answer to hello
  std::chrono::milliseconds load{300'000};
  std::chrono::milliseconds run{300'000};
  std::uint64_t memory = 0;  ///< resident bytes of the process group; 0: none
  std::stop_token stop = {};
};

struct WorkerOption {
  std::string help, fallback;
  std::vector<std::string> values;  ///< empty: any text
};

struct WorkerInfo {
  std::string runtime, version;
  std::vector<std::string> devices, formats;
  std::map<std::string, WorkerOption> options;
  std::map<std::string, std::int64_t> opsets;
};

struct Port {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  ElementType type = ElementType::undefined;
  bool has_shape = false;
  std::vector<std::int64_t> dims;  ///< -1 where unknown or symbolic
  bool optional = false;
};

struct LoadedModel {
  std::int64_t id = 0;
  std::vector<Port> inputs, outputs;
  std::vector<std::string> warnings;
  std::string
      arithmetic;  ///< that products and sums of float32 are computed in: "float32", "tf32" ...; empty where unknown
  double seconds = 0;
};

struct Sample {
  double wall = 0;            ///< seconds
  std::optional<double> cpu;  ///< seconds of the whole process
};

struct WorkerRun {
  std::vector<NamedValue> outputs;
  std::vector<Sample> samples;
};

struct RunRequest {
  std::int64_t model = 0;
  std::span<const NamedValue> inputs = {};
  std::vector<std::string> outputs = {};  ///< empty: all
  int repeat = 1, warmup = 0;
};

/// A running worker. After an error of kind crash, timeout, memory or protocol it is gone and every call gives that error again. Error codes:
/// worker-start (not found, or ended before hello), worker-unavailable, worker-crashed, worker-timeout, worker-memory, worker-protocol, cancelled;
/// worker-unsupported, worker-invalid and worker-failed leave it alive. The last lines that it printed are notes of the error.
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> start(const WorkerProgram& program, const WorkerLimits& limits);
  /// Asks it to quit, then ends its process group.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const WorkerInfo& info() const;
  Result<LoadedModel> load(const std::filesystem::path& path, const std::string& format,
                           const std::map<std::string, std::string>& options);
  Result<WorkerRun> run(const RunRequest& request);
  Result<void> unload(std::int64_t model);
  /// The last lines of its standard output and standard error.
  std::string log() const;

 private:
  class State;
  explicit Worker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace onnxkit::workers
