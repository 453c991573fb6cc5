#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/exec/session_context.h"
#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/plan.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// What runs a model (docs/running.md): the reference, fast executors in this process, other people's runtimes in processes of their own, and
// outputs that were recorded. `run`, `diff` and what comes see these classes only; registry.h finds a backend by its name.
namespace onnxkit::exec {

class PerturbedSamples;
class ProductDevice;

// ---- what a backend is

/// How far results are rounded between nodes.
enum class MathMode : std::uint8_t {
  declared,   ///< every node's output to its declared type, in the arithmetic that the backend has for it
  unrounded,  ///< float16, bfloat16 and float32 stay double, and outputs of these types come out as float64
};

/// The smallest part of a model whose time and memory a backend tells.
enum class ProfileDetail : std::uint8_t {
  none,
  node,  ///< each node of the model
  step,  ///< each step of the backend's own program, which may cover several nodes
};

/// What a backend offers beyond a run from inputs to outputs. Callers ask for these, never for a backend's name.
struct Capabilities {
  bool in_memory = false;          ///< takes models in memory; others load files
  bool own_process = false;        ///< its crashes, memory and time are apart from ours
  bool replays = false;            ///< gives stored outputs by RunRequest::set and computes nothing
  bool taps = false;               ///< RunRequest::taps
  bool perturbed_samples = false;  ///< Session::perturbed; its own results are exact but for the rounding of each node
  /// Of the plans that it makes, in the order in which they run: the option `without-pass` leaves out those named in it, + between them.
  std::vector<std::string> passes = {};
  ProfileDetail profile = ProfileDetail::none;
  std::vector<MathMode> math_modes = {MathMode::declared};
};

struct OptionDesc {
  std::string help, fallback;
  std::vector<std::string> values;  ///< empty: any text, or any number where `fallback` is one
  std::optional<int> most = {};     ///< of a whole number, 0 or more
};

struct BackendDesc {
  std::string name, runtime, version;
  std::string title;  ///< runtime and version as reports show them
  std::vector<std::string> devices, formats;
  std::map<std::string, OptionDesc> options;
  std::map<std::string, std::int64_t> opsets;  ///< the newest by domain, where they are known
  std::string arithmetic;                      ///< of float32, where it is known before a model is loaded
  Capabilities capabilities;
};

// ---- what it loads

/// A model in memory, a file, or outputs that were recorded.
struct ModelSource {
  std::shared_ptr<const ir::Model> model = nullptr;
  /// With a model: the binary file that it was read from and still equals; empty for one that was changed or came from elsewhere. Without: a
  /// file or folder of another framework. Of recorded outputs: the folder with output_0.pb ..., or with folders test_data_set_* of these.
  std::filesystem::path path = {};
  std::string format = "onnx";                         ///< of `path`, as in docs/worker-protocol.md
  std::vector<std::vector<NamedValue>> recorded = {};  ///< outputs for each set of inputs
};

/// 0: none.
struct RunLimits {
  std::uint64_t memory = 0;            ///< bytes of values alive at once
  std::chrono::milliseconds time{0};   ///< of each run; in a process of its own of all runs of the request
  std::uint64_t iterations = 0;        ///< of one Loop, Scan or SequenceMap
  std::chrono::milliseconds spent{0};  ///< of `time`, before the request: on its inputs

