#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/foreign/export.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/result.h"

namespace onnxkit::legalize {

/// Which node of the main graph has a name.
using Places = std::unordered_map<std::string, std::size_t>;
Places places_of_nodes(const ir::Model& model);
/// Findings name operators and count nodes as the model does that was given: Conv, not onnxkit.channels_last::Conv2D.
void name_as_in_model(std::vector<Diagnostic>& findings, const Places& places);

/// The model as a graph of a framework whose operators compute with channels last: brought to that opset, Transposes moved and cancelled, then written
/// by `writers`, which find operators of layout::channels_last_domain. Findings name operators and nodes as the model does that was given. Text and
/// weights view into `model`, which is changed and must outlive the result. Error codes: unsupported-operator (with `findings`), those of external data.
Result<foreign::Model> channels_last_program(ir::Model& model, const foreign::Writers& writers,
                                             std::string_view framework, std::int64_t opset,
                                             std::vector<Diagnostic>& findings);

}  // namespace onnxkit::legalize
