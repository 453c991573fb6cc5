#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libonnxkit/base/system/shared_library.h"
#include "libonnxkit/cuda/libraries/driver.h"

// The part of cuDNN's backend interface that onnxkit calls: its numbers and functions, as NVIDIA's headers have them (tests/cuda_headers compares).
namespace onnxkit::cuda::cudnn {

using Status = int;
inline constexpr Status success = 0, bad_parameter = 2000, not_supported = 3000;

struct HandleOpaque;
using Handle = HandleOpaque*;
using Descriptor = void*;

enum class DataType : int { f32 = 0, f64 = 1, f16 = 2, int32 = 4, bf16 = 9, boolean = 11 };
enum class ConvolutionMode : int { cross_correlation = 1 };
enum class NanPropagation : int { propagates = 1 };
enum class HeuristicMode : int { fallback = 2, a = 3 };
enum class ReductionMode : int { add = 0, maximum = 3 };

enum class PointwiseMode : int {
  add = 0,
  multiply = 1,
  minimum = 2,
  divide = 6,
  subtract = 9,
  exponential = 13,
  logarithm = 15,
  relu = 100,
  tanh = 101,
  sigmoid = 102,
  gelu = 104,
  swish = 106,
  gelu_tanh = 107,
  greater_or_equal = 303,
  index = 501,   ///< of each element along an axis
  select = 601,  ///< x where the third operand holds, else b
};

enum class NumericalNote : int {
  tensor_core = 0,
  down_convert_inputs = 1,
  reduced_precision_reduction = 2,
  fft = 3,
  winograd = 5,
  winograd_4x4 = 6,
  winograd_6x6 = 7,
  winograd_13x13 = 8,
};

enum class DescriptorType : int {
  pointwise = 0,
  convolution = 1,
  engine = 2,
  engine_configuration = 3,
  heuristic = 4,
  execution_plan = 5,
  convolution_operation = 10,
  pointwise_operation = 13,
  operation_graph = 15,
  variant_pack = 16,
  tensor = 17,
  product = 18,
  product_operation = 19,
  reduction = 21,
  reduction_operation = 22,
  device = 38,
};

enum class AttributeType : int {
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  f32 = 4,
  f64 = 5,
  pointer = 6,
  convolution_mode = 7,
  heuristic_mode = 8,
  nan_propagation = 10,
  numerical_note = 11,
  pointwise_mode = 14,
  descriptor = 15,
  reduction_mode = 18,
  character = 24,
};

enum class Attribute : int {
  pointwise_mode = 0,
  pointwise_precision = 1,
  pointwise_nan_propagation = 2,
  pointwise_relu_lower = 3,
  pointwise_relu_upper = 4,
  pointwise_swish_beta = 8,
  pointwise_axis = 9,
  convolution_precision = 100,
  convolution_mode = 101,
  convolution_dilations = 102,
  convolution_strides = 103,
  convolution_post_padding = 104,
  convolution_pre_padding = 105,
  convolution_axes = 106,
  heuristic_mode = 200,
  heuristic_graph = 201,
  heuristic_results = 202,
  heuristic_device = 204,
  configuration_engine = 300,
  plan_handle = 400,
  plan_configuration = 401,
  plan_workspace = 402,
  plan_device = 407,
  forward_alpha = 700,
  forward_beta = 701,
  forward_convolution = 702,
  forward_w = 703,
  forward_x = 704,
  forward_y = 705,
  operation_pointwise = 750,
  operation_pointwise_x = 751,
  operation_pointwise_b = 752,
  operation_pointwise_y = 753,
  operation_pointwise_t = 758,
  graph_handle = 800,
  graph_operations = 801,
  tensor_alignment = 900,
  tensor_type = 901,
  tensor_dimensions = 902,
  tensor_strides = 903,
  tensor_id = 906,
  tensor_is_virtual = 907,
  tensor_is_by_value = 908,
  pack_ids = 1000,
  pack_pointers = 1001,
  pack_workspace = 1003,
  engine_number = 1301,
  engine_notes = 1303,
  product_precision = 1500,
  product_a = 1520,
  product_b = 1521,
  product_c = 1522,
  operation_product = 1523,
  reduction_mode = 1600,
  reduction_precision = 1601,
  reduction_x = 1610,
  reduction_y = 1611,
  operation_reduction = 1612,
  device_json = 2702,
};

struct Functions {
  std::size_t (*version)() = nullptr;
  void (*last_error)(char* message, std::size_t bytes) = nullptr;
  Status (*create)(Handle* handle) = nullptr;
  Status (*destroy)(Handle handle) = nullptr;
  Status (*set_stream)(Handle handle, DriverStream stream) = nullptr;
  Status (*create_descriptor)(DescriptorType type, Descriptor* descriptor) = nullptr;
  Status (*destroy_descriptor)(Descriptor descriptor) = nullptr;
  Status (*finalize)(Descriptor descriptor) = nullptr;
  Status (*set_attribute)(Descriptor descriptor, Attribute name, AttributeType type, std::int64_t count,
                          const void* values) = nullptr;
  Status (*get_attribute)(Descriptor descriptor, Attribute name, AttributeType type, std::int64_t room,
                          std::int64_t* count, void* values) = nullptr;
  Status (*execute)(Handle handle, Descriptor plan, Descriptor pack) = nullptr;
};

/// A status with what the library last said.
std::string text_of(const Functions& functions, Status status);

/// Errors: missing-module when there is no library, not-supported when it is not version 9 or lacks a function.
Result<Functions> open(const LibraryPlaces& places);

}  // namespace onnxkit::cuda::cudnn
