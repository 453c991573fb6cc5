#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"

namespace onnxkit::wire {

/// How deep messages may be nested; protobuf itself refuses more.
inline constexpr int max_depth = 100;

/// Names the format of the bytes at hand when it is another one than binary ONNX; the caller knows formats that this layer does not.
using NameContent = std::function<std::optional<std::string>()>;

/// Reads a ModelProto. Names, strings and weights of the result view into `file`, which the model keeps alive. `path` is what errors and
/// Model::path name.
///
/// Fails with empty-file, truncated-file (the file ends before what it announces), malformed-protobuf (location.byte_offset and
/// location.scope say where) or not-onnx (something else; the message says what it looks like,
/// by `name_content` and by the messages of the schema). A model without a graph is no failure.
/// As in protobuf: a known field of the wrong wire type is kept as an unknown one, packed and unpacked numbers are both read, the last
/// scalar wins, repeated occurrences of a singular message are merged. Text may be invalid UTF-8; a rule of the checker reports it.
Result<ir::Model> read_binary(std::shared_ptr<const MappedFile> file, const std::filesystem::path& path = {},
                              const NameContent& name_content = {});

/// Reads a TensorProto or SparseTensorProto, `body`, that lies in `file` without a model. What the result cannot view in `file` is kept by
/// `pool`. Fails with malformed-protobuf, or truncated-file when `body` is the whole file and ends too early.
Result<ir::Tensor> read_tensor(std::string_view body, std::string_view file, ir::Model& pool);
Result<ir::SparseTensor> read_sparse_tensor(std::string_view body, std::string_view file, ir::Model& pool);

}  // namespace onnxkit::wire
