// What every machine has: on x86-64, SSE2.
#define ONNXKIT_NOISE_KERNEL noise_kernel_baseline
#define ONNXKIT_NOISE_NAME "baseline"
#include "reference/noise/noise_kernel.inc"
