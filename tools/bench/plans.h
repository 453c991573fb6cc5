#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnxkit/diff.h"
#include "tools/actions/threads.h"
#include "tools/bench/arguments.h"

namespace onnxkit::tools {

/// One measurement of all that are asked for.
struct BenchPlan {
  std::vector<std::string> models;
  std::optional<std::int64_t> batch, threads;
};

/// A report of it before anything was measured.
inline Benchmark unmeasured(const BenchPlan& plan) { return {plan.models.front(), plan.batch, plan.threads, {}}; }

/// Folders and patterns among the models become the files that they mean; those that mean none stay, with the reason in `no_models`. The folder of
/// another framework's model stays what it is.
void expand_bench_models(BenchArguments& arguments);

/// Backends by their own names where a short one was given, so that reports call them the same: "ort" becomes "onnxruntime".
void name_backends(BenchArguments& arguments);

/// Whether models are sides of one comparison: one of them names its backend.
bool are_side_by_side(const std::vector<std::string>& models);

/// Every model in every setting. Models that are sides of one comparison are in one plan; ONNX files alone are measured one after another.
std::vector<BenchPlan> bench_plans(const BenchArguments& arguments);

/// Before anything is measured: standard input is a report, a model or an input of one measurement only. Error usage.
Result<void> check_bench_streams(const BenchArguments& arguments);

/// Before anything is measured: whether all backends that are named exist and have the options that they are given. With --threads asks them for that
/// option. Errors: unknown-backend, unknown-option, usage (two numbers of threads for one backend, backends that nothing runs on).
Result<ThreadOptions> check_backends(const BenchArguments& arguments);

/// Names of all backends that run a model; none where check_backends finds a fault.
std::vector<std::string> backend_names(const BenchArguments& arguments);

/// What one plan measures.
struct BenchSetup {
  std::vector<DiffSide> sides;
  InputSet inputs;
  std::vector<std::string> warnings;
};

/// Errors: of reading models, of inputs, usage; each names the model.
Result<BenchSetup> bench_setup(const BenchPlan& plan, const BenchArguments& arguments, const ThreadOptions& threads);

}  // namespace onnxkit::tools
