#pragma once

#include <cstddef>
#include <cstdint>

#include "libonnxkit/base/system/shared_library.h"
#include "libonnxkit/cuda/libraries/driver.h"

// The part of cuBLASLt that onnxkit calls: its numbers and functions, as NVIDIA's header has them (tests/cuda_headers compares). Descriptors are
// pointers to what only the library knows.
namespace onnxkit::cuda::cublaslt {

using Status = int;
inline constexpr Status success = 0, not_initialized = 1, alloc_failed = 3, invalid_value = 7, arch_mismatch = 8,
                        execution_failed = 13, internal_error = 14, not_supported = 15;

struct HandleOpaque;
struct OperationOpaque;
struct LayoutOpaque;
struct PreferenceOpaque;
using Handle = HandleOpaque*;
using Operation = OperationOpaque*;    ///< cublasLtMatmulDesc_t
using Layout = LayoutOpaque*;          ///< cublasLtMatrixLayout_t
using Preference = PreferenceOpaque*;  ///< cublasLtMatmulPreference_t

enum class DataType : int { f32 = 0, f64 = 1, f16 = 2, bf16 = 14, f8_e4m3 = 28 };
enum class ComputeType : int { f32 = 68, f64 = 70, tf32 = 77 };
enum class Transpose : std::int32_t { none = 0, transposed = 1 };
enum class Order : std::int32_t { columns = 0 };

enum class LayoutAttribute : int { type = 0, order = 1, rows = 2, columns = 3, leading = 4, batches = 5, stride = 6 };
enum class OperationAttribute : int {
  compute_type = 0,
  scale_type = 1,
  pointer_mode = 2,
  transpose_a = 3,
  transpose_b = 4,
  epilogue = 7,
  bias_pointer = 8,
  bias_stride = 10,
  a_scale_pointer = 17,
  b_scale_pointer = 18,
  bias_type = 26,
  a_scale_mode = 31,
  b_scale_mode = 32,
};
/// Of a factor: a float32 for each row of the first one, for each column of the second; cuBLASLt 12.9 and newer.
enum class ScaleMode : std::int32_t { outer_vector = 3 };
enum class Epilogue : std::uint32_t { none = 1, relu = 2, bias = 4, relu_bias = 6, gelu = 32, gelu_bias = 36 };
enum class PreferenceAttribute : int {
  most_workspace = 1,
  alignment_a = 5,
  alignment_b = 6,
  alignment_c = 7,
  alignment_d = 8
};

struct Algorithm {
  std::uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

struct Functions {
  std::size_t (*version)() = nullptr;
  Status (*create)(Handle* handle) = nullptr;
  Status (*destroy)(Handle handle) = nullptr;
  Status (*create_operation)(Operation* operation, ComputeType compute, DataType scale) = nullptr;
  Status (*destroy_operation)(Operation operation) = nullptr;
  Status (*set_operation)(Operation operation, OperationAttribute name, const void* value, std::size_t bytes) = nullptr;
  Status (*create_layout)(Layout* layout, DataType type, std::uint64_t rows, std::uint64_t columns,
                          std::int64_t leading) = nullptr;
  Status (*destroy_layout)(Layout layout) = nullptr;
  Status (*set_layout)(Layout layout, LayoutAttribute name, const void* value, std::size_t bytes) = nullptr;
  Status (*create_preference)(Preference* preference) = nullptr;
  Status (*destroy_preference)(Preference preference) = nullptr;
  Status (*set_preference)(Preference preference, PreferenceAttribute name, const void* value,
                           std::size_t bytes) = nullptr;
  /// Algorithms for a product, the fastest by its estimate first.
  Status (*find_algorithms)(Handle handle, Operation operation, Layout a, Layout b, Layout c, Layout d,
                            Preference preference, int most, HeuristicResult* results, int* found) = nullptr;
  Status (*multiply)(Handle handle, Operation operation, const void* alpha, const void* a, Layout a_layout,
                     const void* b, Layout b_layout, const void* beta, const void* c, Layout c_layout, void* d,
                     Layout d_layout, const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                     DriverStream stream) = nullptr;
};

/// "not supported (15)"
std::string text_of(Status status);

/// Of the newest version that a driver for this version of CUDA runs, as Nvrtc::open has it. Errors: missing-module when there is no library,
/// not-supported when it is none of versions 12 and 13 or lacks a function.
Result<Functions> open(const LibraryPlaces& places, int cuda_version);

}  // namespace onnxkit::cuda::cublaslt
