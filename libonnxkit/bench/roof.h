#pragma once

#include "onnxkit/bench.h"

namespace onnxkit::benching {

/// The peak of so many threads, 0 for all and no more than there are processors for, measured in some tenths of a second.
BenchRoof measure_roof(int threads);

}  // namespace onnxkit::benching
