#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// Between what files hold and values: tensors of a model, and files of one TensorProto, SequenceProto, OptionalProto or MapProto.
namespace onnxkit::wire {

/// An owner that keeps nothing alive, for a caller that does so itself.
inline std::shared_ptr<const void> unowned(const void* bytes) { return {std::shared_ptr<const void>(), bytes}; }

/// What reading a stored tensor may need beside it.
struct TensorSource {
  /// Where data outside the model file comes from; without it such a tensor fails with external-missing.
  ir::ExternalBytes external;
  /// Keeps raw and external bytes, and those of float_data and double_data, alive, so that they are viewed; without it they are copied.
  std::shared_ptr<const void> owner;
  /// Bytes that a sparse tensor may take when it becomes dense.
  std::uint64_t dense_limit = std::uint64_t{1} << 32;
};

/// The elements of a stored tensor, wherever it keeps them. Fails with tensor-type, tensor-dims, tensor-segment, tensor-size, or as
/// source.external does.
Result<Tensor> tensor_of(const ir::Tensor& stored, const TensorSource& source = {});
/// As above, zero (an empty string) where the sparse tensor has no value. Fails with sparse-tensor, too.
Result<Tensor> tensor_of(const ir::SparseTensor& stored, const TensorSource& source = {});

/// Reads a file that is one message: TensorProto, SequenceProto, OptionalProto or MapProto, as `kind` says; the file itself does not tell. Raw
/// numbers are viewed in the file, which the value keeps alive. Sparse tensors become dense, up to 64 MiB and 1024 times the size of the file. Fails as tensor_of does, and with empty-file,
/// truncated-file, malformed-protobuf, nesting-depth, or unsupported-format (a map whose values do not make one tensor).
Result<NamedValue> read_value(const std::shared_ptr<const MappedFile>& file, ValueKind kind);

/// The value as the bytes of such a file. A map has int64 or string keys and one element of each value for each key, along the first axis.
/// ValueKind::none is written as an empty optional.
std::string write_value(const Value& value, std::string_view name = {});

}  // namespace onnxkit::wire
