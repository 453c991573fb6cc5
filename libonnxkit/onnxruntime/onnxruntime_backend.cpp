#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/system/cpu_time.h"
#include "libonnxkit/exec/file_for.h"
#include "libonnxkit/exec/guarded.h"
#include "libonnxkit/exec/output_names.h"
#include "libonnxkit/exec/threads_option.h"
#include "libonnxkit/exec/time_limit.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/onnxruntime/cuda_values.h"
#include "libonnxkit/onnxruntime/library.h"

namespace onnxkit::onnxruntime {
namespace {

using Clock = std::chrono::steady_clock;

// Of its log. Statuses tell of errors, in words that are printed without control characters; the log writes names of the model as they are.
constexpr int fatal_only = 4;
constexpr const char* cuda_provider = "CUDAExecutionProvider";

/// Type and sizes that the library tells; a size is -1 where it is open.
Result<std::pair<ElementType, std::vector<std::int64_t>>> tensor_of(const Library& library, const TensorInfo* info) {
  int type = 0;
  std::size_t rank = 0;
  if (auto done = library.call(slots::element_type, info, &type); !done) return done.error();
  if (auto done = library.call(slots::rank, info, &rank); !done) return done.error();
  std::vector<std::int64_t> dims(rank);
  if (auto done = library.call(slots::dims, info, dims.data(), rank); !done) return done.error();
  return std::pair(static_cast<ElementType>(type), std::move(dims));
}

/// Inputs or outputs of a session.
Result<std::vector<exec::ValueDesc>> ports(const Library& library, const RuntimeSession* session,
                                           Slot<slots::Counter> counter, Slot<slots::Namer> namer,
                                           Slot<slots::Typer> typer) {
  Allocator* allocator = nullptr;
  if (auto done = library.call(slots::default_allocator, &allocator); !done) return done.error();
  std::size_t count = 0;
  if (auto done = library.call(counter, session, &count); !done) return done.error();
  std::vector<exec::ValueDesc> descs;
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    if (auto done = library.call(namer, session, i, allocator, &name); !done) return done.error();
    exec::ValueDesc& desc = descs.emplace_back();
    desc.name = name;
    if (auto freed = library.call(slots::allocator_free, allocator, static_cast<void*>(name)); !freed)
      return freed.error();
    const auto type = library.make<TypeInfo>(typer, slots::release_type_info, session, i);
    if (!type) return type.error();
    const TensorInfo* info = nullptr;
    if (auto done = library.call(slots::as_tensor_info, static_cast<const TypeInfo*>(type->get()), &info); !done)
      return done.error();
    if (info == nullptr)
      return make_error("not-supported", fmt::format("{} is not a tensor; -b onnxruntime takes it", quote(desc.name)));
    auto tensor = tensor_of(library, info);
    if (!tensor) return tensor.error();
    desc.type = tensor->first;
    desc.dims = std::move(tensor->second);
    desc.has_shape = !desc.dims.empty();  // an unknown rank reads like that of a scalar
  }
  return descs;
}

class LibrarySession : public exec::Session {
 public:
  LibrarySession(std::shared_ptr<const Library> library, std::shared_ptr<Env> env,
                 std::shared_ptr<const exec::ModelFile> file, std::shared_ptr<RuntimeSession> session,
                 std::shared_ptr<MemoryInfo> memory)
      : library_(std::move(library)),
        env_(std::move(env)),
        file_(std::move(file)),
        session_(std::move(session)),
        memory_(std::move(memory)) {}

  Result<void> describe(double seconds, const char* arithmetic) {
    auto inputs = ports(*library_, session_.get(), slots::input_count, slots::input_name, slots::input_type);
    if (!inputs) return inputs.error();
    auto outputs = ports(*library_, session_.get(), slots::output_count, slots::output_name, slots::output_type);
    if (!outputs) return outputs.error();
    inputs_ = *std::move(inputs);
    outputs_ = *std::move(outputs);
    for (const exec::ValueDesc& output : outputs_) output_names_.push_back(output.name);
    distinct_outputs_ = exec::distinct_names(output_names_);
    report_.arithmetic = arithmetic;
    report_.seconds = seconds;
    return {};
  }

  const std::vector<exec::ValueDesc>& inputs() const override { return inputs_; }
  const std::vector<exec::ValueDesc>& outputs() const override { return outputs_; }
  const exec::LoadReport& loaded() const override { return report_; }

