// As headers.cpp, of cuBLASLt, where it is installed.
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#include "libonnxkit/cuda/libraries/cublaslt.h"
#include "tests/cuda_headers/alike.h"

namespace {

using namespace onnxkit::cuda::cublaslt;

Functions functions;

#define SAME(ours, theirs) static_assert(Alike<decltype(ours), decltype(&theirs)>::value)
SAME(functions.version, cublasLtGetVersion);
SAME(functions.create, cublasLtCreate);
SAME(functions.destroy, cublasLtDestroy);
SAME(functions.create_operation, cublasLtMatmulDescCreate);
SAME(functions.destroy_operation, cublasLtMatmulDescDestroy);
SAME(functions.set_operation, cublasLtMatmulDescSetAttribute);
SAME(functions.create_layout, cublasLtMatrixLayoutCreate);
SAME(functions.destroy_layout, cublasLtMatrixLayoutDestroy);
SAME(functions.set_layout, cublasLtMatrixLayoutSetAttribute);
SAME(functions.create_preference, cublasLtMatmulPreferenceCreate);
SAME(functions.destroy_preference, cublasLtMatmulPreferenceDestroy);
SAME(functions.set_preference, cublasLtMatmulPreferenceSetAttribute);
SAME(functions.find_algorithms, cublasLtMatmulAlgoGetHeuristic);
SAME(functions.multiply, cublasLtMatmul);

static_assert(static_cast<int>(DataType::f32) == CUDA_R_32F);
static_assert(static_cast<int>(DataType::f64) == CUDA_R_64F);
static_assert(static_cast<int>(DataType::f16) == CUDA_R_16F);
static_assert(static_cast<int>(DataType::bf16) == CUDA_R_16BF);
static_assert(static_cast<int>(DataType::f8_e4m3) == CUDA_R_8F_E4M3);
static_assert(static_cast<int>(ComputeType::f32) == CUBLAS_COMPUTE_32F);
static_assert(static_cast<int>(ComputeType::f64) == CUBLAS_COMPUTE_64F);
static_assert(static_cast<int>(ComputeType::tf32) == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(static_cast<int>(Transpose::none) == CUBLAS_OP_N);
static_assert(static_cast<int>(Transpose::transposed) == CUBLAS_OP_T);
static_assert(static_cast<int>(Order::columns) == CUBLASLT_ORDER_COL);
static_assert(static_cast<int>(success) == CUBLAS_STATUS_SUCCESS);
static_assert(static_cast<int>(not_initialized) == CUBLAS_STATUS_NOT_INITIALIZED);
static_assert(static_cast<int>(alloc_failed) == CUBLAS_STATUS_ALLOC_FAILED);
static_assert(static_cast<int>(invalid_value) == CUBLAS_STATUS_INVALID_VALUE);
static_assert(static_cast<int>(arch_mismatch) == CUBLAS_STATUS_ARCH_MISMATCH);
static_assert(static_cast<int>(execution_failed) == CUBLAS_STATUS_EXECUTION_FAILED);
static_assert(static_cast<int>(internal_error) == CUBLAS_STATUS_INTERNAL_ERROR);
static_assert(static_cast<int>(not_supported) == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(static_cast<int>(LayoutAttribute::type) == CUBLASLT_MATRIX_LAYOUT_TYPE);
static_assert(static_cast<int>(LayoutAttribute::order) == CUBLASLT_MATRIX_LAYOUT_ORDER);
static_assert(static_cast<int>(LayoutAttribute::rows) == CUBLASLT_MATRIX_LAYOUT_ROWS);
static_assert(static_cast<int>(LayoutAttribute::columns) == CUBLASLT_MATRIX_LAYOUT_COLS);
static_assert(static_cast<int>(LayoutAttribute::leading) == CUBLASLT_MATRIX_LAYOUT_LD);
static_assert(static_cast<int>(LayoutAttribute::batches) == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(static_cast<int>(LayoutAttribute::stride) == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(static_cast<int>(OperationAttribute::compute_type) == CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
static_assert(static_cast<int>(OperationAttribute::scale_type) == CUBLASLT_MATMUL_DESC_SCALE_TYPE);
static_assert(static_cast<int>(OperationAttribute::pointer_mode) == CUBLASLT_MATMUL_DESC_POINTER_MODE);
static_assert(static_cast<int>(OperationAttribute::transpose_a) == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(static_cast<int>(OperationAttribute::transpose_b) == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(static_cast<int>(OperationAttribute::epilogue) == CUBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(static_cast<int>(OperationAttribute::bias_pointer) == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(static_cast<int>(OperationAttribute::bias_stride) == CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
static_assert(static_cast<int>(OperationAttribute::bias_type) == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
static_assert(static_cast<int>(OperationAttribute::a_scale_pointer) == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
static_assert(static_cast<int>(OperationAttribute::b_scale_pointer) == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
static_assert(static_cast<int>(OperationAttribute::a_scale_mode) == CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
static_assert(static_cast<int>(OperationAttribute::b_scale_mode) == CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
static_assert(static_cast<int>(ScaleMode::outer_vector) == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
static_assert(sizeof(ScaleMode) == sizeof(std::int32_t));
static_assert(static_cast<int>(Epilogue::none) == CUBLASLT_EPILOGUE_DEFAULT);
static_assert(static_cast<int>(Epilogue::relu) == CUBLASLT_EPILOGUE_RELU);
static_assert(static_cast<int>(Epilogue::bias) == CUBLASLT_EPILOGUE_BIAS);
static_assert(static_cast<int>(Epilogue::relu_bias) == CUBLASLT_EPILOGUE_RELU_BIAS);
static_assert(static_cast<int>(Epilogue::gelu) == CUBLASLT_EPILOGUE_GELU);
static_assert(static_cast<int>(Epilogue::gelu_bias) == CUBLASLT_EPILOGUE_GELU_BIAS);
static_assert(static_cast<int>(PreferenceAttribute::most_workspace) == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(static_cast<int>(PreferenceAttribute::alignment_a) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(static_cast<int>(PreferenceAttribute::alignment_b) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(static_cast<int>(PreferenceAttribute::alignment_c) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(static_cast<int>(PreferenceAttribute::alignment_d) == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(HeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

}  // namespace
#endif
