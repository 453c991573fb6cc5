#include "tests/unit/cuda/host_program.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "libonnxkit/cuda/text/kernel_form.h"
#include "libonnxkit/cuda/text/prelude.h"
#include "tests/cuda_host/fibres.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests {
HostStep::HostStep(plan::Step given) : step(std::move(given)) {
  std::uint32_t buffers = 0;
  for (const auto* views : {&step.inputs, &step.outputs})
    for (const plan::View& view : *views) buffers = std::max(buffers, view.buffer + 1);
  memory.resize(buffers);
  plan.buffers.resize(buffers);
  for (const auto* views : {&step.inputs, &step.outputs}) {
    for (const plan::View& view : *views) {
      std::int64_t last = view.offset;
      for (std::size_t axis = 0; axis < view.rank(); ++axis)
        last += (view.dims[axis] - 1) * std::max<std::int64_t>(view.strides[axis], 0);
      auto& bytes = memory[view.buffer];
      bytes.resize(std::max(bytes.size(), static_cast<std::size_t>((last + 1) * storage_bits(view.type) / 8)));
    }
  }
  std::uint64_t offset = 0;
  for (std::uint32_t b = 0; b < buffers; ++b) {
    plan.buffers[b] = {plan::Home::arena, ElementType::undefined, memory[b].size(), offset, 0};
    offset += (memory[b].size() + 255) / 256 * 256;
  }
  write();
}

std::span<std::int64_t> HostStep::integers(std::size_t input) {
  std::vector<std::byte>& bytes = memory[step.inputs[input].buffer];
  return {reinterpret_cast<std::int64_t*>(bytes.data()), bytes.size() / sizeof(std::int64_t)};
}

void HostStep::make_constant(std::size_t input) {
  const plan::View& view = step.inputs[input];
  const std::vector<std::byte>& bytes = memory[view.buffer];
  const auto count = static_cast<std::int64_t>(bytes.size()) * 8 / storage_bits(view.type);
  plan.buffers[view.buffer].home = plan::Home::constant;
  plan.buffers[view.buffer].index = plan.constants.size();
  plan.constants.push_back(*Tensor::from_bytes(view.type, {count}, bytes));
  write();
}

void HostStep::write() {
  const cuda::Preparation preparation{.plan = plan};
  const auto write = cuda::step_registry().find(step.kind);
  if (!write) {
    error = "no such kind";
    return;
  }
  auto written = write(step, preparation);
  if (written)
    launches = *std::move(written);
  else
    error = written.error().diagnostic.message;
}

plan::View HostStep::view(std::uint32_t buffer, ElementType type, plan::Dims dims) {
  plan::Dims strides = plan::row_major_strides(dims);
  return {.buffer = buffer, .type = type, .dims = std::move(dims), .strides = std::move(strides)};
}

double HostStep::real(const plan::View& view, std::int64_t at) const {
  const auto width = static_cast<std::size_t>(storage_bits(view.type) / 8);
  const auto bytes = std::span(memory[view.buffer]).subspan(static_cast<std::size_t>(at) * width, width);
  switch (domain_of(view.type)) {
    case Domain::integer: {
      std::int64_t number = 0;
      decode(view.type, bytes, std::span(&number, 1));
      return static_cast<double>(number);
    }
    case Domain::natural: {
      std::uint64_t number = 0;
      decode(view.type, bytes, std::span(&number, 1));
      return static_cast<double>(number);
    }
    case Domain::boolean:
      return bytes[0] != std::byte{0} ? 1 : 0;
    default: {
      double number = 0;
      decode(view.type, bytes, std::span(&number, 1));
      return number;
    }
  }
}

/// What parameters that are not const say is written.
std::vector<bool> writes_of_text(const cuda::Launch& launch) {
  std::vector<bool> writes;
  std::string_view parameters = launch.text;
  parameters = parameters.substr(1, parameters.find(')') - 1);
  while (writes.size() < launch.operands.size()) {
    writes.push_back(!parameters.starts_with("const "));
    parameters.remove_prefix(std::min(parameters.find(", "), parameters.size() - 2) + 2);
  }
  return writes;
}

namespace {

struct CalledKernel {
  std::string text;
  std::vector<std::int64_t> numbers = {};
};

CalledKernel called_kernel(const HostStep& step, const cuda::Launch& launch) {
  if (!step.passes_numbers) return {launch.text};
  const cuda::KernelForm form(launch.text);
  return {form.with_parameters(std::vector<bool>(form.numbers().size(), true)), form.numbers()};
}

}  // namespace