  /// What is left of `time` for a backend that wants it as a duration: at least a millisecond; 0: no limit.
  std::chrono::milliseconds remaining() const {
    constexpr std::chrono::milliseconds shortest(1);
    return time.count() == 0 ? time : std::max(time - spent, shortest);
  }
  /// When a run that begins at `start` is late.
  std::chrono::steady_clock::time_point deadline(std::chrono::steady_clock::time_point start) const {
    return time.count() == 0 ? std::chrono::steady_clock::time_point::max() : start + time - spent;
  }
};

struct LoadOptions {
  std::shared_ptr<SessionContext> context = nullptr;     ///< null: the session has one of its own
  std::shared_ptr<const spec::OpTable> table = nullptr;  ///< null: the operators that onnxkit knows
  std::map<std::string, std::string> options = {};       ///< of the backend
  std::string device = {};                               ///< one of its devices; empty: its choice
  MathMode math = MathMode::declared;
  int threads = 0;  ///< of a backend in this process whose option "threads" is not given; 0: all cores that it may use
  /// Shapes of inputs that are known before the first run: backends that plan for shapes may use them.
  std::map<std::string, std::vector<std::int64_t>> shapes = {};
  /// Bytes of weights and other constants that a session may keep from run to run, ready to compute with. Runs with a memory limit neither
  /// keep nor use them.
  std::uint64_t kept_bytes = 0;
  std::shared_ptr<ProductDevice> products =
      nullptr;                              ///< multiplies large matrices for the reference; null: its threads do
  bool allow_outside_data = false;          ///< external data may lie outside the model's folder
  std::chrono::milliseconds time_limit{0};  ///< of loading; 0: none. Kept by backends in processes of their own
  /// Of the run that the model is loaded for, where the caller knows it: its time begins with load(). Backends that plan in this process keep them.
  RunLimits limits = {};
  std::stop_token stop = {};
};
/// What is enough for most networks and little for a machine that runs them often.
inline constexpr std::uint64_t usual_kept_bytes = std::uint64_t{1} << 30;

/// What loading a model told.
struct LoadReport {
  std::vector<std::string> warnings = {};
  std::string arithmetic =
      {};  ///< that products and sums of float32 are computed in: "float32", "tf32" ...; empty where unknown
  double seconds = 0;
};

// ---- what a session runs

/// One node has run.
struct NodeEvent {
  const ir::Graph* graph;
  std::size_t node;
  std::chrono::nanoseconds wall;
  std::uint64_t live_bytes;  ///< of all values alive when it ended, but for constants kept from earlier runs
  std::size_t depth = 0;     ///< how many nodes hold it, whose bodies or functions it belongs to
};

using ValueCallback = std::function<Result<void>(std::string_view name, const Value& value)>;

/// As every backend in this process says it.
Error cancelled_run();
Error late_run(std::chrono::milliseconds limit);

struct RunRequest {
  std::vector<NamedValue> inputs =
      {};  ///< by name, in any order; one of kind none or without a value takes its default
  std::vector<std::string> outputs = {};  ///< wanted, in this order; empty: all
  std::vector<std::string> taps = {};     ///< values inside the main graph for on_value, where the backend has taps
  std::size_t set = 0;         ///< number of the inputs among all that the caller has, which recorded outputs go by
  std::string set_name = {};   ///< what messages call these inputs
  int repeat = 1, warmup = 0;  ///< measured runs, at least one, and unmeasured ones before them
  bool is_measured = true;     ///< false: the answer needs no samples; clocks of a process take longer than small nodes
  std::uint64_t seed = 0;      ///< of random operators that name none themselves
  RunLimits limits = {};
  std::stop_token stop = {};
  ValueCallback on_value = {};                               ///< taps, as soon as they exist; an error ends the run
  std::function<void(const NodeEvent& event)> on_node = {};  ///< where the backend tells profiles by node
};

struct RunSample {
  double wall = 0;                    ///< seconds
  std::optional<double> cpu = {};     ///< seconds of the whole process
  std::optional<double> device = {};  ///< seconds of the work on the device, without copies from and to the host
};

struct RunAnswer {
  std::vector<NamedValue> outputs;  ///< of the last run
  std::vector<RunSample> samples;   ///< one for each measured run
  /// The most memory of a device that the session, or the process it lives in, has held so far; nothing where it runs on the host or does not know.
  std::optional<std::uint64_t> device_bytes = {};
};

/// What a session made of its model, for backends that plan.
struct PlanReport {
  std::string text;                ///< the steps of all plans so far
  std::vector<std::string> notes;  ///< what ran elsewhere than meant: "Unique runs on the reference: ..."
  std::vector<PlanPart> parts;     ///< what passes did, and the steps, of each plan
};

/// When a step ran.
struct StepSpan {
  std::optional<double> start = {};  ///< seconds since the run began, where that is known
  double seconds = 0;                ///< of its own, without those of steps inside it
};

/// A part of a run that a backend timed: a node, nodes that it fused, or work that it added.
struct StepTime {
  std::string name, op;  ///< in the backend's words
  std::vector<std::string> covers =
      {};  ///< nodes of the main graph that it computes, by their names or values that they write
  /// Of a node without a name, among those of the main graph that are no Constant.
  std::optional<std::uint64_t> place = {};
  std::optional<std::uint64_t> bytes = {};  ///< read and written in all its calls, where the backend tells
  std::uint64_t calls = 1;                  ///< in one run: more within loops
  double products =
      0;  ///< multiplications with additions that it makes: steps that compute one node share its work by these
  std::vector<StepSpan> spans = {};  ///< one for each run
};

struct RunProfile {
  std::vector<StepTime> steps;  ///< in the order of execution
  std::vector<double> walls;    ///< seconds of each run, slowed by the timing
  std::string device = "cpu";   ///< where the steps ran
};

/// A model that is ready to run. It owns, alone or with others, all that it needs. One run at a time.
class Session {
 public:
  virtual ~Session() = default;
  virtual const std::vector<ValueDesc>& inputs() const = 0;
  virtual const std::vector<ValueDesc>& outputs() const = 0;
  virtual const LoadReport& loaded() const = 0;
  /// Errors: unknown-input, unknown-value, input-missing, input-type, input-shape, undefined-for-type, memory-limit, time-limit,
  /// iteration-limit, cancelled, not-supported, kernel; no-answer; those of workers/worker.h.
  virtual Result<RunAnswer> run(const RunRequest& request) = 0;
  /// Where the time of `request.repeat` runs goes, `request.warmup` runs after the start. Errors: those of run; not-supported.
  virtual Result<RunProfile> profile(const RunRequest& request);
  /// The values inside the model that a run of this session can give as outputs, by RunRequest::outputs, in an order of execution. Errors:
  /// not-supported; those of workers/worker.h.
  virtual Result<std::vector<InnerDesc>> inner_values() {
    return make_error("not-supported", "this backend tells nothing of the values inside a model");
  }
  /// Largest resident size so far of the process that the model runs in, where that is another than ours.
  virtual std::optional<std::uint64_t> peak_bytes() const { return std::nullopt; }
  /// Seconds that this process has computed so far, on all processors.
  virtual std::optional<double> process_cpu_seconds() const { return std::nullopt; }
  /// The plans that were made so far; nothing where the backend makes none.
  virtual std::optional<PlanReport> plan_report() const { return std::nullopt; }
  /// Null where the backend has no such capability. Lives as long as the session.
  virtual PerturbedSamples* perturbed() { return nullptr; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// Starts what has to be asked. Errors: why the backend is not available here.
  virtual Result<BackendDesc> describe() = 0;
  /// Errors: unknown-option, not-supported, no-graph, no-model, those of external data and of the runtime.
  virtual Result<std::unique_ptr<Session>> load(const ModelSource& source, const LoadOptions& options) = 0;
  /// The last lines that it printed, where it has a process of its own.
  virtual std::string log() const { return {}; }
};

/// Whether a backend as described takes these options. Error unknown-option.
Result<void> check_options(const BackendDesc& backend, const std::map<std::string, std::string>& options);

/// Whether a backend as described can load this at all: format, options and their values, device, math mode. Errors: unknown-option,
/// not-supported.
Result<void> check_load(const BackendDesc& backend, const ModelSource& source, const LoadOptions& options);

/// The values in the order of `inputs`, kind none where the request has none. Error: unknown-input.
Result<std::vector<Value>> arrange(const std::vector<ValueDesc>& inputs, const std::vector<NamedValue>& given);

/// Those of the names `wanted`, in this order; all for none. Error: unknown-value.
Result<std::vector<NamedValue>> select_outputs(std::vector<NamedValue> outputs, const std::vector<std::string>& wanted);

}  // namespace onnxkit::exec
