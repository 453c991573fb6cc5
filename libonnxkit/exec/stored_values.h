#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

namespace onnxkit::exec {

/// The value of a file that holds what is declared: a TensorProto, SequenceProto, OptionalProto or MapProto. An optional that has a value may
/// be stored as that value alone; read as an OptionalProto such a file is empty.
Result<NamedValue> read_stored(const std::shared_ptr<const MappedFile>& file, const ir::ValueInfo& declared);

/// output_0.pb ... of a folder under the names of the graph's outputs.
Result<std::vector<NamedValue>> read_outputs(const ir::Graph& graph, const std::filesystem::path& folder);

}  // namespace onnxkit::exec
