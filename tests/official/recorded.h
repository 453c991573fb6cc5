#pragma once

#include <filesystem>

#include "libonnxkit/ir/model.h"
#include "onnxkit/value.h"

namespace onnxkit::official {

/// Reads a recorded input or output (test_data_set_*/*.pb), a message of the kind that the graph declares.
Result<Value> read_recorded(const std::filesystem::path& file, const ir::ValueInfo& declared);

}  // namespace onnxkit::official
