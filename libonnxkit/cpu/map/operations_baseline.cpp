#define ONNXKIT_OPERATIONS operations_baseline
#include "libonnxkit/cpu/map/operations.inc"
