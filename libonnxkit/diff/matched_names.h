#pragma once

#include <map>
#include <optional>
#include <string>

#include "libonnxkit/diff/correspondence.h"
#include "libonnxkit/diff/layers.h"

namespace onnxkit::diffing {

/// The inputs and all values of the main graph of the floor's model, exactly; those of Constant nodes left out.
Result<std::vector<InnerValue>> inner_values(NoiseFloor& noise_floor, const InputSet& set, Profile profile);

/// A side whose values have the names of those of the base that they match.
struct MatchedSide {
  DiffSide side;
  struct Match {
    std::string name;  ///< in the side's own model
    MatchedBy by;
  };
  std::map<std::string, Match, std::less<>> matches;  ///< by the base's name
};

/// Matches the values of two ONNX models whose names differ. Nothing where all that could match has one name already. Errors: what the reference
/// cannot run.
Result<std::optional<MatchedSide>> matched_side(const LayerQuestion& question);

}  // namespace onnxkit::diffing
