#include "libonnxkit/wire/values/tensor_proto.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/packed.h"
#include "libonnxkit/ir/tensor/sparse.h"

namespace onnxkit::wire {
namespace {

Error fault(const ir::Tensor& stored, ErrorCode code, std::string message) {
  Error error = make_error(code, std::move(message));
  error.diagnostic.location.item = "tensor";
  error.diagnostic.location.item_name = std::string(stored.name.view());
  return error;
}

Error size_fault(const ir::Tensor& stored) {
  Error error = fault(stored, "tensor-size", "the data of the tensor does not match its shape");
  error.diagnostic.expected = fmt::format("{}[{}]", name_of(element_type_of(stored)), fmt::join(stored.dims, ", "));
  return error;
}

Result<Tensor> strings_of(const ir::Tensor& stored) {
  std::vector<std::string> strings;
  strings.reserve(stored.string_data.size());
  for (const Text& text : stored.string_data) strings.emplace_back(text.view());
  auto tensor = Tensor::from_strings(stored.dims, std::move(strings));
  return tensor ? std::move(tensor) : size_fault(stored);
}

Result<Tensor> from_stored_bytes(const ir::Tensor& stored, std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& owner) {
  const ElementType type = element_type_of(stored);
  if (ir::expected_bytes(stored) != bytes.size()) return size_fault(stored);
  if (owner) return Tensor::view(type, stored.dims, bytes, owner);
  return Tensor::from_bytes(type, stored.dims, {bytes.begin(), bytes.end()});
}

/// A typed field that holds the elements as raw data would, in one piece; null for others.
const ir::PackedField* fixed_width_field(const ir::Tensor& stored) {
  const ElementType type = element_type_of(stored);
  const ir::PackedField* field = nullptr;
  if (type == ElementType::float32 || type == ElementType::complex64) field = &stored.float_data;
  if (type == ElementType::float64 || type == ElementType::complex128) field = &stored.double_data;
  return field && field->chunks.size() == 1 ? field : nullptr;
}

Result<Tensor> from_typed_field(const ir::Tensor& stored, const std::shared_ptr<const void>& owner) {
  if (const ir::PackedField* field = fixed_width_field(stored))
    return from_stored_bytes(stored, field->chunks.front(), owner);
  std::vector<std::byte> bytes;
  const bool complete = ir::each_raw_piece(stored, [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return true;
  });
  if (!complete || ir::expected_bytes(stored) != bytes.size()) return size_fault(stored);
  return Tensor::from_bytes(element_type_of(stored), stored.dims, std::move(bytes));
}

Result<Tensor> scatter_strings(const Tensor& values, const std::vector<std::int64_t>& positions,
                               const std::vector<std::int64_t>& dims, std::size_t count) {
  std::vector<std::string> dense(count);
  for (std::size_t i = 0; i < positions.size(); ++i)
    dense[static_cast<std::size_t>(positions[i])] = values.strings()[i];
  return Tensor::from_strings(dims, std::move(dense));
}

Result<Tensor> scatter_numbers(const Tensor& values, const std::vector<std::int64_t>& positions,
                               const std::vector<std::int64_t>& dims, std::size_t bytes) {
  std::vector<std::byte> dense(bytes);
  const int bits = storage_bits(values.type());
  for (std::size_t i = 0; i < positions.size(); ++i)
    copy_elements(bits, values.bytes(), i, dense, static_cast<std::size_t>(positions[i]), 1);
  return Tensor::from_bytes(values.type(), dims, std::move(dense));
}

}  // namespace

Result<Tensor> tensor_of(const ir::Tensor& stored, const TensorSource& source) {
  const ElementType type = element_type_of(stored);
  if (type == ElementType::undefined) return fault(stored, "tensor-type", "the tensor has an unknown element type");
  if (stored.segment)
    return fault(stored, "tensor-segment", "the tensor is stored in segments, which is not supported");
  if (!ir::element_count(stored)) {
    return fault(stored, "tensor-dims", "a size is negative, or the product of the sizes is too large");
  }
  if (type == ElementType::string) return strings_of(stored);
  if (stored.is_external()) {
    if (!source.external)
      return fault(stored, "external-missing", "the data of the tensor is external, which is not allowed here");
    const auto bytes = source.external(stored);
    if (!bytes) return bytes.error();
    return from_stored_bytes(stored, *bytes, source.owner);
  }
  if (stored.raw_data.present()) {
    const std::string_view raw = stored.raw_data;
    return from_stored_bytes(stored, std::as_bytes(std::span(raw)), source.owner);
  }
  return from_typed_field(stored, source.owner);
}

Result<Tensor> tensor_of(const ir::SparseTensor& stored, const TensorSource& source) {
  if (Result<void> shapes = ir::check_sparse_shapes(stored); !shapes) return std::move(shapes).error();
  const auto values = tensor_of(*stored.values, source);
  if (!values) return values.error();
  std::span<const std::byte> external;
  if (stored.indices->is_external()) {
    if (!source.external)
      return fault(*stored.indices, "external-missing", "the indices are external, which is not allowed here");
    const auto bytes = source.external(*stored.indices);
    if (!bytes) return bytes.error();
    external = *bytes;
  }
  const auto positions = ir::sparse_positions(stored, external);
  if (!positions) return positions.error();
  const std::int64_t count = checked_element_count(stored.dims).value_or(0);
  const bool strings = values->type() == ElementType::string;
  const auto bytes = strings ? checked_mul<std::uint64_t>(static_cast<std::uint64_t>(count), sizeof(std::string))
                             : packed_size(values->type(), count);
  if (!bytes || *bytes > source.dense_limit) {
    Error error = make_error("sparse-tensor", "the dense tensor is too large");
    error.diagnostic.expected = fmt::format("at most {} bytes", source.dense_limit);
    error.diagnostic.found = fmt::format("{}[{}]", name_of(values->type()), fmt::join(stored.dims, ", "));
    return error;
  }
  if (strings) return scatter_strings(*values, *positions, stored.dims, static_cast<std::size_t>(count));
  return scatter_numbers(*values, *positions, stored.dims, static_cast<std::size_t>(*bytes));
}

}  // namespace onnxkit::wire
