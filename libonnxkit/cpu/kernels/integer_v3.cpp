// x86-64-v3: AVX2.
#if defined(__x86_64__)
#define ONNXKIT_INTEGER_ISA integer_isa_v3
#define ONNXKIT_INTEGER_ISA_LEVEL v3
#include "libonnxkit/cpu/kernels/integer.inc"
#endif
