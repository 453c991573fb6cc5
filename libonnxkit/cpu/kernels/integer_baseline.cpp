// The instruction set that every machine of this kind has.
#define ONNXKIT_INTEGER_ISA integer_isa_baseline
#define ONNXKIT_INTEGER_ISA_LEVEL baseline
#include "libonnxkit/cpu/kernels/integer.inc"
