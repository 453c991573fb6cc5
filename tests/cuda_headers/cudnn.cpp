// As headers.cpp, of cuDNN, where it is installed.
#if __has_include(<cudnn.h>)
#include <cudnn.h>

#include "libonnxkit/cuda/libraries/cudnn.h"
#include "tests/cuda_headers/alike.h"

namespace {

using namespace onnxkit::cuda::cudnn;

Functions functions;

#define SAME(ours, theirs) static_assert(Alike<decltype(ours), decltype(&theirs)>::value)
SAME(functions.version, cudnnGetVersion);
SAME(functions.last_error, cudnnGetLastErrorString);
SAME(functions.create, cudnnCreate);
SAME(functions.destroy, cudnnDestroy);
SAME(functions.set_stream, cudnnSetStream);
SAME(functions.create_descriptor, cudnnBackendCreateDescriptor);
SAME(functions.destroy_descriptor, cudnnBackendDestroyDescriptor);
SAME(functions.finalize, cudnnBackendFinalize);
SAME(functions.set_attribute, cudnnBackendSetAttribute);
SAME(functions.get_attribute, cudnnBackendGetAttribute);
SAME(functions.execute, cudnnBackendExecute);

static_assert(static_cast<int>(success) == CUDNN_STATUS_SUCCESS);
static_assert(static_cast<int>(bad_parameter) == CUDNN_STATUS_BAD_PARAM);
static_assert(static_cast<int>(not_supported) == CUDNN_STATUS_NOT_SUPPORTED);
static_assert(static_cast<int>(DataType::f32) == CUDNN_DATA_FLOAT);
static_assert(static_cast<int>(DataType::f64) == CUDNN_DATA_DOUBLE);
static_assert(static_cast<int>(DataType::f16) == CUDNN_DATA_HALF);
static_assert(static_cast<int>(DataType::bf16) == CUDNN_DATA_BFLOAT16);
static_assert(static_cast<int>(DataType::int32) == CUDNN_DATA_INT32);
static_assert(static_cast<int>(DataType::boolean) == CUDNN_DATA_BOOLEAN);
static_assert(static_cast<int>(ConvolutionMode::cross_correlation) == CUDNN_CROSS_CORRELATION);
static_assert(static_cast<int>(NanPropagation::propagates) == CUDNN_PROPAGATE_NAN);
static_assert(static_cast<int>(HeuristicMode::fallback) == CUDNN_HEUR_MODE_FALLBACK);
static_assert(static_cast<int>(HeuristicMode::a) == CUDNN_HEUR_MODE_A);
static_assert(static_cast<int>(ReductionMode::add) == CUDNN_REDUCE_TENSOR_ADD);
static_assert(static_cast<int>(ReductionMode::maximum) == CUDNN_REDUCE_TENSOR_MAX);
static_assert(static_cast<int>(PointwiseMode::add) == CUDNN_POINTWISE_ADD);
static_assert(static_cast<int>(PointwiseMode::multiply) == CUDNN_POINTWISE_MUL);
static_assert(static_cast<int>(PointwiseMode::minimum) == CUDNN_POINTWISE_MIN);
static_assert(static_cast<int>(PointwiseMode::divide) == CUDNN_POINTWISE_DIV);
static_assert(static_cast<int>(PointwiseMode::subtract) == CUDNN_POINTWISE_SUB);
static_assert(static_cast<int>(PointwiseMode::exponential) == CUDNN_POINTWISE_EXP);
static_assert(static_cast<int>(PointwiseMode::logarithm) == CUDNN_POINTWISE_LOG);
static_assert(static_cast<int>(PointwiseMode::relu) == CUDNN_POINTWISE_RELU_FWD);
static_assert(static_cast<int>(PointwiseMode::tanh) == CUDNN_POINTWISE_TANH_FWD);
static_assert(static_cast<int>(PointwiseMode::sigmoid) == CUDNN_POINTWISE_SIGMOID_FWD);
static_assert(static_cast<int>(PointwiseMode::gelu) == CUDNN_POINTWISE_GELU_FWD);
static_assert(static_cast<int>(PointwiseMode::swish) == CUDNN_POINTWISE_SWISH_FWD);
static_assert(static_cast<int>(PointwiseMode::gelu_tanh) == CUDNN_POINTWISE_GELU_APPROX_TANH_FWD);
static_assert(static_cast<int>(PointwiseMode::greater_or_equal) == CUDNN_POINTWISE_CMP_GE);
static_assert(static_cast<int>(PointwiseMode::index) == CUDNN_POINTWISE_GEN_INDEX);
static_assert(static_cast<int>(PointwiseMode::select) == CUDNN_POINTWISE_BINARY_SELECT);
static_assert(static_cast<int>(NumericalNote::tensor_core) == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
static_assert(static_cast<int>(NumericalNote::down_convert_inputs) == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
static_assert(static_cast<int>(NumericalNote::reduced_precision_reduction) ==
              CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
static_assert(static_cast<int>(NumericalNote::fft) == CUDNN_NUMERICAL_NOTE_FFT);
static_assert(static_cast<int>(NumericalNote::winograd) == CUDNN_NUMERICAL_NOTE_WINOGRAD);
static_assert(static_cast<int>(NumericalNote::winograd_4x4) == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4);
static_assert(static_cast<int>(NumericalNote::winograd_6x6) == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6);
static_assert(static_cast<int>(NumericalNote::winograd_13x13) == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
static_assert(static_cast<int>(DescriptorType::pointwise) == CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::convolution) == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::engine) == CUDNN_BACKEND_ENGINE_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::engine_configuration) == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::heuristic) == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::execution_plan) == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::convolution_operation) ==
              CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::pointwise_operation) == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::operation_graph) == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::variant_pack) == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::tensor) == CUDNN_BACKEND_TENSOR_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::product) == CUDNN_BACKEND_MATMUL_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::product_operation) == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::reduction) == CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
