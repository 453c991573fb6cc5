// x86-64-v3: AVX2 and FMA.
#if defined(__x86_64__)
#define ONNXKIT_NOISE_KERNEL noise_kernel_v3
#define ONNXKIT_NOISE_NAME "v3"
#include "reference/noise/noise_kernel.inc"
#endif
