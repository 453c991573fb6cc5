#include <utility>

#include <fmt/core.h>

#include "libonnxkit/cuda/double_products.h"
#include "libonnxkit/cuda/libraries/cublaslt_library.h"
#include "libonnxkit/cuda/libraries/cudnn_library.h"
#include "libonnxkit/cuda/session.h"
#include "libonnxkit/exec/perturbed.h"
#include "libonnxkit/exec/registry.h"
#include "libonnxkit/plan/planned_load.h"

namespace onnxkit::reference {
void register_reference_backend(exec::BackendRegistry& registry);
}

namespace onnxkit::cuda {
namespace {

constexpr const char* precision_option = "precision";
constexpr const char* math_option = "math";
constexpr const char* cache_option = "cache";
constexpr const char* libraries_option = "libraries";
constexpr const char* engines_option = "engines";
constexpr const char* streams_option = "streams";
constexpr const char* memory_option = "memory";
constexpr const char* weights_option = "weights";
constexpr const char* device_option = "device";
constexpr const char* measured = "measured";

/// What the backend needs of this machine.
struct Found {
  std::shared_ptr<const Driver> driver;
  std::shared_ptr<const Nvrtc> nvrtc;
  std::vector<DeviceFacts> devices;
};

Result<Found> look_around(const exec::BackendSettings& settings) {
  const LibraryPlaces places = LibraryPlaces::of_environment(settings.python);
  Found found;
  auto driver = Driver::open(places);
  if (!driver) return driver.error();
  found.driver = *std::move(driver);
  auto devices = list_devices(*found.driver);
  if (!devices) return devices.error();
  found.devices = *std::move(devices);
  auto nvrtc = Nvrtc::open(places, found.driver->version());
  if (!nvrtc) return nvrtc.error();
  found.nvrtc = *std::move(nvrtc);
  return found;
}

std::string device_name(const DeviceFacts& device) { return fmt::format("gpu:{}", device.number); }

/// What products and sums of float32 are computed in, as reports name it.
std::string_view arithmetic_of(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return name_of(Profile::tf32);
    case Precision::f16:
      return name_of(Profile::float16);
    case Precision::bf16:
      return name_of(Profile::bfloat16);
    case Precision::fp8:
      return name_of(Profile::fp8);
    case Precision::f64:
      return "float64";
    default:
      return name_of(Profile::float32);
  }
}

std::string option_of(const exec::LoadOptions& options, const char* name) {
  const auto given = options.options.find(name);
  return given == options.options.end() ? std::string() : given->second;
}

exec::BackendDesc desc_of(const Found& found) {
  exec::BackendDesc desc;
  desc.name = "cuda";
  desc.runtime = "onnxkit";
  desc.version = ONNXKIT_VERSION;
  desc.title = "onnxkit cuda " + desc.version;
  for (const DeviceFacts& device : found.devices) desc.devices.push_back(device_name(device));
  desc.arithmetic = name_of(Profile::float32);
  desc.options[precision_option] = {.help = "what float32 values are computed in",
                                    .fallback = "f32",
                                    .values = {"f32", "tf32", "f16", "bf16", "fp8", "f64"}};
  desc.options[math_option] = {.help = "strict: each multiplication and addition is rounded on its own",
                               .fallback = "usual",
                               .values = {"usual", "strict"}};
  desc.options[cache_option] = {.help = "folder that keeps compiled kernels; off: none", .fallback = "", .values = {}};
  desc.options[libraries_option] = {
      .help = "off: generated kernels only", .fallback = "usual", .values = {"usual", "off"}};
  desc.options[engines_option] = {
      .help = "measured: of each call of a library the fastest of up to 32, when a plan is made",
      .fallback = "usual",
      .values = {"usual", measured}};
  desc.options[streams_option] = {
      .help =
          "on so many run steps that need not wait for each other; measured: on 4 or 1, whichever is faster, as with "
          "engines=measured",
      .fallback = "1",
      .values = {"1", "2", "3", "4", "5", "6", "7", "8", measured}};
  desc.options[memory_option] = {
      .help = "apart: each value has memory of its own, so that a memory checker sees what lies outside",
      .fallback = "arena",
      .values = {"arena", "apart"}};
  desc.options[weights_option] = {
      .help = "streamed: each run sends constants to the device, as usual where its memory does not hold them",
      .fallback = "usual",
      .values = {"usual", "streamed"}};
  exec::OptionDesc& device = desc.options[device_option];
  device.help = "number of the GPU";
  for (const DeviceFacts& each : found.devices) device.values.push_back(fmt::format("{}", each.number));
  device.fallback = device.values.front();
  plan::describe_plans(desc);
  desc.capabilities.math_modes = {exec::MathMode::declared, exec::MathMode::unrounded};
  return desc;
}

/// The device that the options name, the first by default. Precondition: they are checked.
DeviceFacts chosen(const Found& found, const exec::LoadOptions& options) {
  const std::string number = option_of(options, device_option);
  for (const DeviceFacts& device : found.devices) {
    if (fmt::format("{}", device.number) == number || device_name(device) == options.device) return device;
  }
  return found.devices.front();
}

/// Why generated kernels do not take a step; what libraries take, they take as well.
std::optional<std::string> refusal(const plan::Plan& plan, const plan::Step& step) {
  if (step.kind == plan::host_step) return std::nullopt;
  const WriteStep write = step_registry().find(step.kind);
  if (!write) return fmt::format("the backend cuda has no kernel for steps of the kind {}", step.kind.name);
  const auto written = write(step, Preparation{.plan = plan});
  return written ? std::nullopt : std::optional(written.error().diagnostic.message);
}

class CudaBackend : public exec::Backend {
 public:
  explicit CudaBackend(exec::BackendSettings settings) : settings_(std::move(settings)) {}

