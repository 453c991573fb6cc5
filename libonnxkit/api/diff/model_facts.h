#pragma once

#include <map>
#include <set>
#include <string>

#include "libonnxkit/ir/model.h"
#include "onnxkit/diff.h"

// What a model says of itself that bears on a comparison.
namespace onnxkit::api {

/// Arithmetic that the model asks for itself: float16 and bfloat16 by the types of its weights, inputs and outputs, int8 by operators that
/// quantize. A Cast alone may be the fault that is looked for.
std::set<Profile> own_profiles(const ir::Model& model);

struct Draw {
  std::string op;  ///< RandomNormal ...
  bool seeded = false;
};

/// Outputs that are made from random numbers, by name.
std::map<std::string, Draw> random_outputs(const ir::Model& model);

}  // namespace onnxkit::api
