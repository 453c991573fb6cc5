#include "onnxkit/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit {
namespace {

Error size_error(ElementType type, std::span<const std::int64_t> dims, const std::string& found) {
  Error error = make_error("tensor-size", "the content of a tensor does not match its type and dims");
  error.diagnostic.expected = fmt::format("{}[{}]", name_of(type), fmt::join(dims, ", "));
  error.diagnostic.found = found;
  return error;
}

std::string tensor_text(const Tensor& tensor) {
  return fmt::format("{}[{}]", name_of(tensor.type()), fmt::join(tensor.dims(), ", "));
}

std::string element_text(const Value& value) {
  return value.is_tensor() ? std::string(name_of(value.tensor.type())) : type_text(value);
}

std::string sequence_text(const Value& value) {
  std::string element = value.declared == ElementType::undefined ? "?" : std::string(name_of(value.declared));
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string text = element_text(value.items[i]);
    if (i > 0 && text != element) return fmt::format("seq({} x mixed)", value.items.size());
    element = text;
  }
  return fmt::format("seq({} x {})", value.items.size(), element);
}

std::string map_text(const Value& value) {
  const std::string values = value.items.empty() ? "?" : element_text(value.items.front());
  return fmt::format("map({}, {}; {} key{})", name_of(value.tensor.type()), values, value.tensor.size(),
                     value.tensor.size() == 1 ? "" : "s");
}

}  // namespace

Result<Tensor> Tensor::from_bytes(ElementType type, std::vector<std::int64_t> dims, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> content = *owner;
  return view(type, std::move(dims), content, std::move(owner));
}

Result<Tensor> Tensor::view(ElementType type, std::vector<std::int64_t> dims, std::span<const std::byte> bytes,
                            std::shared_ptr<const void> owner) {
  const auto count = checked_element_count(dims);
  const auto size = count ? packed_size(type, *count) : std::nullopt;
  if (!size || *size != bytes.size()) return size_error(type, dims, fmt::format("{} bytes", bytes.size()));
  Tensor tensor;
  tensor.type_ = type;
  tensor.dims_ = std::move(dims);
  tensor.size_ = *count;
  tensor.bytes_ = bytes;
  tensor.owner_ = std::move(owner);
  return tensor;
}

Result<Tensor> Tensor::from_strings(std::vector<std::int64_t> dims, std::vector<std::string> strings) {
  const auto count = checked_element_count(dims);
  if (!count || static_cast<std::uint64_t>(*count) != strings.size()) {
    return size_error(ElementType::string, dims, fmt::format("{} strings", strings.size()));
  }
  Tensor tensor;
  tensor.type_ = ElementType::string;
  tensor.dims_ = std::move(dims);
  tensor.size_ = *count;
  tensor.strings_ = std::make_shared<const std::vector<std::string>>(std::move(strings));
  return tensor;
}

std::span<const std::string> Tensor::strings() const {
  return strings_ ? std::span<const std::string>(*strings_) : std::span<const std::string>();
}

std::string type_text(const Value& value) {
  switch (value.kind) {
    case ValueKind::tensor:
      return tensor_text(value.tensor);
    case ValueKind::sequence:
      return sequence_text(value);
    case ValueKind::optional:
      return fmt::format("optional({})", value.items.empty() ? "empty" : type_text(value.items.front()));
    case ValueKind::map:
      return map_text(value);
    default:
      return "none";
  }
}

namespace {

template <class T>
std::vector<double> decoded(const Tensor& tensor) {
  const auto size = static_cast<std::size_t>(tensor.size());
  const auto elements = std::make_unique<T[]>(size);
  decode(tensor.type(), tensor.bytes(), std::span<T>(elements.get(), size));
  return {elements.get(), elements.get() + size};
}

}  // namespace

std::vector<double> to_reals(const Tensor& tensor) {
  switch (domain_of(tensor.type())) {
    case Domain::real:
      return decoded<double>(tensor);
    case Domain::integer:
      return decoded<std::int64_t>(tensor);
    case Domain::natural:
      return decoded<std::uint64_t>(tensor);
    case Domain::boolean:
      return decoded<bool>(tensor);
    default:
      return {};
  }
}

}  // namespace onnxkit
