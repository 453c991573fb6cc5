#include "libonnxkit/cuda/kernels.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/prelude.h"

namespace onnxkit::cuda {
namespace {

/// Names say which kernels have threads that meet: what runs kernels on the host goes by that.
std::string kernel_name(const KernelSource& source, std::size_t number) {
  return fmt::format("{}kernel_{}", source.synchronizes ? "block_" : "", number);
}

std::string kernel_text(const KernelSource& source, const std::string& name) {
  // With one block asked for, the compiler leaves loads where they are instead of saving registers for more threads.
  return fmt::format("\nextern \"C\" __global__ void __launch_bounds__({}{}) {}{}", source.threads,
                     source.spends_registers ? ", 1" : "", name, source.text);
}

/// What the launches of a plan run, and what of it has to be compiled.
struct Wants {
  std::vector<KernelStore::Wanted> by_launch;
  std::vector<KernelSource> missing;
  std::vector<const plan::Step*> steps;  ///< of the missing ones
  std::unordered_map<std::string, std::size_t> numbers_of_missing = {};

  std::size_t number_of_missing(const KernelSource& source) const { return numbers_of_missing.at(source.key()); }

  void miss(const KernelSource& source, const plan::Step* step) {
    if (!numbers_of_missing.emplace(source.key(), missing.size()).second) return;
    missing.push_back(source);
    steps.push_back(step);
  }
};

Wants wants_of(std::span<const Launch* const> launches, std::span<const plan::Step* const> steps, KernelStore& store) {
  Wants wants;
  store.begin_plan();
  for (std::size_t i = 0; i < launches.size(); ++i) {
    wants.by_launch.push_back(store.wanted(*launches[i], *steps[i]));
    const KernelStore::Wanted& wanted = wants.by_launch.back();
    if (!wanted.held) wants.miss(wanted.source, steps[i]);
  }
  return wants;
}

/// The error of the first kernel that does not compile alone, with the kind of its step; else that of the program.
Error compile_error(const KernelMaker& maker, const Wants& wants, Error error) {
  for (std::size_t i = 0; i < wants.missing.size(); ++i) {
    auto alone = maker.nvrtc->compile(join_kernels(std::span(wants.missing).subspan(i, 1)).text, maker.architecture,
                                      maker.fuses);
    if (alone) continue;
    error = alone.error();
    error.diagnostic.message = fmt::format("the kernel of a step {} does not compile: {}", wants.steps[i]->kind.name,
                                           error.diagnostic.message);
    break;
  }
  return error;
}

std::string key_of(const KernelMaker& maker, const KernelProgram& program) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", maker.architecture, maker.nvrtc->version(), maker.device->driver().version(),
                     maker.fuses, program.text);
}

/// The kernels of the program as the driver has loaded them, in its order.
Result<std::vector<LoadedKernel>> load_kernels(const KernelMaker& maker, const KernelProgram& program,
                                               const std::string& code) {
  const Driver& driver = maker.device->driver();
  DriverModule loaded = nullptr;
  if (auto taken = driver.check(driver->module_load_data(&loaded, code.data()), "loading kernels"); !taken)
    return taken.error();
  const auto owned = std::make_shared<const LoadedModule>(maker.device, loaded);
  std::vector<LoadedKernel> kernels;
  for (const std::string& name : program.names) {
    DriverFunction function = nullptr;
    if (auto found = driver.check(driver->module_get_function(&function, loaded, name.c_str()), "finding a kernel");
        !found)
      return found.error();
    kernels.push_back({owned, function});
  }
  return kernels;
}

struct Compiled {
  std::vector<LoadedKernel> kernels;
  std::string note = {};
};

Result<Compiled> compile_missing(const KernelMaker& maker, const Wants& wants) {
  if (wants.missing.empty()) return Compiled{};
  const KernelProgram program = join_kernels(wants.missing);
  const std::string key = key_of(maker, program);
  if (const auto kept = maker.cache.find(key)) {
    auto loaded = load_kernels(maker, program, *kept);
    if (loaded) return Compiled{*std::move(loaded)};
    // What the driver refuses now, after a change of it for example, it would refuse each time: it is compiled anew.
    if (loaded.error().diagnostic.code == "out-of-memory") return loaded.error();
  }
  const auto code = maker.nvrtc->compile(program.text, maker.architecture, maker.fuses);
  if (!code) return compile_error(maker, wants, code.error());
  auto loaded = load_kernels(maker, program, *code);
  if (!loaded) return loaded.error();
  Compiled compiled{*std::move(loaded)};
  if (const auto kept = maker.cache.keep(key, *code); !kept)
    compiled.note = "compiled kernels are not kept for the next session: " + kept.error().diagnostic.message;
  return compiled;
}

}  // namespace

KernelProgram join_kernels(std::span<const KernelSource> sources) {
  KernelProgram program{.text = std::string(prelude()), .names = {}};
  for (const KernelSource& source : sources) {
    program.names.push_back(kernel_name(source, program.names.size()));
    program.text += kernel_text(source, program.names.back());
  }
  return program;
}

Result<Kernels> make_kernels(const KernelMaker& maker, std::span<const Launch* const> launches,
                             std::span<const plan::Step* const> steps, KernelStore* store) {
  KernelStore own;
  KernelStore& known = store ? *store : own;
  Wants wants = wants_of(launches, steps, known);
  auto compiled = compile_missing(maker, wants);
  const auto has_numbers = [](const KernelStore::Wanted& wanted) { return !wanted.numbers.empty(); };
  if (!compiled && compiled.error().diagnostic.code == "device-failed" &&
      std::any_of(wants.by_launch.begin(), wants.by_launch.end(), has_numbers)) {
    known.give_up_parameters();
    wants = wants_of(launches, steps, known);
    compiled = compile_missing(maker, wants);
  }
  if (!compiled) return compiled.error();
  for (std::size_t i = 0; i < wants.missing.size(); ++i) known.keep(wants.missing[i], compiled->kernels[i]);
  Kernels kernels;
  kernels.note = compiled->note;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    KernelStore::Wanted& wanted = wants.by_launch[i];
    const LoadedKernel& kernel = wanted.held ? *wanted.held : compiled->kernels[wants.number_of_missing(wanted.source)];
    kernels.by_launch.push_back({kernel.function, std::move(wanted.numbers)});
    if (kernels.loaded.empty() || kernels.loaded.back() != kernel.loaded) kernels.loaded.push_back(kernel.loaded);
  }
  return kernels;
}

}  // namespace onnxkit::cuda
