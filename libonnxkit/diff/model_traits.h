#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "libonnxkit/ir/model.h"
#include "onnxkit/diff.h"

namespace onnxkit::diffing {

/// Random numbers that something is made from.
struct Draw {
  std::string op;  ///< RandomNormal, Dropout ...
  bool seeded = false;
};

/// What a model says of itself that bears on a comparison.
struct ModelTraits {
  /// Arithmetic that the model asks for: float16 and bfloat16 by the types of its weights, inputs and outputs, int8 by operators that
  /// quantize. A Cast alone may be the fault that is looked for.
  std::set<Profile> profiles;
  /// The scales that its quantizers have, and operators that find theirs as they run.
  std::set<std::string> quantizers;
  /// Some node lets a runtime round a factor to integers of 8 bits: MatMulNBits with accuracy_level = 4.
  bool may_round_to_int8 = false;
  std::map<std::string, Draw> random;  ///< outputs that are made from random numbers, by name
};

/// With these sets of inputs, which may turn a Dropout's training mode on.
ModelTraits read_traits(const ir::Model& model, std::span<const InputSet> sets);

/// Whether two models round to the same steps. Another quantization has other scales throughout; where one scale is there besides all of the others, as
/// in a quantizer that its DequantizeLinear does not undo, or few of many are others, a quantizer is wrong.
bool quantize_alike(const std::set<std::string>& a, const std::set<std::string>& b);

}  // namespace onnxkit::diffing
