#pragma once

#include "reference/executor/run.h"

namespace onnxkit::reference {

/// Runs that advance together, node by node of the main graph, so that each value is known exactly and with its errors at one moment and nothing
/// but live values is kept.
std::vector<exec::Spread> run_perturbed(const PreparedModel& prepared, std::span<const onnxkit::Value> inputs,
                                        const exec::PerturbedOptions& options, const RunOptions& run,
                                        ThreadPool& threads);

}  // namespace onnxkit::reference
