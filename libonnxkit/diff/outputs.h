#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libonnxkit/diff/axes.h"
#include "libonnxkit/diff/noise_floor.h"
#include "onnxkit/diff.h"

namespace onnxkit::diffing {

/// Deviations in standard deviations over the sets of inputs that were compared so far, by output and profile.
struct Pool {
  double squares = 0;  ///< sum over all elements
  std::uint64_t elements = 0;
  std::uint64_t draws = 0;  ///< independent ones among them
};
using Pools = std::map<std::pair<std::string, Profile>, Pool>;

/// What the outputs of one side are compared with, over one set of inputs.
struct Criteria {
  const InputSet* set;
  std::size_t index;
  const std::vector<NamedValue>* answers;  ///< of the base side
  bool is_exact;                           ///< the base has the exact answers, rounded, of the floor's model
  NoiseFloor* noise_floor;                 ///< null when there is none
  bool noise_floor_is_foreign;             ///< it is of another side's model, whose layout may be another
  Owner noise_floor_owner, base_owner;     ///< whose models the floor and the base are of
  std::vector<Profile> profiles;           ///< that may explain a deviation of the compared side
  std::size_t sets;                        ///< how many there are
  Pools* pools;                            ///< of the compared side
};

/// Compares each output, the tensors of sequences, optionals and maps one by one. Errors: of the floor's runs.
Result<std::vector<OutputDiff>> compare_outputs(const Criteria& criteria, const std::vector<NamedValue>& outputs,
                                                const DiffOptions& options);

}  // namespace onnxkit::diffing
