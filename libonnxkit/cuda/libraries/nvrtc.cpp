#include "libonnxkit/cuda/libraries/nvrtc.h"

#include <algorithm>

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

Result<SharedLibrary> open_nvrtc(const LibraryPlaces& places, int cuda_version) {
  if (cuda_version == 0 || cuda_version >= 13000)
    return SharedLibrary::open(places, {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"});
  if (cuda_version >= 12000) return SharedLibrary::open(places, {"libnvrtc.so.12", "libnvrtc.so.11.2"});
  return SharedLibrary::open(places, {"libnvrtc.so.11.2"});
}

}  // namespace

Result<std::shared_ptr<const Nvrtc>> Nvrtc::open(const LibraryPlaces& places, int cuda_version) {
  const auto library = open_nvrtc(places, cuda_version);
  if (!library) {
    Error error = library.error();
    const int major = cuda_version == 0 ? 13 : cuda_version / 1000;
    error.diagnostic.message += major >= 13 ? std::string(": pip install nvidia-cuda-nvrtc")
                                            : fmt::format(": pip install nvidia-cuda-nvrtc-cu{}", major);
    return error;
  }
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc());
  std::string_view missing;
  for_each_nvrtc_function(nvrtc->call_, [&](auto*& function, const char* name) {
    if (!library->bind(function, name)) missing = name;
  });
  if (!missing.empty())
    return make_error("missing-module", fmt::format("the library {} has no function {}", library->path(), missing));
  const NvrtcFunctions& call = nvrtc->call_;
  int major = 0, minor = 0, count = 0;
  if (const NvrtcStatus status = call.version(&major, &minor); status != nvrtc_success)
    return nvrtc->failure(status, "telling its version");
  nvrtc->version_ = fmt::format("{}.{}", major, minor);
  if (const NvrtcStatus status = call.get_num_supported_archs(&count); status != nvrtc_success || count <= 0)
    return nvrtc->failure(status, "telling its architectures");
  nvrtc->capabilities_.resize(static_cast<std::size_t>(count));
  if (const NvrtcStatus status = call.get_supported_archs(nvrtc->capabilities_.data()); status != nvrtc_success)
    return nvrtc->failure(status, "telling its architectures");
  std::sort(nvrtc->capabilities_.begin(), nvrtc->capabilities_.end());
  return std::shared_ptr<const Nvrtc>(std::move(nvrtc));
}

Result<std::string> Nvrtc::architecture_for(int capability) const {
  const auto next = std::upper_bound(capabilities_.begin(), capabilities_.end(), capability);
  if (next == capabilities_.begin())
    return make_error("not-supported", fmt::format("NVRTC {} makes no code for compute capability {}.{}", version_,
                                                   capability / 10, capability % 10));
  const int known = *std::prev(next);
  return fmt::format("{}_{}", known == capability ? "sm" : "compute", known);
}

Error Nvrtc::failure(NvrtcStatus status, std::string_view doing) const {
  const char* text = call_.get_error_string(status);
  return make_error("device-failed", fmt::format("NVRTC failed at {}: {}", doing, text ? text : "no reason"));
}

std::string Nvrtc::log_of(NvrtcProgram program) const {
  std::size_t bytes = 0;
  if (call_.get_program_log_size(program, &bytes) != nvrtc_success || bytes < 2) return {};
  std::string log(bytes, '\0');
  if (call_.get_program_log(program, log.data()) != nvrtc_success) return {};
  log.resize(std::min(log.find('\0'), log.size()));
  return log;
}

Result<std::string> Nvrtc::compile(const std::string& text, const std::string& architecture, bool fuses) const {
  const bool makes_ptx = architecture.starts_with("compute_");
  NvrtcProgram program = nullptr;
  if (const NvrtcStatus status = call_.create_program(&program, text.c_str(), "onnxkit.cu", 0, nullptr, nullptr);
      status != nvrtc_success)
    return failure(status, "taking a program");
  const auto destroy = [this](NvrtcProgram* made) { (void)call_.destroy_program(made); };
  const std::unique_ptr<NvrtcProgram, decltype(destroy)> owner(&program, destroy);
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--std=c++17", fuses ? "--fmad=true" : "--fmad=false"};
  if (const NvrtcStatus status = call_.compile_program(program, 3, options); status != nvrtc_success) {
    Error error = failure(status, "compiling kernels");
    const std::string log = log_of(program);
    for (std::size_t at = 0; at < log.size();) {
      const std::size_t end = std::min(log.find('\n', at), log.size());
      if (end > at) error.diagnostic.notes.push_back(log.substr(at, end - at));
      at = end + 1;
    }
    return error;
  }
  std::size_t bytes = 0;
  if (const NvrtcStatus status =
          makes_ptx ? call_.get_ptx_size(program, &bytes) : call_.get_cubin_size(program, &bytes);
      status != nvrtc_success)
    return failure(status, "telling the size of its code");
  std::string code(bytes, '\0');
  if (const NvrtcStatus status =
          makes_ptx ? call_.get_ptx(program, code.data()) : call_.get_cubin(program, code.data());
      status != nvrtc_success)
    return failure(status, "giving its code");
  return code;
}

}  // namespace onnxkit::cuda