  Result<exec::RunAnswer> run(const exec::RunRequest& request) final {
    return exec::guarded([&] { return answer_to(request); });
  }

 protected:
  virtual Result<exec::RunAnswer> answer_to(const exec::RunRequest& request) {
    const auto values = values_of(request);
    if (!values) return values.error();
    auto answer = run_on_host(request, *values, {});
    if (answer) return selected(*std::move(answer), request);
    return answer;
  }

  /// In the order of the inputs.
  Result<std::vector<Value>> values_of(const exec::RunRequest& request) const {
    if (!request.taps.empty()) return make_error("not-supported", "this backend gives the outputs of its model only");
    auto values = exec::arrange(inputs_, request.inputs);
    if (!values) return values;
    for (std::size_t i = 0; i < values->size(); ++i) {
      const Value& value = (*values)[i];
      const std::string& name = inputs_[i].name;
      if (value.kind == ValueKind::none) return make_error("input-missing", "no value for the input " + quote(name));
      if (!value.is_tensor() || value.tensor.type() == ElementType::string)
        return make_error("not-supported", fmt::format("{} is not a tensor of numbers", quote(name)));
    }
    return values;
  }

  static Result<exec::RunAnswer> selected(exec::RunAnswer answer, const exec::RunRequest& request) {
    auto wanted = exec::select_outputs(std::move(answer.outputs), request.outputs);
    if (!wanted) return wanted.error();
    answer.outputs = *std::move(wanted);
    return answer;
  }

  Result<std::shared_ptr<Binding>> make_binding() const {
    return library_->make<Binding>(slots::create_binding, slots::release_binding, session_.get());
  }
  Result<std::shared_ptr<RunOptions>> make_run_options() const {
    return library_->make<RunOptions>(slots::create_run_options, slots::release_run_options);
  }
  Result<void> run_bound(const RunOptions* options, const Binding* binding) const {
    return library_->call(slots::run_with_binding, session_.get(), options, binding);
  }

  using Settings = std::vector<std::pair<const char*, std::string>>;

  /// Inputs and outputs in memory of the host; all outputs.
  Result<exec::RunAnswer> run_on_host(const exec::RunRequest& request, const std::vector<Value>& values,
                                      const Settings& settings) {
    auto binding = make_binding();
    if (!binding) return binding.error();
    // What a binding holds must live as long as it does.
    std::vector<std::shared_ptr<RuntimeValue>> bound;
    if (auto done = bind_inputs(values, binding->get(), bound); !done) return done.error();
    const auto options = make_run_options();
    if (!options) return options.error();
    for (const auto& [key, value] : settings)
      if (auto done = library_->call(slots::add_run_setting, options->get(), key, value.c_str()); !done)
        return done.error();
    const Turn turn{.prepare = [&] { return bind_outputs(binding->get()); },
                    .run = [&] { return run_bound(options->get(), binding->get()); }};
    auto samples = measure(request, options->get(), turn);
    if (!samples) return samples.error();
    auto outputs = results(binding->get());
    if (!outputs) return outputs.error();
    return exec::RunAnswer{.outputs = *std::move(outputs), .samples = *std::move(samples)};
  }

  /// A run of a request.
  struct Turn {
    std::function<Result<void>()> prepare = {};  ///< what is not timed
    std::function<Result<void>()> run;
    std::function<Result<double>()> on_device = {};  ///< how long the last run took there
  };

  /// All runs of a request, each within its limits; samples of those behind the warm-up.
  Result<std::vector<exec::RunSample>> measure(const exec::RunRequest& request, RunOptions* options,
                                               const Turn& turn) const {
    exec::TimeLimit limit(request.limits.remaining(), request.stop);
    const std::stop_callback stopping(limit.token(), [&] { (void)library_->call(slots::set_terminate, options); });
    std::vector<exec::RunSample> samples;
    for (int run = 0; run < request.warmup + std::max(request.repeat, 1); ++run) {
      if (turn.prepare) {
        if (auto prepared = turn.prepare(); !prepared) return prepared.error();
      }
      limit.restart();
      const double cpu = own_cpu_seconds();
      const Clock::time_point start = Clock::now();
      const auto done = turn.run();
      exec::RunSample sample{std::chrono::duration<double>(Clock::now() - start).count(), own_cpu_seconds() - cpu};
      if (limit.is_over()) return exec::late_run(request.limits.time);
      if (request.stop.stop_requested()) return exec::cancelled_run();
      if (!done) return done.error();
      if (run < request.warmup) continue;
      if (turn.on_device) {
        const auto seconds = turn.on_device();
        if (!seconds) return seconds.error();
        sample.device = *seconds;
      }
      samples.push_back(sample);
    }
    return samples;
  }

