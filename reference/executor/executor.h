#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "libonnxkit/exec/perturbed.h"
#include "libonnxkit/exec/product_device.h"
#include "libonnxkit/exec/support.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

// The executor that others are judged by: every operator in every version, as its specification says, computed in double or 64-bit integers
// and rounded once. exec::Backend stands before it in reference_backend.cpp; tests of kernels may use it as it is.
namespace onnxkit::reference {

class SharedFactors;

struct ExecutorOptions {
  ir::ExternalBytes external_bytes = {};
  std::uint64_t kept_bytes = 0;                             ///< as in exec::LoadOptions
  std::shared_ptr<exec::SessionContext> context = nullptr;  ///< null: one of its own
};

struct RunOptions {
  exec::MathMode math = exec::MathMode::declared;
  int threads = 0;                                          ///< 0: all cores that this process may use
  std::shared_ptr<exec::ProductDevice> products = nullptr;  ///< multiplies large matrices; null: the threads do
  SharedFactors* shared_factors = nullptr;                  ///< of runs that advance together
  bool rounds_constants = false;            ///< in the unrounded mode: what is computed from constants alone is rounded
  std::uint64_t seed = 0;                   ///< of random operators that name none themselves
  std::uint64_t memory_limit = 0;           ///< bytes of values alive at once, 0: none
  std::chrono::milliseconds time_limit{0};  ///< 0: none
  std::chrono::milliseconds time_spent{0};  ///< of the limit, before the run
  std::uint64_t iteration_limit = 0;        ///< of one Loop, Scan or SequenceMap, 0: none
  std::stop_token stop = {};
  /// Values of the main graph to hand to on_value as soon as they exist; they are not kept.
  std::vector<std::string> taps = {};
  bool tap_all = false;
  exec::ValueCallback on_value = {};  ///< an error ends the run
  std::function<void(const exec::NodeEvent&)> on_node = {};
};

/// A model made ready to run. The model and table that it was made from must outlive it.
class Executor {
 public:
  /// Errors: no-graph; not-supported with every node that cannot be run.
  static Result<std::unique_ptr<Executor>> make(const ir::Model& model, const spec::OpTable& table,
                                                const ExecutorOptions& options = {});
  ~Executor();

  /// One value for each input of the main graph, in order; kind none takes the initializer of the same name. Errors as exec::Session::run.
  Result<std::vector<onnxkit::Value>> run(std::span<const onnxkit::Value> inputs, const RunOptions& options);
  /// Math mode, taps and callbacks of `run` are not used.
  Result<std::vector<exec::Spread>> run_perturbed(std::span<const onnxkit::Value> inputs,
                                                  const exec::PerturbedOptions& options, const RunOptions& run);

 private:
  struct State;
  explicit Executor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Whether there is a kernel for this version of an operator.
exec::Support supports(const ir::Node& node, const spec::OpSchema& schema);

}  // namespace onnxkit::reference
