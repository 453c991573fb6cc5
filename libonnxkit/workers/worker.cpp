#include "libonnxkit/workers/worker.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "libonnxkit/exec/output_names.h"
#include "libonnxkit/workers/answers.h"
#include "libonnxkit/workers/channel.h"
#include "libonnxkit/workers/process.h"

namespace onnxkit::workers {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds quit_grace{1500};      // from quit to the end of the process
constexpr milliseconds terminate_grace{500};  // from SIGTERM to SIGKILL
constexpr milliseconds closed_grace{2000};    // from the end of the socket to that of the process
constexpr std::size_t most_notes = 15;

std::string duration_text(milliseconds time) {
  if (time < milliseconds(1000)) return fmt::format("{} ms", time.count());
  return fmt::format("{:.4g} s", std::chrono::duration<double>(time).count());
}

std::string size_text(std::uint64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

}  // namespace

class Worker::State {
 public:
  State(const WorkerProgram& program, const WorkerLimits& limits, Process process)
      : name_(program.name), limits_(limits), process_(std::move(process)) {}
  ~State() { quit(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<void> greet();
  Result<LoadedModel> load(const std::filesystem::path& path, const std::string& format,
                           const std::map<std::string, std::string>& options, bool trusted);
  Result<std::vector<exec::InnerDesc>> inner_values(std::int64_t model);
  Result<exec::RunAnswer> run(const WorkerRequest& request);
  Result<exec::RunProfile> profile(const WorkerRequest& request);
  Result<void> unload(std::int64_t model);

  const WorkerInfo& info() const { return info_; }
  void set_limits(const WorkerLimits& limits) { limits_ = limits; }
  std::optional<std::uint64_t> peak_bytes() const { return process_.peak_bytes(); }
  std::optional<double> cpu_seconds() const { return process_.cpu_seconds(); }
  std::vector<std::string> printed() const { return process_.printed().lines(); }

 private:
  struct Step {
    std::string doing;  ///< "while running"
    milliseconds limit;
    Clock::time_point begin = Clock::now();
  };
  struct Answer {
    Json body;
    Segments segments;
  };

  Result<Answer> ask(const Step& step, Json request, std::vector<Descriptor> segments = {});
  Result<Answer> ask_to_run(const char* operation, const Step& step, const WorkerRequest& request);
  Result<Frame> exchange(const Step& step, const Frame& request);
  Result<Answer> understand(const Step& step, const Frame& frame);
  Error refused(const Step& step, const Json& answer);
  Error lost(const Step& step, const ChannelFault& fault);
  Error ended(const Step& step);
  Error broke_protocol(const Step& step, const std::string& how);
  Error give_up(Error error);
  Error with_notes(Error error) const;
  void quit();

  std::string name_;
  WorkerLimits limits_;
  Process process_;
  WorkerInfo info_;
  std::int64_t last_id_ = 0;
  bool greeted_ = false;
  std::optional<Error> gone_;
  std::map<std::int64_t, std::vector<std::string>> outputs_;  ///< names, by model
};

Result<void> Worker::State::greet() {
  const Step step{"while starting", limits_.start};
  auto answer = ask(step, {{"op", "hello"}, {"protocol", protocol_version}});
  if (!answer) return answer.error();
  auto info = read_hello(answer->body);
  if (!info) return broke_protocol(step, info.error().diagnostic.message);
  info_ = *std::move(info);
  greeted_ = true;
  return {};
}

Result<LoadedModel> Worker::State::load(const std::filesystem::path& path, const std::string& format,
                                        const std::map<std::string, std::string>& options, bool trusted) {
  const Step step{fmt::format("while loading {}", quote(path.filename().string())), limits_.load};
  nlohmann::json request = {
      {"op", "load"}, {"path", std::filesystem::absolute(path).string()}, {"format", format}, {"options", options}};
  if (trusted) request["trust"] = true;
  auto answer = ask(step, std::move(request));
  if (!answer) return answer.error();
  auto model = read_load(answer->body);
  if (!model) return broke_protocol(step, model.error().diagnostic.message);
  std::vector<std::string>& names = outputs_[model->id];
  names.clear();
  for (const exec::ValueDesc& output : model->outputs) names.push_back(output.name);
  return model;
}

Result<std::vector<exec::InnerDesc>> Worker::State::inner_values(std::int64_t model) {
  const Step step{"while looking into the model", limits_.load};
  auto answer = ask(step, {{"op", "inner"}, {"model", model}});
  if (!answer) return answer.error();
  auto values = read_inner(answer->body);
  if (!values) return broke_protocol(step, values.error().diagnostic.message);
  return values;
}

Result<exec::RunAnswer> Worker::State::run(const WorkerRequest& request) {
  const Step step{"while running", limits_.run};
  auto answer = ask_to_run("run", step, request);
  if (!answer) return answer.error();
  const auto& names = request.outputs.empty() ? outputs_.at(request.model) : request.outputs;
  auto run = read_run(answer->body, answer->segments, exec::distinct_names(names), std::max(request.repeat, 1));
  if (!run) return broke_protocol(step, run.error().diagnostic.message);
  run->outputs = exec::values_of(std::move(run->outputs), names);
  return run;
}

Result<exec::RunProfile> Worker::State::profile(const WorkerRequest& request) {
  const Step step{"while timing the steps of a model", limits_.run};
  auto answer = ask_to_run("profile", step, request);
  if (!answer) return answer.error();
  auto profile = read_profile(answer->body, std::max(request.repeat, 1));
  if (!profile) return broke_protocol(step, profile.error().diagnostic.message);
  return profile;
}

/// A request with inputs, whose model has outputs in outputs_ when there is an answer.
Result<Worker::State::Answer> Worker::State::ask_to_run(const char* operation, const Step& step,
                                                        const WorkerRequest& request) {
  if (!outputs_.contains(request.model))
    return make_error("worker-invalid", fmt::format("{} has no model {}", name_, request.model));
  ValueWriter writer;
  Json inputs = Json::array();
  for (const NamedValue& input : request.inputs) inputs.push_back(writer.describe(input));
  auto segment = writer.segment();
  if (!segment) return segment.error();
  std::vector<Descriptor> segments;
  segments.push_back(*std::move(segment));
  return ask(step,
             {{"op", operation},
              {"model", request.model},
              {"inputs", std::move(inputs)},
              {"outputs", request.outputs.empty() ? Json() : Json(request.outputs)},
              {"repeat", std::max(request.repeat, 1)},
              {"warmup", std::max(request.warmup, 0)}},
             std::move(segments));
}

Result<void> Worker::State::unload(std::int64_t model) {
  const Step step{"while unloading a model", limits_.run};
  auto answer = ask(step, {{"op", "unload"}, {"model", model}});
  if (!answer) return answer.error();
  outputs_.erase(model);
  return {};
}

/// One request and its answer, checked but for what the request asked for.
Result<Worker::State::Answer> Worker::State::ask(const Step& step, Json request, std::vector<Descriptor> segments) {
  if (gone_) return *gone_;
  request["id"] = ++last_id_;
  if (!segments.empty()) request["segments"] = segments.size();
  const Frame frame{request.dump(-1, ' ', false, Json::error_handler_t::replace), std::move(segments)};
  if (frame.text.size() > most_message_bytes)
    return make_error("worker-invalid", fmt::format("the request to {} would have {} bytes", name_, frame.text.size()));
  auto received = exchange(step, frame);
  if (!received) return received.error();
  return understand(step, *received);
}

Result<Frame> Worker::State::exchange(const Step& step, const Frame& request) {
  const Watch watch{step.begin + step.limit, limits_.stop, limits_.memory};
  const auto sent = send(process_, request, watch);
  if (const auto* fault = std::get_if<ChannelFault>(&sent)) return lost(step, *fault);
  auto received = receive(process_, watch);
  if (const auto* fault = std::get_if<ChannelFault>(&received)) return lost(step, *fault);
  return std::get<Frame>(std::move(received));
}

Result<Worker::State::Answer> Worker::State::understand(const Step& step, const Frame& frame) {
  auto body = read_answer(frame.text, last_id_, frame.segments.size());
  if (!body) return broke_protocol(step, body.error().diagnostic.message);
  if (!Fields::member(*body, "ok").get<bool>()) return refused(step, *body);
  Answer answer{*std::move(body), {}};
  for (const Descriptor& file : frame.segments) {
    auto segment = Segment::open(file);
    if (!segment) {
      const Diagnostic& fault = segment.error().diagnostic;
      if (fault.code == "worker-protocol") return broke_protocol(step, fault.message);
      return segment.error();
    }
    answer.segments.push_back(*std::move(segment));
  }
  return answer;
}

/// The worker says no.
Error Worker::State::refused(const Step& step, const Json& answer) {
  Error error = read_error(answer);
  Diagnostic& diagnostic = error.diagnostic;
  const Json& version = Fields::member(answer, "protocol");
  if (!greeted_ && version.is_number_integer() && version != protocol_version)
    return broke_protocol(step,
                          fmt::format("it uses version {} of the protocol, not {}", version.dump(), protocol_version));
  if (diagnostic.code == "worker-protocol") return broke_protocol(step, diagnostic.message);
  if (diagnostic.code == "worker-unavailable")
    return greeted_ ? broke_protocol(step, "an error of kind unavailable after hello") : error;
  diagnostic.message = fmt::format("{}, {}: {}", name_, step.doing, diagnostic.message);
  if (diagnostic.code == "worker-memory") return give_up(std::move(error));
  return diagnostic.notes.empty() ? with_notes(std::move(error)) : error;
}

Error Worker::State::lost(const Step& step, const ChannelFault& fault) {
  switch (fault.kind) {
    case ChannelFault::Kind::late:
      return give_up(make_error("worker-timeout", fmt::format("{} did not answer within {} {}", name_,
                                                              duration_text(step.limit), step.doing)));
    case ChannelFault::Kind::cancelled:
      return give_up(make_error("cancelled", fmt::format("{} was stopped {}", name_, step.doing)));
    case ChannelFault::Kind::over_memory:
      return give_up(make_error("worker-memory",
                                fmt::format("{} used {} of memory {}, more than the limit of {}", name_,
                                            size_text(process_.memory_seen()), step.doing, size_text(limits_.memory))));
    case ChannelFault::Kind::broken:
      return broke_protocol(step, fault.what);
    default:
      return ended(step);
  }
}

Error Worker::State::ended(const Step& step) {
  if (!process_.wait_for_exit(closed_grace)) return broke_protocol(step, "it closed its socket");
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - step.begin);
  const std::optional<Exit> exit = process_.exit();
  std::string message =
      fmt::format("{} ended {}: {}", name_, step.doing, exit ? exit->text() : "the system does not tell its exit code");
  if (took >= milliseconds(1000)) message += " after " + duration_text(took);
  Error error = make_error(greeted_ ? ErrorCode("worker-crashed") : ErrorCode("worker-start"), std::move(message));
  if (exit && exit->signal == SIGKILL)
    error.diagnostic.help = "a system that runs out of memory kills processes this way";
  return give_up(std::move(error));
}

Error Worker::State::broke_protocol(const Step& step, const std::string& how) {
  return give_up(
      make_error("worker-protocol", fmt::format("{} broke the worker protocol {}: {}", name_, step.doing, how)));
}

/// Ends the worker; the error is what every later call gets.
Error Worker::State::give_up(Error error) {
  process_.end(terminate_grace);
  gone_ = with_notes(std::move(error));
  return *gone_;
}

Error Worker::State::with_notes(Error error) const {
  std::vector<std::string> lines = printed();
  if (lines.size() > most_notes) lines.erase(lines.begin(), lines.end() - most_notes);
  auto& notes = error.diagnostic.notes;
  notes.insert(notes.end(), lines.begin(), lines.end());
  return error;
}

void Worker::State::quit() {
  if (!gone_) {
    const Json request = {{"id", ++last_id_}, {"op", "quit"}};
    const auto sent = send(process_, {request.dump(), {}}, {.deadline = Clock::now() + quit_grace});
    if (std::holds_alternative<std::monostate>(sent)) process_.wait_for_exit(quit_grace);
  }
  process_.end(terminate_grace);
}

Worker::Worker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Worker::~Worker() = default;

Result<std::unique_ptr<Worker>> Worker::start(const WorkerProgram& program, const WorkerLimits& limits) {
  auto process = Process::start(program.command);
  if (!process) {
    Error error = process.error();
    error.diagnostic.message = fmt::format("{} did not start: {}", program.name, error.diagnostic.message);
    return error;
  }
  auto state = std::make_unique<State>(program, limits, *std::move(process));
  if (auto greeted = state->greet(); !greeted) return greeted.error();
  return std::unique_ptr<Worker>(new Worker(std::move(state)));
}

const WorkerInfo& Worker::info() const { return state_->info(); }

void Worker::set_limits(const WorkerLimits& limits) { state_->set_limits(limits); }

Result<LoadedModel> Worker::load(const std::filesystem::path& path, const std::string& format,
                                 const std::map<std::string, std::string>& options, bool trusted) {
  return state_->load(path, format, options, trusted);
}

Result<std::vector<exec::InnerDesc>> Worker::inner_values(std::int64_t model) { return state_->inner_values(model); }

Result<exec::RunAnswer> Worker::run(const WorkerRequest& request) { return state_->run(request); }

Result<exec::RunProfile> Worker::profile(const WorkerRequest& request) { return state_->profile(request); }

Result<void> Worker::unload(std::int64_t model) { return state_->unload(model); }

std::optional<std::uint64_t> Worker::peak_bytes() const { return state_->peak_bytes(); }

std::optional<double> Worker::cpu_seconds() const { return state_->cpu_seconds(); }

std::string Worker::log() const { return fmt::format("{}", fmt::join(state_->printed(), "\n")); }

}  // namespace onnxkit::workers
