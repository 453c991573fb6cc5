// What every machine has: on x86-64, SSE2.
#define ONNXKIT_GEMM_KERNEL gemm_kernel_baseline
#define ONNXKIT_GEMM_NAME "baseline"
#include "reference/kernels/gemm_kernel.inc"
