#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libonnxkit/diff/axes.h"
#include "libonnxkit/diff/floor.h"
#include "onnxkit/diff.h"

namespace onnxkit::diffing {

/// Deviations in standard deviations over the sets of inputs that were judged so far, by output and profile.
struct Pool {
  double squares = 0;  ///< sum over all elements
  std::uint64_t elements = 0;
};
using Pools = std::map<std::pair<std::string, Profile>, Pool>;

/// What the outputs of one side are held against, over one set of inputs.
struct Yardstick {
  const InputSet* set;
  std::size_t index;
  const std::vector<NamedValue>* answers;  ///< of the base side
  bool is_exact;                           ///< the base has the exact answers, rounded, of the floor's model
  Floor* floor;                            ///< null when there is none
  bool floor_is_foreign;                   ///< it is of another side's model, whose layout may be another
  Owner floor_owner, base_owner;           ///< whose models the floor and the base are of
  std::vector<Profile> profiles;           ///< that may explain a deviation of the judged side
  std::size_t sets;                        ///< how many there are
  Pools* pools;                            ///< of the judged side
};

/// Judges each output, the tensors of sequences, optionals and maps one by one. Errors: of the floor's runs.
Result<std::vector<OutputDiff>> judge_outputs(const Yardstick& yardstick, const std::vector<NamedValue>& outputs,
                                              const DiffOptions& options);

}  // namespace onnxkit::diffing
