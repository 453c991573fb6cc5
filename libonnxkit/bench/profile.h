#pragma once

#include <vector>

#include "libonnxkit/bench/costs.h"
#include "onnxkit/bench.h"

namespace onnxkit::benching {

/// The steps of a backend with their costs, and where there is a roof the least time that each would need. `costs`: for each step, or none.
BenchProfile profile_of(exec::RunProfile profile, std::vector<StepCost> costs, std::optional<BenchRoof> roof);

}  // namespace onnxkit::benching
