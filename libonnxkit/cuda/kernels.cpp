#include "libonnxkit/cuda/kernels.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/cuda/text/prelude.h"

namespace onnxkit::cuda {
namespace {

/// Names say which kernels have threads that meet: what runs kernels on the host goes by that.
std::string kernel_name(const Launch& launch, std::size_t number) {
  return fmt::format("{}kernel_{}", launch.synchronizes ? "block_" : "", number);
}

std::string kernel_text(const Launch& launch, const std::string& name) {
  // With one block asked for, the compiler leaves loads where they are instead of saving registers for more threads.
  return fmt::format("\nextern \"C\" __global__ void __launch_bounds__({}{}) {}{}", launch.threads,
                     launch.spends_registers ? ", 1" : "", name, launch.text);
}

/// The error of the first kernel that does not compile alone, with the kind of its step; else that of the program.
Error compile_error(const KernelMaker& maker, const KernelProgram& program, std::span<const Launch* const> launches,
                    std::span<const std::string_view> kinds, Error error) {
  for (std::size_t kernel = 0; kernel < program.names.size(); ++kernel) {
    const auto at = std::find(program.by_launch.begin(), program.by_launch.end(), kernel) - program.by_launch.begin();
    const auto number = static_cast<std::size_t>(at);
    const std::string text = std::string(prelude()) + kernel_text(*launches[number], program.names[kernel]);
    auto alone = maker.nvrtc->compile(text, maker.architecture, maker.fuses);
    if (alone) continue;
    error = alone.error();
    error.diagnostic.message =
        fmt::format("the kernel of a step {} does not compile: {}", kinds[number], error.diagnostic.message);
    break;
  }
  return error;
}

std::string key_of(const KernelMaker& maker, const KernelProgram& program) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", maker.architecture, maker.nvrtc->version(), maker.device->driver().version(),
                     maker.fuses, program.text);
}

/// The kernels of the program as the driver has loaded them.
Result<Kernels> load_kernels(const KernelMaker& maker, const KernelProgram& program, const std::string& code) {
  const Driver& driver = maker.device->driver();
  Kernels kernels;
  DriverModule loaded = nullptr;
  if (auto taken = driver.check(driver->module_load_data(&loaded, code.data()), "loading kernels"); !taken)
    return taken.error();
  kernels.loaded = LoadedModule(maker.device, loaded);
  std::vector<DriverFunction> functions;
  for (const std::string& name : program.names) {
    DriverFunction function = nullptr;
    if (auto found = driver.check(driver->module_get_function(&function, loaded, name.c_str()), "finding a kernel");
        !found)
      return found.error();
    functions.push_back(function);
  }
  for (const std::size_t kernel : program.by_launch) kernels.by_launch.push_back(functions[kernel]);
  return kernels;
}

}  // namespace

KernelProgram join_kernels(std::span<const Launch* const> launches) {
  KernelProgram program{.text = std::string(prelude()), .names = {}, .by_launch = {}};
  std::unordered_map<std::string, std::size_t> by_text;
  for (const Launch* launch : launches) {
    const std::string key =
        fmt::format("{} {} {} {}", launch->threads, launch->synchronizes, launch->spends_registers, launch->text);
    const auto [at, is_new] = by_text.emplace(key, program.names.size());
    if (is_new) {
      program.names.push_back(kernel_name(*launch, program.names.size()));
      program.text += kernel_text(*launch, program.names.back());
    }
    program.by_launch.push_back(at->second);
  }
  return program;
}

Result<Kernels> make_kernels(const KernelMaker& maker, std::span<const Launch* const> launches,
                             std::span<const std::string_view> kinds) {
  if (launches.empty()) return Kernels{};
  const KernelProgram program = join_kernels(launches);
  const std::string key = key_of(maker, program);
  if (const auto kept = maker.cache.find(key)) {
    auto loaded = load_kernels(maker, program, *kept);
    // What the driver refuses now, after a change of it for example, it would refuse each time: it is compiled anew.
    if (loaded || loaded.error().diagnostic.code == "out-of-memory") return loaded;
  }
  const auto code = maker.nvrtc->compile(program.text, maker.architecture, maker.fuses);
  if (!code) return compile_error(maker, program, launches, kinds, code.error());
  auto loaded = load_kernels(maker, program, *code);
  if (!loaded) return loaded;
  if (const auto kept = maker.cache.keep(key, *code); !kept)
    loaded->note = "compiled kernels are not kept for the next session: " + kept.error().diagnostic.message;
  return loaded;
}

}  // namespace onnxkit::cuda
