#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

namespace onnxkit::inputs {

struct GenerateOptions {
  std::map<std::string, std::int64_t> dims;  ///< sizes of named dimensions; the others are chosen
  std::uint64_t seed = 0;
  std::uint64_t memory_limit = 0;  ///< bytes that the values may take together, eight for an element; 0: 4 GiB
  std::stop_token stop = {};
  std::chrono::milliseconds time_limit{0};  ///< from `start` on; 0: none
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  /// Errors: cancelled, time-limit.
  Result<void> may_go_on() const;
};

struct GeneratedInput {
  Value value;
  std::string description;  ///< "normal", "indices on axis 0 of size 30522 at ..."
};

/// The values of all inputs, kind none for those that get none, and what is worth telling when a run of them fails.
struct GeneratedInputs {
  std::vector<GeneratedInput> inputs;
  /// Sizes that were chosen, as "N = 1" and, of dimensions without a name, "axis 1 of input "x" = 8".
  std::vector<std::string> chosen;
  bool chose_named = false;  ///< a size that has a name is among them
  /// Demands of nodes for which no sizes were found (ChosenSizes::unmet).
  std::vector<std::string> unmet;
};

/// Random values for the main graph's inputs, the same for the same model and seed on every machine. An input whose entry of `given` has a
/// kind, or that has an initializer, gets none. Reals are normal; integers stay in what range_of_input says, else within [0, 9], a mask
/// is 0 or 1 with a 1 first in each row. Errors: input-missing for kinds that cannot be made up (maps, opaque types, no type); cancelled,
/// time-limit.
Result<GeneratedInputs> generate_inputs(const ir::Model& model, const spec::OpTable& table,
                                        std::span<const Value> given, const GenerateOptions& options);

}  // namespace onnxkit::inputs
