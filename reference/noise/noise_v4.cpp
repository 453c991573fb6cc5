// x86-64-v4: AVX-512.
#if defined(__x86_64__)
#define ONNXKIT_NOISE_KERNEL noise_kernel_v4
#define ONNXKIT_NOISE_NAME "v4"
#include "reference/noise/noise_kernel.inc"
#endif
