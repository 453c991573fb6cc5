#include "libonnxkit/cuda/chooser.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/pointwise_convolution.h"
#include "libonnxkit/cuda/text/few_rows.h"
#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

/// Generated kernels of a step as a call, so that a stopwatch times them as it does those of libraries.
class KernelCall : public LibraryCall {
 public:
  static Result<std::unique_ptr<LibraryCall>> make(const KernelMaker& maker, const plan::Step& step,
                                                   const Preparation& preparation) {
    const WriteStep write = step_registry().find(step.kind);
    if (!write) return make_error("not-supported", "no kernel for it");
    auto launches = write(step, preparation);
    if (!launches) return launches.error();
    std::unique_ptr<KernelCall> call(new KernelCall(maker.device, *std::move(launches)));
    std::vector<const Launch*> pointers;
    for (const Launch& launch : call->launches_) {
      if (!launch.fault.empty()) return make_error("not-supported", "a kernel that can end a run");
      pointers.push_back(&launch);
      call->operands_.insert(call->operands_.end(), launch.operands.begin(), launch.operands.end());
    }
    const std::vector<const plan::Step*> steps(pointers.size(), &step);
    auto kernels = make_kernels(maker, pointers, steps);
    if (!kernels) return kernels.error();
    call->kernels_ = *std::move(kernels);
    return std::unique_ptr<LibraryCall>(std::move(call));
  }

  const std::vector<View>& operands() const override { return operands_; }
  std::size_t result() const override {
    const std::vector<bool>& writes = launches_.back().writes;
    const auto written = std::find(writes.begin(), writes.end(), true) - writes.begin();
    return operands_.size() - writes.size() + static_cast<std::size_t>(written);
  }
  std::uint64_t workspace_bytes() const override { return 0; }
  std::string text() const override { return "a generated kernel"; }
  Result<void> enqueue(void* stream, std::span<void* const> operands, void* /*workspace*/) override {
    std::size_t first = 0;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const Launch& launch = launches_[i];
      std::vector<void*> pointers(operands.begin() + static_cast<std::ptrdiff_t>(first),
                                  operands.begin() + static_cast<std::ptrdiff_t>(first + launch.operands.size()));
      first += launch.operands.size();
      std::vector<void*> parameters;
      for (void*& pointer : pointers) parameters.push_back(&pointer);
      const Driver& driver = device_->driver();
      const DriverStatus status =
          driver->launch_kernel(kernels_.by_launch[i].function, launch.blocks, 1, 1, launch.threads, 1, 1, 0,
                                static_cast<DriverStream>(stream), parameters.data(), nullptr);
      if (auto launched = driver.check(status, "launching a kernel"); !launched) return launched;
    }
    return {};
  }

 private:
  KernelCall(std::shared_ptr<const Device> device, std::vector<Launch> launches)
      : device_(std::move(device)), launches_(std::move(launches)) {}

  std::shared_ptr<const Device> device_;
  std::vector<Launch> launches_;
  std::vector<View> operands_;
  Kernels kernels_;
};

/// A call, and the map behind it.
class CallAndMap : public LibraryCall {
 public:
  CallAndMap(LibraryCall& call, LibraryCall& map) : call_(call), map_(map), operands_(call.operands()) {
    operands_.insert(operands_.end(), map.operands().begin(), map.operands().end());
  }

  const std::vector<View>& operands() const override { return operands_; }
  std::size_t result() const override { return call_.result(); }  // which the map changes in place
  std::uint64_t workspace_bytes() const override { return call_.workspace_bytes(); }
  std::string text() const override { return call_.text(); }
  Result<void> enqueue(void* stream, std::span<void* const> operands, void* workspace) override {
    const std::size_t count = call_.operands().size();
    if (auto done = call_.enqueue(stream, operands.first(count), workspace); !done) return done;
    return map_.enqueue(stream, operands.subspan(count), workspace);
  }

 private:
  LibraryCall &call_, &map_;
  std::vector<View> operands_;
};

std::string description_of(const plan::Step& step) {
  std::string text = fmt::format("{} {}", step.kind.name, step.parameters ? step.parameters->text() : "");
  for (const View& view : operands_of(step)) text += fmt::format(", {}", plan::text_of(view));
  return text;
}

