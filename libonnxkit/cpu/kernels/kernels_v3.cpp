// x86-64-v3: AVX2 and FMA.
#if defined(__x86_64__)
#define ONNXKIT_ISA isa_v3
#define ONNXKIT_ISA_LEVEL v3
#include "libonnxkit/cpu/kernels/kernels.inc"
#endif
