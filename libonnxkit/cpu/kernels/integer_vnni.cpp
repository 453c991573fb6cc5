// AVX-512 with VNNI.
#if defined(__x86_64__)
#define ONNXKIT_INTEGER_ISA integer_isa_vnni
#define ONNXKIT_INTEGER_ISA_LEVEL vnni
#include "libonnxkit/cpu/kernels/integer.inc"
#endif