  Result<exec::BackendDesc> describe() override {
    const auto found = look_around(settings_);
    if (!found) return found.error();
    if (auto usable = is_usable(*found); !usable) return usable.error();
    return desc_of(*found);
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source,
                                              const exec::LoadOptions& options) override {
    const auto found = look_around(settings_);
    if (!found) return found.error();
    auto asked = plan::planned_options(desc_of(*found), source, options);
    if (!asked) return asked.error();
    plan::PlannedOptions planned = *std::move(asked);
    auto shared = share(*found, planned.load);
    if (!shared) return shared.error();
    planned.load = (*shared)->load;
    planned.host = (*shared)->host;
    planned.kept_plans = (*shared)->kept_plans;
    planned.takes = refusal;
    planned.prefers_few_steps = true;
    planned.splits_capped_attention = !(*shared)->libraries.empty();
    planned.notes = (*shared)->notes;
    planned.device = device_name((*shared)->maker.device->facts());
    planned.peak_device_bytes = [device = (*shared)->maker.device] { return device->peak_bytes(); };
    const Precision precision = (*shared)->precision;
    planned.exact = precision == Precision::f64;
    exec::LoadOptions beside{.context = planned.load.context,
                             .table = planned.load.table,
                             .threads = planned.load.threads,
                             .allow_outside_data = options.allow_outside_data};
    if (planned.exact) beside.products = std::make_shared<DoubleProducts>(*shared);
    // What neither a plan nor the reference can run is said now.
    auto reference = planned.host->load(source, beside);
    if (!reference) return reference.error();
    planned.make = [kept = *shared](plan::Plan plan, plan::HostNodes& refused, const plan::PlannedRun& run) {
      return ReadyPlan::make(std::move(plan), *kept, refused, run);
    };
    planned.takes_less = [kept = *shared] { return takes_less(*kept); };
    std::unique_ptr<plan::PlannedSession> session =
        planned.exact
            ? std::make_unique<WideSession>(source.model, std::move(planned), (*shared)->rounds, *std::move(reference))
            : std::make_unique<plan::PlannedSession>(source.model, std::move(planned));
    if (auto prepared = session->prepare(std::string(arithmetic_of(precision))); !prepared) return prepared.error();
    return std::unique_ptr<exec::Session>(std::move(session));
  }

