#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "libonnxkit/exec/backend.h"
#include "onnxkit/diff.h"

namespace onnxkit::exec {

/// A value as the model means it, and as it may come out where every node rounds.
struct Spread {
  Value exact;  ///< float16, bfloat16 and float32 as float64
  std::vector<Value> replicas;
  ElementType type = ElementType::undefined;  ///< of a tensor, as the model has it
  std::size_t amplified = 0;                  ///< so many replicas, the last, have larger errors than the arithmetic
};

struct EnsembleOptions {
  Profile profile = Profile::float32;
  int replicas = 4;
  int first_replica = 0;  ///< number of the first: replicas of other numbers have other errors
  double amplitude = 1;   ///< how many times larger than those of the profile the errors are
  std::uint64_t noise_seed = 0;
  /// Of `run`: rounding, taps and callbacks are not used.
  RunOptions run;
  /// Called for every output of every node of the main graph, in the order of execution. An error ends the run.
  std::function<Result<void>(std::size_t node, std::string_view name, const Spread& spread)> on_spread;
};

/// A model made ready to run several times in lockstep: once exactly, and with seeded errors of an arithmetic in every node. The model and
/// table that it was prepared from must outlive it.
class Ensemble {
 public:
  virtual ~Ensemble() = default;
  /// The outputs of the main graph. Errors as Session::run.
  virtual Result<std::vector<Spread>> run(std::span<const Value> inputs, const EnsembleOptions& options) const = 0;
};

}  // namespace onnxkit::exec
