#include "libonnxkit/ir/tensor/sparse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::ir {
namespace {

Error fault(std::string message, std::string expected = {}, std::string found = {}) {
  Error error = make_error("sparse-tensor", std::move(message));
  error.diagnostic.expected = std::move(expected);
  error.diagnostic.found = std::move(found);
  return error;
}

std::string shape_text(const std::vector<std::int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

}  // namespace

Result<void> check_sparse_shapes(const SparseTensor& sparse) {
  if (!sparse.values || !sparse.indices) return fault("a sparse tensor must have values and indices");
  const std::vector<std::int64_t>& values = sparse.values->dims;
  const std::vector<std::int64_t>& indices = sparse.indices->dims;
  if (values.size() != 1) return fault("the values must be a vector", "rank 1", shape_text(values));
  if (element_type_of(*sparse.indices) != ElementType::int64)
    return fault("the indices must be int64", "int64", std::string(name_of(element_type_of(*sparse.indices))));
  if (!checked_element_count(sparse.dims))
    return fault("the dense shape is invalid", "sizes of 0 or more", shape_text(sparse.dims));
  const auto rank = static_cast<std::int64_t>(sparse.dims.size());
  if (indices.size() != 1 && (indices.size() != 2 || indices[1] != rank)) {
    return fault("the indices must be a vector, or one tuple of coordinates per value",
                 fmt::format("[{0}] or [{0}, {1}]", values[0], rank), shape_text(indices));
  }
  if (indices[0] != values[0])
    return fault("there must be one index per value", fmt::format("{} indices", values[0]), std::to_string(indices[0]));
  return {};
}

Result<std::vector<std::int64_t>> sparse_positions(const SparseTensor& sparse, std::span<const std::byte> external) {
  if (Result<void> shapes = check_sparse_shapes(sparse); !shapes) return std::move(shapes).error();
  const std::int64_t total = checked_element_count(sparse.dims).value_or(0);
  const bool linear = sparse.indices->dims.size() == 1;
  auto reader = ElementReader::open(*sparse.indices, external);
  if (!reader) return fault("the indices cannot be read");
  std::vector<std::int64_t> tuple(linear ? 1 : sparse.dims.size()), positions;
  const std::int64_t count = sparse.values->dims[0];
  for (std::int64_t i = 0; i < count; ++i) {
    if (total == 0) return fault("the dense tensor is empty but has values", "no values", std::to_string(count));
    if (reader->read(tuple) != tuple.size()) return fault("the indices cannot be read");
    std::int64_t flat = 0;
    for (std::size_t k = 0; k < tuple.size(); ++k) {
      const std::int64_t size = linear ? total : sparse.dims[k];
      if (tuple[k] < 0 || tuple[k] >= size) {
        return fault(fmt::format("index {} of value {} is out of range", tuple[k], i), fmt::format("0 to {}", size - 1),
                     std::to_string(tuple[k]));
      }
      flat = linear ? tuple[k] : flat * size + tuple[k];
    }
    if (!positions.empty() && flat <= positions.back())
      return fault(fmt::format("the indices do not ascend at value {}", i), "strictly ascending indices");
    positions.push_back(flat);
  }
  return positions;
}

}  // namespace onnxkit::ir