  std::shared_ptr<const Library> library_;
  std::shared_ptr<Env> env_;
  std::shared_ptr<const exec::ModelFile> file_;  // that was written for it; external data may be read later
  std::shared_ptr<RuntimeSession> session_;      // released before what it was made from
  std::vector<exec::ValueDesc> inputs_;
  exec::LoadReport report_;

 private:
  Result<void> bind_inputs(const std::vector<Value>& values, Binding* binding,
                           std::vector<std::shared_ptr<RuntimeValue>>& bound) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& name = inputs_[i].name;
      const Tensor& tensor = values[i].tensor;
      // The library takes memory that it could change, and does not change inputs; it wants a place for no bytes, too.
      auto* data = const_cast<std::byte*>(tensor.bytes().empty() ? &nowhere_ : tensor.bytes().data());
      auto made = value_over(*library_, memory_.get(), data, tensor);
      if (!made) return made.error();
      if (auto done =
              library_->call(slots::bind_input, binding, name.c_str(), static_cast<const RuntimeValue*>(made->get()));
          !done)
        return done;
      bound.push_back(*std::move(made));
    }
    return {};
  }

  /// Anew for each run: the outputs of the last one would be places of a fixed size, which has to be the one that the model declares.
  Result<void> bind_outputs(Binding* binding) const {
    library_->at(slots::clear_outputs)(binding);
    for (const std::string& output : distinct_outputs_) {
      if (auto done = library_->call(slots::bind_output, binding, output.c_str(),
                                     static_cast<const MemoryInfo*>(memory_.get()));
          !done)
        return done;
    }
    return {};
  }

  Result<std::vector<NamedValue>> results(const Binding* binding) const {
    Allocator* allocator = nullptr;
    RuntimeValue** values = nullptr;
    std::size_t count = 0;
    if (auto done = library_->call(slots::default_allocator, &allocator); !done) return done.error();
    if (auto done = library_->call(slots::bound_values, binding, allocator, &values, &count); !done)
      return done.error();
    std::vector<std::shared_ptr<RuntimeValue>> owned;
    for (std::size_t i = 0; i < count; ++i) owned.emplace_back(values[i], library_->at(slots::release_value));
    if (values != nullptr) {
      if (auto freed = library_->call(slots::allocator_free, allocator, static_cast<void*>(values)); !freed)
        return freed.error();
    }
    if (count != distinct_outputs_.size())
      return make_error("worker-failed", "ONNX Runtime gave another number of outputs");
    std::vector<NamedValue> outputs;
    for (std::size_t i = 0; i < count; ++i) {
      auto tensor = tensor_from(owned[i].get(), distinct_outputs_[i]);
      if (!tensor) return tensor.error();
      outputs.push_back({distinct_outputs_[i], Value(*std::move(tensor))});
    }
    return exec::values_of(std::move(outputs), output_names_);
  }

  Result<Tensor> tensor_from(RuntimeValue* value, const std::string& name) const {
    int is_tensor = 0;
    if (auto done = library_->call(slots::is_tensor, static_cast<const RuntimeValue*>(value), &is_tensor); !done)
      return done.error();
    if (is_tensor == 0) return make_error("not-supported", fmt::format("{} is not a tensor", quote(name)));
    const auto info = library_->make<TensorInfo>(slots::tensor_info, slots::release_tensor_info,
                                                 static_cast<const RuntimeValue*>(value));
    if (!info) return info.error();
    auto described = tensor_of(*library_, info->get());
    if (!described) return described.error();
    auto& [type, dims] = *described;
    if (type == ElementType::string || type == ElementType::undefined)
      return make_error("not-supported", fmt::format("{} is not a tensor of numbers", quote(name)));
    const auto elements = checked_element_count(dims);
    const auto size = elements ? ir::expected_bytes(type, *elements) : std::nullopt;
    if (!size) return make_error("worker-failed", fmt::format("{} has no size that memory could hold", quote(name)));
    void* data = nullptr;
    if (auto done = library_->call(slots::tensor_data, value, &data); !done) return done.error();
    std::vector<std::byte> bytes(*size);
    if (!bytes.empty()) std::memcpy(bytes.data(), data, bytes.size());
    return Tensor::from_bytes(type, std::move(dims), std::move(bytes));
  }

  std::shared_ptr<MemoryInfo> memory_;
  std::vector<exec::ValueDesc> outputs_;
  std::vector<std::string> output_names_, distinct_outputs_;
  std::byte nowhere_{};
};

