#define ONNXKIT_OPERATIONS operations_v3
#include "libonnxkit/cpu/map/operations.inc"
