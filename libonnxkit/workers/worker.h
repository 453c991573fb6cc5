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

#include "libonnxkit/exec/backend.h"
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

struct WorkerInfo {
  std::string runtime, version;
  std::vector<std::string> devices, formats;
  std::map<std::string, exec::OptionDesc> options;
  std::map<std::string, std::int64_t> opsets;
};

struct LoadedModel {
  std::int64_t id = 0;
  std::vector<exec::ValueDesc> inputs, outputs;
  exec::LoadReport report;
};

struct WorkerRequest {
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
  /// Of the requests from now on.
  void set_limits(const WorkerLimits& limits);
  /// `trusted`: the file may run code, see docs/backends.md.
  Result<LoadedModel> load(const std::filesystem::path& path, const std::string& format,
                           const std::map<std::string, std::string>& options, bool trusted = false);
  /// The values inside a model that a run can give as outputs.
  Result<std::vector<exec::InnerDesc>> inner_values(std::int64_t model);
  Result<exec::RunAnswer> run(const WorkerRequest& request);
  /// Where the time of `request.repeat` runs goes.
  Result<exec::RunProfile> profile(const WorkerRequest& request);
  Result<void> unload(std::int64_t model);
  /// Largest resident size of its process so far; nothing where the system does not tell.
  std::optional<std::uint64_t> peak_bytes() const;
  /// Seconds that its process has computed; nothing where the system does not tell.
  std::optional<double> cpu_seconds() const;
  /// The last lines of its standard output and standard error.
  std::string log() const;

 private:
  class State;
  explicit Worker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace onnxkit::workers
