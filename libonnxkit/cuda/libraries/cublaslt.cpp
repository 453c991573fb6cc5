#include "libonnxkit/cuda/libraries/cublaslt.h"

#include <fmt/core.h>

namespace onnxkit::cuda::cublaslt {
namespace {

/// The first function that the library lacks; null when it has all.
const char* first_missing(const SharedLibrary& library, Functions& all) {
  const char* missing = nullptr;
  const auto bind = [&](auto& function, const char* name) {
    if (!library.bind(function, name) && !missing) missing = name;
  };
  bind(all.version, "cublasLtGetVersion");
  bind(all.create, "cublasLtCreate");
  bind(all.destroy, "cublasLtDestroy");
  bind(all.create_operation, "cublasLtMatmulDescCreate");
  bind(all.destroy_operation, "cublasLtMatmulDescDestroy");
  bind(all.set_operation, "cublasLtMatmulDescSetAttribute");
  bind(all.create_layout, "cublasLtMatrixLayoutCreate");
  bind(all.destroy_layout, "cublasLtMatrixLayoutDestroy");
  bind(all.set_layout, "cublasLtMatrixLayoutSetAttribute");
  bind(all.create_preference, "cublasLtMatmulPreferenceCreate");
  bind(all.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  bind(all.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  bind(all.find_algorithms, "cublasLtMatmulAlgoGetHeuristic");
  bind(all.multiply, "cublasLtMatmul");
  return missing;
}

}  // namespace

std::string text_of(Status status) {
  const char* name = "an unknown status";
  if (status == not_initialized) name = "not initialized";
  if (status == alloc_failed) name = "out of memory";
  if (status == invalid_value) name = "invalid value";
  if (status == arch_mismatch) name = "not for this device";
  if (status == execution_failed) name = "execution failed";
  if (status == internal_error) name = "internal error";
  if (status == not_supported) name = "not supported";
  return fmt::format("{} ({})", name, status);
}

Result<Functions> open(const LibraryPlaces& places, int cuda_version) {
  auto library = cuda_version == 0 || cuda_version >= 13000
                     ? SharedLibrary::open(places, {"libcublasLt.so.13", "libcublasLt.so.12"})
                     : SharedLibrary::open(places, {"libcublasLt.so.12"});
  if (!library) return library.error();
  Functions all;
  if (const char* missing = first_missing(*library, all))
    return make_error("not-supported", fmt::format("{} has no function {}", library->path(), missing));
  const std::size_t version = all.version();
  constexpr std::size_t first = 120000, behind_last = 140000;
  if (version < first || version >= behind_last) {
    return make_error("not-supported",
                      fmt::format("{} is version {}; cuBLASLt 12 and 13 are known", library->path(), version));
  }
  return all;
}

}  // namespace onnxkit::cuda::cublaslt
