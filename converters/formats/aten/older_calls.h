#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "converters/foreign/graph.h"

namespace onnxkit::aten {

/// What TorchScript of libtorch 1.8 has for an operator that is younger or had another form there, or errs there; empty where that is the
/// operator itself. `given` is the text of an argument by its name.
std::string older_call(const foreign::Graph& graph, const foreign::Node& node,
                       const std::function<std::string(std::string_view)>& given);

}  // namespace onnxkit::aten