void HostProgram::add(HostStep& step) {
  for (const cuda::Launch& launch : step.launches) CHECK_MESSAGE(launch.writes == writes_of_text(launch), launch.text);
  for (const cuda::Launch& launch : step.launches) {
    const std::string text = called_kernel(step, launch).text;
    threads_[text] = launch.threads;
    if (step.passes_numbers) numbered_.insert(text);
    names_.try_emplace(text, fmt::format("k{}", names_.size()));
  }
}

std::string HostProgram::compile() {
  if (const char* dump = std::getenv("ONNXKIT_KERNEL_TEXTS")) {
    static int number = 0;
    std::ofstream source(fmt::format("{}/{}.cu", dump, number++));
    source << cuda::prelude();
    for (const auto& [text, name] : names_)
      source << "extern \"C\" __global__ void __launch_bounds__(" << threads_[text] << ") " << name << text;
  }
  const TempFolder folder;
  const std::string source_path = folder / "kernels.cpp", library_path = folder / "kernels.so",
                    log_path = folder / "log";
  {
    std::ofstream source(source_path);
    source << "#define ONNXKIT_CUDA_HOST 1\n#include \"" ONNXKIT_TESTS "/cuda_host/kernel.h\"\n" << cuda::prelude();
    const auto write = [&](bool passes_numbers) {
      for (const auto& [text, name] : names_) {
        if (numbered_.contains(text) == passes_numbers)
          source << "extern \"C\" void " << name << text << "ONNXKIT_HOST_KERNEL(" << name << ")\n";
      }
    };
    write(false);
    // A number says more to the compiler than a parameter does.
    for (const char* warning : {"sign-compare", "maybe-uninitialized", "unused-parameter"})
      source << "#pragma GCC diagnostic ignored \"-W" << warning << "\"\n";
    write(true);
  }
  const std::string command = fmt::format(
      "c++ -std=c++17 -O1 -shared -fPIC -fwrapv -fno-strict-aliasing -Wall -Wextra -Werror -Wno-unknown-pragmas "
      "-Wno-unused-function -Wno-unused-local-typedefs -o {} {} >{} 2>&1",
      library_path, source_path, log_path);
  if (std::system(command.c_str()) != 0) {
    std::stringstream log;
    log << std::ifstream(log_path).rdbuf();
    std::stringstream text;
    text << std::ifstream(source_path).rdbuf();
    return log.str().substr(0, 4000) +
           text.str().substr(std::min<std::size_t>(text.str().size(), cuda::prelude().size()));
  }
  library_ = dlopen(library_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library_ ? "" : dlerror();
}

std::string HostProgram::run(HostStep& step, bool backwards) {
  std::uint32_t fault = 0;
  for (const cuda::Launch& launch : step.launches) {
    CalledKernel kernel = called_kernel(step, launch);
    const auto call = reinterpret_cast<void (*)(void**)>(dlsym(library_, (names_.at(kernel.text) + "_call").c_str()));
    const auto shown = static_cast<HostThread**>(dlsym(library_, "onnxkit_host_thread"));
    if (!call || !shown) return "a kernel is not in the library";
    std::vector<void*> pointers;
    for (const plan::View& view : launch.operands)
      pointers.push_back(step.memory[view.buffer].data() + view.offset * (storage_bits(view.type) / 8));
    if (!launch.fault.empty()) pointers.push_back(&fault);
    std::vector<void*> parameters;
    for (void*& pointer : pointers) parameters.push_back(&pointer);
    for (std::int64_t& number : kernel.numbers) parameters.push_back(&number);
    HostThread state{};
    state.threads = {launch.threads, 1, 1};
    state.blocks = {launch.blocks, 1, 1};
    if (!launch.synchronizes) {
      *shown = &state;
      for (state.block.x = 0; state.block.x < launch.blocks; ++state.block.x)
        for (state.thread.x = 0; state.thread.x < launch.threads; ++state.thread.x) call(parameters.data());
      continue;
    }
    *shown = &state;
    for (state.block.x = 0; state.block.x < launch.blocks; ++state.block.x)
      if (!fibres_.run_block(call, parameters.data(), state, backwards) || !fibres_.waited_alike())
        return "threads met at different barriers";
  }
  return fault == 0 ? "" : "a kernel found a fault";
}

}  // namespace onnxkit::tests