std::string text_of(const LibraryStep& made) {
  return made.call->text() + (made.rest ? ", then " + made.rest->parameters->text() : "");
}

}  // namespace

bool is_for_few_rows(const plan::Step& step, const Preparation& preparation) {
  constexpr std::int64_t least_bytes = std::int64_t{1} << 20, bytes_at_once = 16;
  if (step.kind != plan::product_step || !check_types(step)) return false;
  const plan::Dims& dims = step.outputs[0].dims;
  const std::int64_t batches = step.outputs[0].size() / (dims[dims.size() - 2] * dims.back());
  const auto rows = FewRows::of(step.inputs[0], step.inputs[1], batches, number_lane(step));
  if (batches != 1 || !rows || rows->bytes_at_once() != bytes_at_once) return false;
  const View& weights = step.inputs[rows->weights()];
  return preparation.is_constant(weights) && weights.size() * storage_bits(weights.type) / 8 >= least_bytes;
}

Result<std::size_t> Chooser::fastest(const plan::Step& step, const Preparation& preparation,
                                     std::span<LibraryStep> made, bool has_kernel) {
  const std::string description = description_of(step);
  if (const auto found = measured_.find(description); found != measured_.end()) return found->second;
  std::size_t fastest = 0;
  double least = std::numeric_limits<double>::infinity();
  const auto measure = [&](LibraryCall& call, std::size_t number) {
    const auto seconds = preparation.stopwatch->seconds_of(call, preparation.plan, least);
    if (!seconds || *seconds >= least) return;
    least = *seconds;
    fastest = number;
  };
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i].rest) {
      measure(*made[i].call, i);
      continue;
    }
    auto map = KernelCall::make(maker_, *made[i].rest, preparation);
    if (!map) return map.error();
    CallAndMap both(*made[i].call, **map);
    measure(both, i);
  }
  if (has_kernel) {
    auto kernel = KernelCall::make(maker_, step, preparation);
    if (!kernel) return kernel.error();
    measure(**kernel, made.size());
  }
  measured_.emplace(description, fastest);
  return fastest;
}

Result<Chosen> Chooser::choose(const plan::Step& step, const Preparation& preparation) {
  const bool has_kernel = is_for_few_rows(step, preparation), measures = preparation.stopwatch != nullptr;
  if (has_kernel && !measures) return Chosen{.library = {}, .by = "a generated kernel for few rows"};
  std::vector<LibraryStep> made;
  Chosen chosen;
  const auto ask = [&](Library& library, const plan::Step& what) -> Result<void> {
    auto prepared = library.prepare(what, preparation);
    if (prepared) {
      made.push_back(*std::move(prepared));
      return {};
    }
    if (prepared.error().diagnostic.code != "not-supported") return prepared.error();
    if (chosen.by.empty())
      chosen.by = fmt::format("a generated kernel; {}: {}", library.name(), prepared.error().diagnostic.message);
    return {};
  };
  for (const auto& library : libraries_) {
    if (!library->takes(step.kind) || (!measures && !made.empty())) continue;
    if (auto asked = ask(*library, step); !asked) return asked.error();
  }
  const std::optional<plan::Step> product = measures || made.empty() ? as_product(step) : std::nullopt;
  for (const auto& library : libraries_) {
    if (!product || library->takes(step.kind) || !library->takes(product->kind)) continue;
    if (auto asked = ask(*library, *product); !asked) return asked.error();
  }
  if (made.empty()) return chosen;
  std::size_t number = 0;
  if (made.size() + (has_kernel ? 1 : 0) > 1) {
    const auto found = fastest(step, preparation, made, has_kernel);
    if (!found) return found.error();
    number = *found;
    if (number == made.size())
      return Chosen{.library = {},
                    .by = fmt::format("a generated kernel for few rows, faster than {}", text_of(made[0]))};
  }
  chosen.by = text_of(made[number]);
  if (made.size() > 1) chosen.by += ", faster than " + text_of(made[number == 0 ? 1 : 0]);
  if (has_kernel) chosen.by += ", faster than a generated kernel for few rows";
  chosen.library = std::move(made[number]);
  return chosen;
}

}  // namespace onnxkit::cuda
