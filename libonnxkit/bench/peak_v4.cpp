// x86-64-v4: AVX-512.
#if defined(__x86_64__)
#define ONNXKIT_PEAK_KERNEL peak_v4
#define ONNXKIT_PEAK_BYTES 64
#include "libonnxkit/bench/peak_kernel.inc"
#endif