static_assert(static_cast<int>(DescriptorType::reduction_operation) == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
static_assert(static_cast<int>(AttributeType::handle) == CUDNN_TYPE_HANDLE);
static_assert(static_cast<int>(AttributeType::data_type) == CUDNN_TYPE_DATA_TYPE);
static_assert(static_cast<int>(AttributeType::boolean) == CUDNN_TYPE_BOOLEAN);
static_assert(static_cast<int>(AttributeType::int64) == CUDNN_TYPE_INT64);
static_assert(static_cast<int>(AttributeType::f32) == CUDNN_TYPE_FLOAT);
static_assert(static_cast<int>(AttributeType::f64) == CUDNN_TYPE_DOUBLE);
static_assert(static_cast<int>(AttributeType::pointer) == CUDNN_TYPE_VOID_PTR);
static_assert(static_cast<int>(AttributeType::convolution_mode) == CUDNN_TYPE_CONVOLUTION_MODE);
static_assert(static_cast<int>(AttributeType::heuristic_mode) == CUDNN_TYPE_HEUR_MODE);
static_assert(static_cast<int>(AttributeType::nan_propagation) == CUDNN_TYPE_NAN_PROPOGATION);
static_assert(static_cast<int>(AttributeType::numerical_note) == CUDNN_TYPE_NUMERICAL_NOTE);
static_assert(static_cast<int>(AttributeType::pointwise_mode) == CUDNN_TYPE_POINTWISE_MODE);
static_assert(static_cast<int>(AttributeType::descriptor) == CUDNN_TYPE_BACKEND_DESCRIPTOR);
static_assert(static_cast<int>(AttributeType::reduction_mode) == CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
static_assert(static_cast<int>(AttributeType::character) == CUDNN_TYPE_CHAR);
static_assert(static_cast<int>(Attribute::pointwise_mode) == CUDNN_ATTR_POINTWISE_MODE);
static_assert(static_cast<int>(Attribute::pointwise_precision) == CUDNN_ATTR_POINTWISE_MATH_PREC);
static_assert(static_cast<int>(Attribute::pointwise_nan_propagation) == CUDNN_ATTR_POINTWISE_NAN_PROPAGATION);
static_assert(static_cast<int>(Attribute::pointwise_relu_lower) == CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP);
static_assert(static_cast<int>(Attribute::pointwise_relu_upper) == CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP);
static_assert(static_cast<int>(Attribute::pointwise_axis) == CUDNN_ATTR_POINTWISE_AXIS);
static_assert(static_cast<int>(Attribute::pointwise_swish_beta) == CUDNN_ATTR_POINTWISE_SWISH_BETA);
static_assert(static_cast<int>(Attribute::convolution_precision) == CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
static_assert(static_cast<int>(Attribute::convolution_mode) == CUDNN_ATTR_CONVOLUTION_CONV_MODE);
static_assert(static_cast<int>(Attribute::convolution_dilations) == CUDNN_ATTR_CONVOLUTION_DILATIONS);
static_assert(static_cast<int>(Attribute::convolution_strides) == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
static_assert(static_cast<int>(Attribute::convolution_post_padding) == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
static_assert(static_cast<int>(Attribute::convolution_pre_padding) == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
static_assert(static_cast<int>(Attribute::convolution_axes) == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
static_assert(static_cast<int>(Attribute::heuristic_mode) == CUDNN_ATTR_ENGINEHEUR_MODE);
static_assert(static_cast<int>(Attribute::heuristic_graph) == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
static_assert(static_cast<int>(Attribute::heuristic_results) == CUDNN_ATTR_ENGINEHEUR_RESULTS);
static_assert(static_cast<int>(Attribute::configuration_engine) == CUDNN_ATTR_ENGINECFG_ENGINE);
static_assert(static_cast<int>(Attribute::plan_handle) == CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
static_assert(static_cast<int>(Attribute::plan_configuration) == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
static_assert(static_cast<int>(Attribute::plan_workspace) == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
static_assert(static_cast<int>(Attribute::forward_alpha) == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
static_assert(static_cast<int>(Attribute::forward_beta) == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
static_assert(static_cast<int>(Attribute::forward_convolution) == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
static_assert(static_cast<int>(Attribute::forward_w) == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
static_assert(static_cast<int>(Attribute::forward_x) == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
static_assert(static_cast<int>(Attribute::forward_y) == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
static_assert(static_cast<int>(Attribute::operation_pointwise) == CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
static_assert(static_cast<int>(Attribute::operation_pointwise_x) == CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
static_assert(static_cast<int>(Attribute::operation_pointwise_b) == CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
static_assert(static_cast<int>(Attribute::operation_pointwise_y) == CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
static_assert(static_cast<int>(Attribute::operation_pointwise_t) == CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
static_assert(static_cast<int>(Attribute::product_precision) == CUDNN_ATTR_MATMUL_COMP_TYPE);
static_assert(static_cast<int>(Attribute::product_a) == CUDNN_ATTR_OPERATION_MATMUL_ADESC);
static_assert(static_cast<int>(Attribute::product_b) == CUDNN_ATTR_OPERATION_MATMUL_BDESC);
static_assert(static_cast<int>(Attribute::product_c) == CUDNN_ATTR_OPERATION_MATMUL_CDESC);
static_assert(static_cast<int>(Attribute::operation_product) == CUDNN_ATTR_OPERATION_MATMUL_DESC);
static_assert(static_cast<int>(Attribute::reduction_mode) == CUDNN_ATTR_REDUCTION_OPERATOR);
static_assert(static_cast<int>(Attribute::reduction_precision) == CUDNN_ATTR_REDUCTION_COMP_TYPE);
static_assert(static_cast<int>(Attribute::reduction_x) == CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
static_assert(static_cast<int>(Attribute::reduction_y) == CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
static_assert(static_cast<int>(Attribute::operation_reduction) == CUDNN_ATTR_OPERATION_REDUCTION_DESC);
static_assert(static_cast<int>(Attribute::graph_handle) == CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
static_assert(static_cast<int>(Attribute::graph_operations) == CUDNN_ATTR_OPERATIONGRAPH_OPS);
static_assert(static_cast<int>(Attribute::tensor_alignment) == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
static_assert(static_cast<int>(Attribute::tensor_type) == CUDNN_ATTR_TENSOR_DATA_TYPE);
static_assert(static_cast<int>(Attribute::tensor_dimensions) == CUDNN_ATTR_TENSOR_DIMENSIONS);
static_assert(static_cast<int>(Attribute::tensor_strides) == CUDNN_ATTR_TENSOR_STRIDES);
static_assert(static_cast<int>(Attribute::tensor_id) == CUDNN_ATTR_TENSOR_UNIQUE_ID);
static_assert(static_cast<int>(Attribute::tensor_is_virtual) == CUDNN_ATTR_TENSOR_IS_VIRTUAL);
static_assert(static_cast<int>(Attribute::tensor_is_by_value) == CUDNN_ATTR_TENSOR_IS_BY_VALUE);
static_assert(static_cast<int>(Attribute::pack_ids) == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
static_assert(static_cast<int>(Attribute::pack_pointers) == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
static_assert(static_cast<int>(Attribute::pack_workspace) == CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
static_assert(static_cast<int>(Attribute::engine_number) == CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
static_assert(static_cast<int>(Attribute::engine_notes) == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
#if CUDNN_VERSION >= 90800
static_assert(static_cast<int>(DescriptorType::device) == CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
static_assert(static_cast<int>(Attribute::heuristic_device) == CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
static_assert(static_cast<int>(Attribute::plan_device) == CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
static_assert(static_cast<int>(Attribute::device_json) == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
#endif

}  // namespace
#endif
