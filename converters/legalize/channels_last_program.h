#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converters/foreign/export.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

namespace onnxkit::legalize {

/// Conv for onnxkit.channels_last::Conv2D.
std::string name_in_model(std::string op);

/// The model as a graph of a framework whose operators compute with channels last: brought to that opset, Transposes moved and cancelled, then written
/// by `writers`, which find operators of layout::channels_last_domain. Findings name operators and nodes as the model does that was given. Text and
/// weights view into `model`, which is changed and must outlive the result. Error codes: unsupported-operator (with `findings`), those of external data.
Result<foreign::Model> channels_last_program(ir::Model& model, const foreign::Writers& writers,
                                             std::string_view framework, std::int64_t opset,
                                             std::vector<Diagnostic>& findings, foreign::Trace* trace = nullptr);

}  // namespace onnxkit::legalize
