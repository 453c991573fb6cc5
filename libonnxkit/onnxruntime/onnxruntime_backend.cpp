#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stop_token>
#include <utility>

#include <fmt/core.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/exec/file_for.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/onnxruntime/library.h"

namespace onnxkit::onnxruntime {
namespace {

using Clock = std::chrono::steady_clock;

double process_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

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

  Result<void> describe(double seconds) {
    auto inputs = ports(*library_, session_.get(), slots::input_count, slots::input_name, slots::input_type);
    if (!inputs) return inputs.error();
    auto outputs = ports(*library_, session_.get(), slots::output_count, slots::output_name, slots::output_type);
    if (!outputs) return outputs.error();
    inputs_ = *std::move(inputs);
    outputs_ = *std::move(outputs);
    report_.arithmetic = "float32";
    report_.seconds = seconds;
    return {};
  }

  const std::vector<exec::ValueDesc>& inputs() const override { return inputs_; }
  const std::vector<exec::ValueDesc>& outputs() const override { return outputs_; }
  const exec::LoadReport& loaded() const override { return report_; }

  Result<exec::RunAnswer> run(const exec::RunRequest& request) override {
    if (!request.taps.empty()) return make_error("not-supported", "this backend gives the outputs of its model only");
    auto binding = library_->make<Binding>(slots::create_binding, slots::release_binding, session_.get());
    if (!binding) return binding.error();
    // What a binding holds must live as long as it does.
    std::vector<std::shared_ptr<RuntimeValue>> bound;
    if (auto done = bind(request, binding->get(), bound); !done) return done.error();
    const auto options = library_->make<RunOptions>(slots::create_run_options, slots::release_run_options);
    if (!options) return options.error();
    const std::stop_callback stopping(request.stop,
                                      [&] { (void)library_->call(slots::set_terminate, options->get()); });
    exec::RunAnswer answer;
    for (int run = 0; run < request.warmup + std::max(request.repeat, 1); ++run) {
      if (request.stop.stop_requested()) return make_error("cancelled", "the run was stopped");
      const double cpu = process_seconds();
      const Clock::time_point start = Clock::now();
      const auto done =
          library_->call(slots::run_with_binding, session_.get(), static_cast<const RunOptions*>(options->get()),
                         static_cast<const Binding*>(binding->get()));
      const double wall = std::chrono::duration<double>(Clock::now() - start).count();
      if (!done) return request.stop.stop_requested() ? make_error("cancelled", "the run was stopped") : done.error();
      if (run >= request.warmup) answer.samples.push_back({wall, process_seconds() - cpu});
    }
    auto outputs = results(binding->get());
    if (!outputs) return outputs.error();
    auto wanted = exec::select_outputs(*std::move(outputs), request.outputs);
    if (!wanted) return wanted.error();
    answer.outputs = *std::move(wanted);
    return answer;
  }

 private:
  Result<void> bind(const exec::RunRequest& request, Binding* binding,
                    std::vector<std::shared_ptr<RuntimeValue>>& bound) const {
    const auto values = exec::arrange(inputs_, request.inputs);
    if (!values) return values.error();
    for (std::size_t i = 0; i < values->size(); ++i) {
      const Value& value = (*values)[i];
      const std::string& name = inputs_[i].name;
      if (value.kind == ValueKind::none) return make_error("input-missing", "no value for the input " + quote(name));
      if (!value.is_tensor() || value.tensor.type() == ElementType::string)
        return make_error("not-supported", fmt::format("{} is not a tensor of numbers", quote(name)));
      const Tensor& tensor = value.tensor;
      // The library takes memory that it could change, and does not change inputs; it wants a place for no bytes, too.
      auto* data = const_cast<std::byte*>(tensor.bytes().empty() ? &nowhere_ : tensor.bytes().data());
      auto made = library_->make<RuntimeValue>(slots::create_tensor, slots::release_value,
                                               static_cast<const MemoryInfo*>(memory_.get()), static_cast<void*>(data),
                                               tensor.bytes().size(), tensor.dims().data(), tensor.dims().size(),
                                               static_cast<int>(tensor.type()));
      if (!made) return made.error();
      if (auto done =
              library_->call(slots::bind_input, binding, name.c_str(), static_cast<const RuntimeValue*>(made->get()));
          !done)
        return done;
      bound.push_back(*std::move(made));
    }
    for (const exec::ValueDesc& output : outputs_) {
      if (auto done = library_->call(slots::bind_output, binding, output.name.c_str(),
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
    if (count != outputs_.size()) return make_error("worker-failed", "ONNX Runtime gave another number of outputs");
    std::vector<NamedValue> outputs;
    for (std::size_t i = 0; i < count; ++i) {
      auto tensor = tensor_from(owned[i].get(), outputs_[i].name);
      if (!tensor) return tensor.error();
      outputs.push_back({outputs_[i].name, Value(*std::move(tensor))});
    }
    return outputs;
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

  std::shared_ptr<const Library> library_;
  std::shared_ptr<Env> env_;
  std::shared_ptr<const exec::ModelFile> file_;  // that was written for it; external data may be read later
  std::shared_ptr<RuntimeSession> session_;      // released before what it was made from
  std::shared_ptr<MemoryInfo> memory_;
  std::vector<exec::ValueDesc> inputs_, outputs_;
  exec::LoadReport report_;
  std::byte nowhere_{};
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
    desc.formats = {"onnx"};
    desc.options = {{"optimization", {"graph optimisation level", "all", {"none", "basic", "extended", "all"}}},
                    {"threads", {"threads inside an operator; 0: the runtime decides", "0", {}}}};
    desc.arithmetic = "float32";
    return desc;
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source,
                                              const exec::LoadOptions& options) override {
    const auto desc = describe();
    if (!desc) return desc.error();
    if (auto fits = exec::check_load(*desc, source, options); !fits) return fits.error();
    std::shared_ptr<const exec::ModelFile> file;
    if (source.path.empty()) {
      auto written = exec::file_for(source, options);
      if (!written) return written.error();
      file = *std::move(written);
    }
    constexpr int errors_only = 3, arena = 1, default_memory = 0;
    const auto env = library_->make<Env>(slots::create_env, slots::release_env, errors_only, "onnxkit");
    if (!env) return env.error();
    const auto settings = session_options(options.options);
    if (!settings) return settings.error();
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
    auto session = std::make_unique<LibrarySession>(library_, *env, std::move(file), *made, *memory);
    if (auto described = session->describe(seconds); !described) return described.error();
    return std::unique_ptr<exec::Session>(std::move(session));
  }

 private:
  Result<std::shared_ptr<SessionOptions>> session_options(const std::map<std::string, std::string>& given) const {
    constexpr int errors_only = 3;
    auto made = library_->make<SessionOptions>(slots::create_session_options, slots::release_session_options);
    if (!made) return made;
    SessionOptions* const settings = made->get();
    if (auto done = library_->call(slots::set_log_severity, settings, errors_only); !done) return done.error();
    const auto option = [&](const char* name, const char* fallback) {
      const auto found = given.find(name);
      return found == given.end() ? std::string(fallback) : found->second;
    };
    const std::string level = option("optimization", "all");
    const int number = level == "none" ? 0 : level == "basic" ? 1 : level == "extended" ? 2 : 99;
    if (auto done = library_->call(slots::set_optimization, settings, number); !done) return done.error();
    const int threads = std::atoi(option("threads", "0").c_str());
    if (auto done = library_->call(slots::set_threads, settings, threads); !done) return done.error();
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
