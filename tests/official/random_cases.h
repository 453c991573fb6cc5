#pragma once

#include <span>
#include <string>
#include <string_view>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/value.h"

namespace onnxkit::official {

/// Official cases whose recorded outputs are one draw of a generator that the specification leaves open.
bool is_random_case(std::string_view name);

/// Judges such a case by what is defined: type and shape as recorded, zeros and ones only, the share of ones that the probabilities in the input
/// ask for, and with a `seed` the same draw in every run. What is wrong; empty when nothing is. Takes `seed` out of the model.
std::string judge_random_case(std::string_view name, ir::Model& model, const spec::OpTable& table,
                              std::span<const Value> inputs, const Value& recorded);

}  // namespace onnxkit::official
