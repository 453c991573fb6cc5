#pragma once

#include "onnxkit/bench.h"

namespace onnxkit::benching {

/// As declared in the public header.
Result<BenchReport> bench(const std::vector<DiffSide>& sides, const InputSet& inputs, const BenchOptions& options);
std::vector<BenchInput> inputs_of(const InputSet& inputs);
/// Of one side; a failed one has nothing to be imprecise.
bool is_as_precise(const BenchSideReport& side, double precision_goal);
void summarize(BenchSideReport& side, const std::vector<BenchRound>& base, std::uint64_t seed);

BenchMachine machine_here();
std::string model_state(const DiffSide& side);
std::string inputs_state(const InputSet& inputs);

std::optional<Ratio> change_of(const std::vector<BenchRound>& after, const std::vector<BenchRound>& before,
                               std::uint64_t seed);

}  // namespace onnxkit::benching
