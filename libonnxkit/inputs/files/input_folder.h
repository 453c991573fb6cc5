#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

namespace onnxkit::inputs {

/// The values of input_0.pb, input_1.pb ... under the names of the graph's inputs. A file whose value has the name of an input holds that
/// input. The others count the inputs without an initializer, or all inputs where there are more files than that.
Result<std::vector<NamedValue>> read_input_folder(const ir::Graph& graph, const std::filesystem::path& folder);

/// A file in a folder that has a number beyond those of `count` values.
std::optional<std::filesystem::path> numbered_beyond(const std::filesystem::path& folder, std::string_view stem,
                                                     std::size_t count);

}  // namespace onnxkit::inputs
