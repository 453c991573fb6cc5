#pragma once

#include <string>

#include "onnxkit/ops.h"

namespace onnxkit::tools {

/// One line per operator with its versions, under its domain.
std::string operator_table(const OpList& list);

/// Signature of every version and what it changed.
std::string operator_details(const OpInfo& info);

/// The form of docs/ops.md.
std::string operators_json(const OpList& list);

}  // namespace onnxkit::tools