/// What a session on the device needs besides.
struct CudaParts {
  std::shared_ptr<const CudaRuntime> runtime;
  std::shared_ptr<CudaRuntime::StreamOpaque> stream;
  bool has_graphs = false;
  std::optional<std::uint64_t> used_before;  ///< bytes of the device, before the session was made
};

/// By the execution provider cuda. Inputs go to fixed places on the device before a run and outputs come back behind it, all of which is timed; the
/// time on the device is that of the run between, by events on its stream.
class CudaSession : public LibrarySession {
 public:
  template <class... Arguments>
  explicit CudaSession(CudaParts cuda, Arguments&&... arguments)
      : LibrarySession(std::forward<Arguments>(arguments)...), cuda_(std::move(cuda)) {
    note_memory(cuda_.used_before);
  }
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;
  ~CudaSession() override { session_.reset(); }  // which uses the stream

 private:
  Result<exec::RunAnswer> answer_to(const exec::RunRequest& request) override {
    const auto values = values_of(request);
    if (!values) return values.error();
    const auto used_before = cuda_.runtime->used_bytes();
    auto answer = run_on_device(request, *values);
    note_memory(used_before);
    if (answer) answer->device_bytes = held_bytes_;
    if (answer) return selected(*std::move(answer), request);
    return answer;
  }

  static constexpr const char* graph_setting = "gpu_graph_id";
  static constexpr std::size_t most_places = 8;

  /// Grown while this session was at work.
  void note_memory(std::optional<std::uint64_t> before) {
    const auto now = cuda_.runtime->used_bytes();
    if (before && now && *now > *before) held_bytes_ += *now - *before;
  }

  /// Memory of the device for inputs and outputs of certain sizes, and the graph that is captured over it.
  struct Places {
    CudaValues values;
    std::size_t graph = 0;  ///< from 1; a number is never given again
  };

  /// Those for such inputs and their outputs, whose sizes a run on the host's memory tells.
  Result<Places*> places_for(const exec::RunRequest& request, const std::vector<Value>& values) {
    const auto known =
        std::find_if(places_.begin(), places_.end(), [&](const Places& places) { return places.values.fits(values); });
    if (known != places_.end()) return &*known;
    exec::RunRequest once = request;
    once.repeat = 1;
    once.warmup = 0;
    const Settings captures_nothing = {{graph_setting, "-1"}};
    auto first = run_on_host(once, values, cuda_.has_graphs ? captures_nothing : Settings());
    if (!first) return first.error();
    auto made = CudaValues::make(library_, cuda_.runtime, values, first->outputs);
    if (!made) return made.error();
    if (places_.size() == most_places) places_.pop_front();
    places_.push_back({*std::move(made), ++graphs_});
    return &places_.back();
  }

  Result<exec::RunAnswer> run_on_device(const exec::RunRequest& request, const std::vector<Value>& values) {
    const auto found = places_for(request, values);
    if (!found) return found.error();
    CudaValues& places = (*found)->values;
    const CudaRuntime& cuda = *cuda_.runtime;
    const CudaRuntime::Stream stream = cuda_.stream.get();
    if (auto sent = places.send(values, stream); !sent) return sent.error();
    if (auto done = cuda.wait(stream); !done) return done.error();
    const auto binding = make_binding();
    if (!binding) return binding.error();
    if (auto bound = places.bind(binding->get(), inputs_); !bound) return bound.error();
    const auto options = make_run_options();
    if (!options) return options.error();
    const std::string graph = std::to_string((*found)->graph);
    if (cuda_.has_graphs) {
      auto set = library_->call(slots::add_run_setting, options->get(), graph_setting, graph.c_str());
      if (!set) return set.error();
    }
    const auto start = cuda.make_event(), end = cuda.make_event();
    if (!start) return start.error();
    if (!end) return end.error();
    const auto once = [&]() -> Result<void> {
      if (auto done = places.send(values, stream); !done) return done;
      if (auto done = cuda.record(start->get(), stream); !done) return done;
      if (auto done = run_bound(options->get(), binding->get()); !done) return done;
      if (auto done = cuda.record(end->get(), stream); !done) return done;
      if (auto done = places.fetch(stream); !done) return done;
      return cuda.wait(stream);
    };
    const Turn turn{.run = once, .on_device = [&] { return cuda.seconds(start->get(), end->get()); }};
    auto samples = measure(request, options->get(), turn);
    if (!samples) return samples.error();
    return exec::RunAnswer{.outputs = places.outputs(), .samples = *std::move(samples)};
  }

