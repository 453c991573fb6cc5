#pragma once

#include <string>

#include "onnxkit/ops.h"

namespace onnxkit::tools {

/// One line per operator with its versions, under its domain.
std::string operator_table(const OpList& list);

/// Signature of every version and what it changed.
std::string operator_details(const OpInfo& info);

/// Which formats are read with an operator of another framework.
std::string foreign_operator_details(const ForeignOp& op);

/// The form of docs/ops.md.
std::string operators_json(const OpList& list);

}  // namespace onnxkit::tools
