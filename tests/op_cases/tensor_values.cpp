#include "tests/op_cases/tensor_values.h"

#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

namespace onnxkit::op_cases {
namespace {

/// Every finite number that a case file states is exact or rounded toward zero; that is enough for shapes and rules.
std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t fraction = (bits >> 13) & 0x3ff;
  const int exponent = static_cast<int>((bits >> 23) & 0xff) - 127 + 15;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (exponent >= 31) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (exponent <= 0) {
    const auto steps = static_cast<std::uint32_t>(std::ldexp(std::fabs(value), 24));
    return static_cast<std::uint16_t>(sign | steps);
  }
  return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(exponent) << 10) | fraction);
}

template <class T>
void append(std::string& bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

void append_integer(std::string& bytes, const YAML::Node& value, int width) {
  const auto text = value.as<std::string>();
  const std::uint64_t number = text.starts_with('-') ? static_cast<std::uint64_t>(value.as<std::int64_t>())
                               : text == "true"      ? 1
                               : text == "false"     ? 0
                                                     : value.as<std::uint64_t>();
  for (int i = 0; i < width; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
}

/// Elements of less than a byte, the first in the low bits.
std::string pack_small(const std::vector<YAML::Node>& values, int bits) {
  std::string bytes((values.size() * static_cast<std::size_t>(bits) + 7) / 8, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(values[i].as<int>()) & ((1u << bits) - 1);
    const std::size_t at = i * static_cast<std::size_t>(bits);
    for (int b = 0; b < bits; ++b) {
      const std::size_t position = at + static_cast<std::size_t>(b);
      if ((number >> b) & 1u) bytes[position / 8] = static_cast<char>(bytes[position / 8] | (1 << (position % 8)));
    }
  }
  return bytes;
}

std::string raw_bytes(ElementType type, const std::vector<YAML::Node>& values) {
  const int bits = storage_bits(type);
  if (bits < 8) return pack_small(values, bits);
  std::string bytes;
  for (const YAML::Node& value : values) {
    switch (type) {
      case ElementType::float32:
        append(bytes, value.as<float>());
        break;
      case ElementType::float64:
        append(bytes, value.as<double>());
        break;
      case ElementType::float16:
        append(bytes, float16_bits(value.as<float>()));
        break;
      case ElementType::bfloat16:
        append(bytes, static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value.as<float>()) >> 16));
        break;
      default:
        append_integer(bytes, value, bits / 8);
    }
  }
  return bytes;
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
    tensor.raw_data = strings.keep(raw_bytes(type, flat));
  }
  return tensor;
}

}  // namespace onnxkit::op_cases
