#pragma once

#include <string>
#include <vector>

#include "libonnxkit/api/diff/axes.h"
#include "libonnxkit/api/diff/floor.h"
#include "onnxkit/diff.h"

namespace onnxkit::api {

/// What the outputs of one side are held against, over one set of inputs.
struct Yardstick {
  const InputSet* set;
  std::size_t index;
  const std::vector<NamedValue>* answers;  ///< of the base side
  bool is_reference;                       ///< the base is the reference on the floor's model
  Floor* floor;                            ///< null when there is none
  bool floor_is_foreign;                   ///< it is of another side's model, whose layout may be another
  Owner floor_owner, base_owner;           ///< whose models the floor and the base are of
  std::vector<Profile> profiles;           ///< that may explain a deviation of the judged side
};

/// Judges each output, the tensors of sequences, optionals and maps one by one. Errors: of the floor's runs.
Result<std::vector<OutputDiff>> judge_outputs(const Yardstick& yardstick, const std::vector<NamedValue>& outputs,
                                              const DiffOptions& options);

}  // namespace onnxkit::api
