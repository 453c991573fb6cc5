#pragma once

#include <filesystem>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

namespace onnxkit::official {

/// One recorded run: a value for each input of the graph, in order, of kind none where the initializer stands; and for each output.
struct DataSet {
  std::vector<Value> inputs, outputs;
};

/// test_data_set_N of an official case: input_K.pb are those of the inputs without an initializer. An output may have a file in `corrections` instead.
Result<DataSet> read_official_set(const ir::Graph& graph, const std::filesystem::path& folder,
                                  const std::filesystem::path& corrections);

/// test_data_set_N of an exported model: further inputs replace the initializer that they name; an optional is stored as its content.
Result<DataSet> read_exported_set(const ir::Graph& graph, const std::filesystem::path& folder);

}  // namespace onnxkit::official
