// x86-64-v4: AVX-512.
#if defined(__x86_64__)
#define ONNXKIT_ISA isa_v4
#define ONNXKIT_ISA_LEVEL v4
#include "libonnxkit/cpu/kernels/kernels.inc"
#endif
