#pragma once

#include <cstddef>
#include <span>

#include "libonnxkit/ir/model.h"
#include "onnxkit/value.h"

namespace onnxkit::wire {

/// The tensor's elements in packed form; `external` are its bytes where they lie outside. Numbers that the file has in packed form are viewed,
/// not copied, so the model must outlive the result. Fails with tensor-data.
Result<Tensor> tensor_of(const ir::Tensor& tensor, std::span<const std::byte> external = {});
/// As a dense tensor.
Result<Tensor> tensor_of(const ir::SparseTensor& tensor);

}  // namespace onnxkit::wire
