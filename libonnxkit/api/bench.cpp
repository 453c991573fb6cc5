#include <algorithm>

#include "onnxkit/bench.h"

#include "libonnxkit/bench/bench.h"

namespace onnxkit {

Result<BenchReport> bench(const std::vector<DiffSide>& sides, const InputSet& inputs, const BenchOptions& options) {
  return benching::bench(sides, inputs, options);
}

std::optional<Ratio> change_of(const std::vector<BenchRound>& after, const std::vector<BenchRound>& before,
                               std::uint64_t seed) {
  return benching::change_of(after, before, seed);
}

std::vector<BenchInput> bench_inputs(const InputSet& inputs) { return benching::inputs_of(inputs); }

BenchMachine bench_machine() { return benching::machine_here(); }

std::string model_state(const DiffSide& side) { return benching::model_state(side); }

std::string inputs_state(const InputSet& inputs) { return benching::inputs_state(inputs); }

bool is_as_precise(const BenchReport& report, double precision_goal) {
  return std::all_of(report.sides.begin(), report.sides.end(), [precision_goal](const BenchSideReport& side) {
    return benching::is_as_precise(side, precision_goal);
  });
}

void summarize(BenchSideReport& side, const std::vector<BenchRound>& base, std::uint64_t seed) {
  benching::summarize(side, base, seed);
}

}  // namespace onnxkit
