#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace onnxkit::pt2 {

/// A size that torch.export wrote as a SymPy expression ("Add(Symbol('s0', integer=True), Integer(1))", "s0 + 1") in the form of an ONNX
/// dim_param: "(s0+1)". nullopt for what is neither.
std::optional<std::string> dim_param_of(std::string_view expression);

}  // namespace onnxkit::pt2