  CudaParts cuda_;
  std::deque<Places> places_;     ///< by sets of sizes, the newest last
  std::size_t graphs_ = 0;        ///< numbers that were given
  std::uint64_t held_bytes_ = 0;  ///< of the device
};

/// ONNX Runtime in this process, for times without Python and messages. A fault of it ends this process, which a worker would survive.
class LibraryBackend : public exec::Backend {
 public:
  explicit LibraryBackend(exec::BackendSettings settings) : settings_(std::move(settings)) {}

  Result<exec::BackendDesc> describe() override {
    if (!library_) {
      auto library = Library::open(settings_);
      if (!library) return library.error();
      library_ = *std::move(library);
    }
    exec::BackendDesc desc;
    desc.name = "onnxruntime-lib";
    desc.runtime = "ONNX Runtime";
    desc.version = library_->version();
    desc.title = fmt::format("ONNX Runtime {} in this process", library_->version());
    desc.devices = {"cpu"};
    if (library_->has_provider(cuda_provider)) desc.devices.emplace_back("cuda");
    desc.formats = {"onnx"};
    desc.options = {{"optimization", {"graph optimisation level", "all", {"none", "basic", "extended", "all"}}},
                    {"provider", {"execution provider; nodes that it cannot run use the CPU", "cpu", {"cpu", "cuda"}}},
                    {"graph", {"cuda: a run is captured as a CUDA graph and replayed", "off", {"on", "off"}}},
                    {"layout", {"cuda: of pictures inside", "nchw", {"nchw", "nhwc"}}},
                    {"tf32", {"cuda: products and convolutions in TF32", "on", {"on", "off"}}},
                    {exec::threads_option, exec::describe_threads_option()}};
    desc.arithmetic = "float32";
    return desc;
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source,
                                              const exec::LoadOptions& options) override {
    return exec::guarded([&] { return make_session(source, options); });
  }

 private:
  Result<std::unique_ptr<exec::Session>> make_session(const exec::ModelSource& source,
                                                      const exec::LoadOptions& options) {
    const auto desc = describe();
    if (!desc) return desc.error();
    if (auto fits = exec::check_load(*desc, source, options); !fits) return fits.error();
    if (auto checked = check_provider(options.options); !checked) return checked.error();
    std::shared_ptr<const exec::ModelFile> file;
    if (source.path.empty()) {
      auto written = exec::file_for(source, options);
      if (!written) return written.error();
      file = *std::move(written);
    }
    constexpr int arena = 1, default_memory = 0;
    const auto env = library_->make<Env>(slots::create_env, slots::release_env, fatal_only, "onnxkit");
    if (!env) return env.error();
    const auto settings = session_options(options);
    if (!settings) return settings.error();
    std::optional<CudaParts> cuda;
    if (option(options.options, "provider", "cpu") == "cuda") {
      auto parts = use_cuda(options.options, settings->get());
      if (!parts) return parts.error();
      cuda = *std::move(parts);
    }
    const auto memory =
        library_->make<MemoryInfo>(slots::create_memory_info, slots::release_memory_info, arena, default_memory);
    if (!memory) return memory.error();
    const std::string path = (file ? file->path() : source.path).string();
    const Clock::time_point start = Clock::now();
    const auto made = library_->make<RuntimeSession>(slots::create_session, slots::release_session,
                                                     static_cast<const Env*>(env->get()), path.c_str(),
                                                     static_cast<const SessionOptions*>(settings->get()));
    if (!made) return made.error();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const bool has_tf32 = cuda && option(options.options, "tf32", "on") == "on";
    std::unique_ptr<LibrarySession> session;
    if (cuda)
      session = std::make_unique<CudaSession>(*std::move(cuda), library_, *env, std::move(file), *made, *memory);
    else
      session = std::make_unique<LibrarySession>(library_, *env, std::move(file), *made, *memory);
    if (auto described = session->describe(seconds, has_tf32 ? "tf32" : "float32"); !described)
      return described.error();
    return std::unique_ptr<exec::Session>(std::move(session));
  }

