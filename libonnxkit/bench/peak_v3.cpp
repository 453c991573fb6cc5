// x86-64-v3: AVX2 and FMA.
#if defined(__x86_64__)
#define ONNXKIT_PEAK_KERNEL peak_v3
#define ONNXKIT_PEAK_BYTES 32
#include "libonnxkit/bench/peak_kernel.inc"
#endif
