// What every machine has: on x86-64, SSE2.
#define ONNXKIT_ISA isa_baseline
#define ONNXKIT_ISA_LEVEL baseline
#include "libonnxkit/cpu/kernels/kernels.inc"
