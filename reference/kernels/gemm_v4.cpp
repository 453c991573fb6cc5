// x86-64-v4: AVX-512.
#if defined(__x86_64__)
#define ONNXKIT_GEMM_KERNEL gemm_kernel_v4
#define ONNXKIT_GEMM_NAME "v4"
#include "reference/kernels/gemm_kernel.inc"
#endif
