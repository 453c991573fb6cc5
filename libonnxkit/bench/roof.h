#pragma once

#include "onnxkit/bench.h"

namespace onnxkit::benching {

/// The peak of so many threads, 0 for all, measured in a tenth of a second.
BenchRoof measure_roof(int threads);

}  // namespace onnxkit::benching
