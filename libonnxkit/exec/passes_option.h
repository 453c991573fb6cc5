#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/result.h"

// The option of backends that have passes (Capabilities::passes): those that plans are made without.
namespace onnxkit::exec {

inline constexpr const char* without_pass_option = "without-pass";

/// The passes in a list with + between their names. Error unknown-option for one that is not among `known`.
Result<std::set<std::string, std::less<>>> passes_named(std::string_view list, const std::vector<std::string>& known);

}  // namespace onnxkit::exec
