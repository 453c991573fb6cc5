// x86-64-v3: AVX2 and FMA.
#if defined(__x86_64__)
#define ONNXKIT_GEMM_KERNEL gemm_kernel_v3
#define ONNXKIT_GEMM_NAME "v3"
#include "reference/kernels/gemm_kernel.inc"
#endif
