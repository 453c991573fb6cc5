#include "tests/op_cases/tensor_values.h"

#include <charconv>
#include <complex>
#include <memory>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::op_cases {
namespace {

/// "1.5-2i", "3", "1i"
std::complex<double> parse_complex(const YAML::Node& node) {
  const auto text = node.as<std::string>();
  if (!text.ends_with('i')) return node.as<double>();
  const std::size_t split = text.find_last_of("+-");
  const std::string imaginary = text.substr(split == std::string::npos ? 0 : split, std::string::npos);
  const std::string real = split == std::string::npos || split == 0 ? "0" : text.substr(0, split);
  return {std::stod(real), std::stod(imaginary)};
}

template <class T>
T parse(const YAML::Node& node) {
  if constexpr (std::is_same_v<T, bool>) {
    if (const auto text = node.as<std::string>(); text == "0" || text == "1") return text == "1";
  }
  if constexpr (std::is_same_v<T, std::complex<double>>)
    return parse_complex(node);
  else
    return node.as<T>();
}

template <class T>
std::vector<std::byte> packed(ElementType type, const std::vector<YAML::Node>& values) {
  const auto numbers = std::make_unique<T[]>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) numbers[i] = parse<T>(values[i]);
  std::vector<std::byte> bytes((values.size() * static_cast<std::size_t>(storage_bits(type)) + 7) / 8);
  encode(type, std::span<const T>(numbers.get(), values.size()), bytes);
  return bytes;
}

std::vector<std::byte> raw_bytes(ElementType type, const std::vector<YAML::Node>& values) {
  switch (domain_of(type)) {
    case Domain::integer:
      return packed<std::int64_t>(type, values);
    case Domain::natural:
      return packed<std::uint64_t>(type, values);
    case Domain::boolean:
      return packed<bool>(type, values);
    case Domain::complex:
      return packed<std::complex<double>>(type, values);
    default:
      return packed<double>(type, values);
  }
}

void flatten_into(const YAML::Node& values, std::size_t depth, std::vector<std::int64_t>& shape,
                  std::vector<YAML::Node>& out) {
  if (!values.IsSequence()) {
    out.push_back(values);
    return;
  }
  if (shape.size() == depth) shape.push_back(static_cast<std::int64_t>(values.size()));
  for (const YAML::Node& value : values) flatten_into(value, depth + 1, shape, out);
}

}  // namespace

std::vector<YAML::Node> flatten(const YAML::Node& values, std::vector<std::int64_t>& shape) {
  std::vector<YAML::Node> flat;
  shape.clear();
  flatten_into(values, 0, shape, flat);
  return flat;
}

ir::Tensor make_tensor(ElementType type, const YAML::Node& values, const std::vector<std::int64_t>* dims,
                       StringPool& strings) {
  ir::Tensor tensor;
  const std::vector<YAML::Node> flat = flatten(values, tensor.dims);
  if (dims) tensor.dims = *dims;
  std::int64_t count = 1;
  for (const std::int64_t d : tensor.dims) count *= d;
  if (count != static_cast<std::int64_t>(flat.size())) {
    throw YAML::Exception(values.Mark(), fmt::format("{} values for {} elements", flat.size(), count));
  }
  tensor.data_type = static_cast<std::int32_t>(type);
  if (type == ElementType::string) {
    for (const YAML::Node& value : flat) tensor.string_data.push_back(strings.keep(value.as<std::string>()));
  } else {
    const std::vector<std::byte> bytes = raw_bytes(type, flat);
    tensor.raw_data = strings.keep(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  return tensor;
}

}  // namespace onnxkit::op_cases
