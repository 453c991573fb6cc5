// For any machine.
#define ONNXKIT_PEAK_KERNEL peak_baseline
#define ONNXKIT_PEAK_BYTES 16
#include "libonnxkit/bench/peak_kernel.inc"