 private:
  /// Those that are there; what they compute, generated kernels compute otherwise.
  Result<void> open_libraries(Shared& shared) const {
    const Current current(*shared.maker.device);
    if (auto is = current.check(); !is) return is.error();
    const LibraryPlaces places = LibraryPlaces::of_environment(settings_.python);
    const auto add = [&shared](Result<std::unique_ptr<Library>> opened, std::string_view what) {
      if (opened)
        shared.libraries.push_back(*std::move(opened));
      else
        shared.notes.push_back(fmt::format("{} run on generated kernels: {}", what, opened.error().diagnostic.message));
    };
    add(open_cublaslt(places, shared.maker.device->driver().version()), "products");
    add(open_cudnn(places), "convolutions and attention");
    return {};
  }

  /// Whether a device of this machine is new enough; why the first is not.
  static Result<void> is_usable(const Found& found) {
    for (const DeviceFacts& device : found.devices) {
      if (device.capability >= oldest_capability) return {};
    }
    auto used = Device::use(found.driver, found.devices.front());
    if (!used) return used.error();
    return {};
  }

  /// The device of the session before, if it is the same: making its context anew takes longer than most models.
  Result<std::shared_ptr<const Device>> use(const Found& found, const exec::LoadOptions& options) {
    const DeviceFacts facts = chosen(found, options);
    if (device_ && device_->facts().number == facts.number) return device_;
    auto device = Device::use(found.driver, facts);
    if (device) device_ = *device;
    return device;
  }

  /// `options` have a context and a table.
  Result<std::shared_ptr<Shared>> share(const Found& found, const exec::LoadOptions& options) {
    auto device = use(found, options);
    if (!device) return device.error();
    auto architecture = found.nvrtc->architecture_for((*device)->facts().capability);
    if (!architecture) return architecture.error();
    auto shared = std::make_shared<Shared>(options, KernelMaker{.device = *std::move(device),
                                                                .nvrtc = found.nvrtc,
                                                                .architecture = *std::move(architecture),
                                                                .fuses = option_of(options, math_option) != "strict",
                                                                .cache = CodeCache(option_of(options, cache_option))});
    exec::LoadOptions& load = shared->load;
    shared->precision = precision_named(option_of(options, precision_option)).value_or(Precision::f32);
    if (options.math == exec::MathMode::unrounded && shared->precision != Precision::f64)
      return make_error("not-supported", "the backend cuda runs unrounded (--wide) with precision=f64 only");
    shared->rounds = options.math == exec::MathMode::declared;
    if (shared->precision == Precision::f64) load.math = exec::MathMode::unrounded;  // of host steps
    shared->measures_engines = option_of(options, engines_option) == measured;
    std::string streams = option_of(options, streams_option);
    if (streams.empty() && shared->measures_engines) streams = measured;
    constexpr std::size_t most_measured = 4;
    shared->measures_streams = streams == measured;
    shared->most_streams = shared->measures_streams ? most_measured : streams.empty() ? 1 : std::stoul(streams);
    shared->streams_weights = option_of(options, weights_option) == "streamed";
    shared->memory_apart = option_of(options, memory_option) == "apart";
    if (option_of(options, libraries_option) != "off") {
      if (auto opened = open_libraries(*shared); !opened) return opened.error();
    }
    exec::BackendRegistry registry;
    reference::register_reference_backend(registry);
    auto host = registry.find("reference", settings_);
    if (!host) return host.error();
    shared->host = host->make(settings_);
    return shared;
  }

  exec::BackendSettings settings_;
  std::shared_ptr<const Device> device_;
};

}  // namespace

void register_cuda_backend(exec::BackendRegistry& registry);
void register_cuda_backend(exec::BackendRegistry& registry) {
  registry.add({.name = "cuda",
                .make = [](const exec::BackendSettings& settings) { return std::make_unique<CudaBackend>(settings); }});
}

}  // namespace onnxkit::cuda
