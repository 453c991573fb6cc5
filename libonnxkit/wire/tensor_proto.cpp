#include "libonnxkit/wire/tensor_proto.h"

#include <algorithm>

#include "libonnxkit/ir/tensor_data.h"

namespace onnxkit::wire {

Result<Tensor> tensor_of(const ir::Tensor& tensor, std::span<const std::byte> external) {
  const Error malformed = make_error("tensor-data", "the data of the tensor does not fit its type and shape");
  const ElementType type = ir::element_type_of(tensor);
  if (type == ElementType::string) {
    std::vector<std::string> strings;
    for (const Text& text : tensor.string_data) strings.emplace_back(text.view());
    return Tensor::from_strings(tensor.dims, std::move(strings));
  }
  auto reader = ir::ElementReader::open(tensor, external);
  const auto size = ir::expected_bytes(tensor);
  if (!reader || !size) return malformed;
  if (tensor.is_external()) return Tensor::view(type, tensor.dims, external, nullptr);
  if (tensor.raw_data.present())
    return Tensor::view(type, tensor.dims, std::as_bytes(std::span(tensor.raw_data.view())), nullptr);
  std::vector<std::byte> bytes(*size + 128);
  std::size_t filled = 0;
  while (const std::size_t more = reader->read_raw(std::span(bytes).subspan(filled))) filled += more;
  if (filled < *size) return malformed;
  bytes.resize(*size);
  return Tensor::from_bytes(type, tensor.dims, std::move(bytes));
}

Result<Tensor> tensor_of(const ir::SparseTensor&) {
  return make_error("tensor-data", "sparse tensors are not supported yet");
}

}  // namespace onnxkit::wire