  using Options = std::map<std::string, std::string>;

  static std::string option(const Options& given, const char* name, const char* fallback) {
    const auto found = given.find(name);
    return found == given.end() ? std::string(fallback) : found->second;
  }

  /// Options that would change nothing on the CPU are refused; tf32=off says what is so there.
  static Result<void> check_provider(const Options& given) {
    if (option(given, "provider", "cpu") == "cuda") return {};
    for (const auto& [name, usual] : {std::pair("graph", "off"), std::pair("layout", "nchw")})
      if (option(given, name, usual) != usual)
        return make_error("unknown-option",
                          fmt::format("the option {} of onnxruntime-lib takes effect with provider=cuda only", name));
    return {};
  }

  /// Adds the execution provider.
  Result<CudaParts> use_cuda(const Options& given, SessionOptions* settings) const {
    if (!library_->has_provider(cuda_provider))
      return make_error("worker-unavailable",
                        fmt::format("the provider cuda cannot be used: ONNX Runtime {} in {} was built without it; pip "
                                    "install onnxruntime-gpu, or name its library in ONNXKIT_ONNXRUNTIME",
                                    library_->version(), library_->path()));
    auto runtime = CudaRuntime::open(settings_.python);
    if (!runtime) return runtime.error();
    auto stream = (*runtime)->make_stream();
    if (!stream) return stream.error();
    CudaParts parts{.runtime = *runtime,
                    .stream = *std::move(stream),
                    .has_graphs = option(given, "graph", "off") == "on",
                    .used_before = (*runtime)->used_bytes()};
    const auto made = library_->make<CudaOptions>(slots::create_cuda_options, slots::release_cuda_options);
    if (!made) return made.error();
    const std::string address = std::to_string(reinterpret_cast<std::uintptr_t>(parts.stream.get()));
    const std::pair<const char*, const char*> chosen[] = {
        {"has_user_compute_stream", "1"},
        {"user_compute_stream", address.c_str()},
        {"enable_cuda_graph", parts.has_graphs ? "1" : "0"},
        {"prefer_nhwc", option(given, "layout", "nchw") == "nhwc" ? "1" : "0"},
        {"use_tf32", option(given, "tf32", "on") == "on" ? "1" : "0"}};
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : chosen) {
      keys.push_back(key);
      values.push_back(value);
    }
    if (auto set = library_->call(slots::set_cuda_options, made->get(), keys.data(), values.data(), keys.size()); !set)
      return set.error();
    if (auto added = library_->call(slots::append_cuda, settings, static_cast<const CudaOptions*>(made->get())); !added)
      return make_error("worker-unavailable", "the provider cuda cannot be used: " + added.error().diagnostic.message);
    return parts;
  }

  Result<std::shared_ptr<SessionOptions>> session_options(const exec::LoadOptions& load) const {
    auto made = library_->make<SessionOptions>(slots::create_session_options, slots::release_session_options);
    if (!made) return made;
    SessionOptions* const settings = made->get();
    if (auto done = library_->call(slots::set_log_severity, settings, fatal_only); !done) return done.error();
    const std::string level = option(load.options, "optimization", "all");
    const int number = level == "none" ? 0 : level == "basic" ? 1 : level == "extended" ? 2 : 99;
    if (auto done = library_->call(slots::set_optimization, settings, number); !done) return done.error();
    if (auto done = library_->call(slots::set_threads, settings, exec::threads_of(load)); !done) return done.error();
    return made;
  }

  exec::BackendSettings settings_;
  std::shared_ptr<const Library> library_;
};

}  // namespace

void register_onnxruntime_backend(exec::BackendRegistry& registry);
void register_onnxruntime_backend(exec::BackendRegistry& registry) {
  registry.add(
      {.name = "onnxruntime-lib",
       .make = [](const exec::BackendSettings& settings) { return std::make_unique<LibraryBackend>(settings); },
       .listed = false});
}

}  // namespace onnxkit::onnxruntime
