#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/base/system/shared_library.h"

// The part of NVRTC's interface that onnxkit calls. Types and numbers are those of nvrtc.h, which tests/cuda_headers holds them against.
namespace onnxkit::cuda {

using NvrtcStatus = int;
inline constexpr NvrtcStatus nvrtc_success = 0;
inline constexpr NvrtcStatus nvrtc_compilation_failed = 6;
struct NvrtcProgramOpaque;
using NvrtcProgram = NvrtcProgramOpaque*;

/// The functions that are used, under their names without "nvrtc".
struct NvrtcFunctions {
  NvrtcStatus (*version)(int* major, int* minor);
  const char* (*get_error_string)(NvrtcStatus status);
  NvrtcStatus (*get_num_supported_archs)(int* count);
  NvrtcStatus (*get_supported_archs)(int* archs);
  NvrtcStatus (*create_program)(NvrtcProgram* program, const char* text, const char* name, int header_count,
                                const char* const* headers, const char* const* header_names);
  NvrtcStatus (*destroy_program)(NvrtcProgram* program);
  NvrtcStatus (*compile_program)(NvrtcProgram program, int option_count, const char* const* options);
  NvrtcStatus (*get_program_log_size)(NvrtcProgram program, std::size_t* bytes);
  NvrtcStatus (*get_program_log)(NvrtcProgram program, char* log);
  NvrtcStatus (*get_cubin_size)(NvrtcProgram program, std::size_t* bytes);
  NvrtcStatus (*get_cubin)(NvrtcProgram program, char* cubin);
  NvrtcStatus (*get_ptx_size)(NvrtcProgram program, std::size_t* bytes);
  NvrtcStatus (*get_ptx)(NvrtcProgram program, char* ptx);
};

/// Shows each function with the name of its symbol in NVRTC.
template <class Functions, class Show>
void for_each_nvrtc_function(Functions& f, Show show) {
  show(f.version, "nvrtcVersion");
  show(f.get_error_string, "nvrtcGetErrorString");
  show(f.get_num_supported_archs, "nvrtcGetNumSupportedArchs");
  show(f.get_supported_archs, "nvrtcGetSupportedArchs");
  show(f.create_program, "nvrtcCreateProgram");
  show(f.destroy_program, "nvrtcDestroyProgram");
  show(f.compile_program, "nvrtcCompileProgram");
  show(f.get_program_log_size, "nvrtcGetProgramLogSize");
  show(f.get_program_log, "nvrtcGetProgramLog");
  show(f.get_cubin_size, "nvrtcGetCUBINSize");
  show(f.get_cubin, "nvrtcGetCUBIN");
  show(f.get_ptx_size, "nvrtcGetPTXSize");
  show(f.get_ptx, "nvrtcGetPTX");
}

/// NVIDIA's compiler of CUDA C++ as a library. It needs no GPU.
class Nvrtc {
 public:
  /// `cuda_version` of the driver, 0 for none: a compiler for a newer major version makes code that the driver does not load. Error missing-module.
  static Result<std::shared_ptr<const Nvrtc>> open(const LibraryPlaces& places, int cuda_version);

  /// "13.0".
  const std::string& version() const { return version_; }
  /// What code for a device of compute capability 10 * major + minor is compiled for: "sm_90"; "compute_90", which the driver compiles again, for
  /// devices that this compiler does not know. Error not-supported.
  Result<std::string> architecture_for(int capability) const;
  /// A program for such an architecture: machine code, or PTX with its final 0. Error device-failed, with the compiler's log.
  Result<std::string> compile(const std::string& text, const std::string& architecture, bool fuses) const;

 private:
  Nvrtc() = default;
  Error failure(NvrtcStatus status, std::string_view doing) const;
  std::string log_of(NvrtcProgram program) const;

  NvrtcFunctions call_{};
  std::string version_;
  std::vector<int> capabilities_;  ///< that it knows, ascending
};

}  // namespace onnxkit::cuda
