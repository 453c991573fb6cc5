#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "libonnxkit/exec/backend.h"
#include "onnxkit/diff.h"

namespace onnxkit::exec {

/// A value as the model means it, and as it may come out where every node rounds.
struct Spread {
  Value exact;  ///< float16, bfloat16 and float32 as float64
  std::vector<Value> samples;
  ElementType type = ElementType::undefined;  ///< of a tensor, as the model has it
  std::size_t amplified = 0;                  ///< so many samples, the last, have larger errors than the arithmetic
  std::size_t edges = 0;                      ///< so many samples, before these, flip what is near an edge, in pairs
  bool is_steps = false;                      ///< whole steps of a quantizer
  double exposed = 0;                         ///< share of the quantized elements that samples of edges flip

  /// So many samples, the first, have the errors of the arithmetic.
  std::size_t plain() const { return samples.size() - amplified - edges; }
};

struct PerturbedOptions {
  Profile profile = Profile::float32;
  int samples = 4;
  int first_sample = 0;  ///< number of the first: samples of other numbers have other errors
  /// Further samples, an even number, without errors but for elements that rounding may take over an edge between two steps of QuantizeLinear: each
  /// pair has every such element on either side once. The other samples have the exact run's steps then.
  int edge_samples = 0;
  double amplitude = 1;  ///< how many times larger than those of the profile the errors are
  std::uint64_t noise_seed = 0;
  /// Called for every output of every node of the main graph that is wanted, in the order of execution. An error ends the run.
  std::function<Result<void>(std::size_t node, std::string_view name, const Spread& spread)> on_spread = {};
  /// Whether on_spread is called for the value of this name; null: it is for all.
  std::function<bool(std::string_view name)> wants = {};
};

/// A model that runs several times in lockstep: once exactly, and with seeded errors of an arithmetic in every node (docs/noise-floor.md).
class PerturbedSamples {
 public:
  virtual ~PerturbedSamples() = default;
  /// The outputs of the main graph. Of the request inputs, seed, limits and stop count. Errors as Session::run.
  virtual Result<std::vector<Spread>> run(const RunRequest& request, const PerturbedOptions& options) = 0;
};

}  // namespace onnxkit::exec
