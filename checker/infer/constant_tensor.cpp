#include "checker/infer/constant_tensor.h"

#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::checker {

std::optional<Constant> read_small_tensor(const ir::Tensor& tensor, const ExternalBytes& external) {
  const auto count = ir::element_count(tensor);
  const ElementType type = ir::element_type_of(tensor);
  const bool is_complex = type == ElementType::complex64 || type == ElementType::complex128;
  if (!count || *count > static_cast<std::int64_t>(Constant::max_elements) || is_complex) return std::nullopt;
  std::span<const std::byte> outside;
  if (tensor.is_external()) {
    if (!external) return std::nullopt;
    const auto bytes = external(tensor);
    if (!bytes) return std::nullopt;
    outside = *bytes;
  }
  Constant value{.type = type, .shape = tensor.dims, .elements = {}};
  const auto size = static_cast<std::size_t>(*count);
  value.elements.reserve(size);
  if (is_floating(type)) {
    const auto reals = ir::read_reals(tensor, size, outside);
    if (!reals || reals->size() != size) return std::nullopt;
    for (const double real : *reals) value.elements.push_back(Scalar::real(real));
  } else {
    const auto integers = ir::read_integers(tensor, size, outside);
    if (!integers || integers->size() != size) return std::nullopt;
    for (const std::int64_t integer : *integers) value.elements.push_back(Scalar::integer(integer));
  }
  return value;
}

}  // namespace onnxkit::checker
