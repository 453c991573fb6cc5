#pragma once

#include <span>
#include <string>
#include <string_view>

#include "onnxkit/model.h"
#include "tools/report/json.h"

namespace onnxkit::tools {

/// What became of each node on the way from one format to another: a line with the counts, then a table.
std::string mapping_table(std::span<const NodeMapping> nodes, const std::string& from, const std::string& to);

Json mapping_json(std::span<const NodeMapping> nodes);

}  // namespace onnxkit::tools
