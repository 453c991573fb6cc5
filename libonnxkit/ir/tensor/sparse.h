#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"

namespace onnxkit::ir {

/// Whether values, indices and dense shape of a sparse tensor fit each other, contents aside. Fails with sparse-tensor.
Result<void> check_sparse_shapes(const SparseTensor& sparse);

/// Where each value lies in the dense tensor, ascending. `external` are the bytes of the indices when they lie outside the model file. Fails
/// with sparse-tensor.
Result<std::vector<std::int64_t>> sparse_positions(const SparseTensor& sparse,
                                                   std::span<const std::byte> external = {});

}  // namespace onnxkit::ir
