#define ONNXKIT_OPERATIONS operations_v4
#include "libonnxkit/cpu/map/operations.inc"
