#include "libonnxkit/ir/tensor/tensor_data.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/small_float.h"

namespace onnxkit::ir {
namespace {

bool is_complex(ElementType type) { return type == ElementType::complex64 || type == ElementType::complex128; }

bool is_varint(TypedField field) {
  return field == TypedField::int32_data || field == TypedField::int64_data || field == TypedField::uint64_data;
}

/// Elements that share one entry of int32_data. Six-bit elements have one each.
int elements_per_entry(ElementType type) {
  const int bits = storage_bits(type);
  return bits == 4 ? 2 : bits == 2 ? 4 : 1;
}

std::uint64_t load_bits(std::span<const std::byte> data, std::uint64_t element, int bits) {
  if (bits >= 8) {
    std::uint64_t value = 0;
    const auto size = static_cast<std::size_t>(bits / 8);
    std::memcpy(&value, data.data() + element * size, size);
    return value;
  }
  const std::uint64_t group = element / 8 * static_cast<std::uint64_t>(bits);  // eight elements take `bits` whole bytes
  const std::uint64_t position = element % 8 * static_cast<std::uint64_t>(bits);
  const std::uint64_t byte = group + position / 8;
  std::uint64_t window = std::to_integer<std::uint64_t>(data[byte]);
  if (byte + 1 < data.size()) window |= std::to_integer<std::uint64_t>(data[byte + 1]) << 8;
  return window >> (position % 8) & ((1u << bits) - 1);
}

std::int64_t sign_extended(std::uint64_t bits, int width) {
  const int shift = 64 - width;
  return static_cast<std::int64_t>(bits << shift) >> shift;
}

std::int64_t integer_value(ElementType type, std::uint64_t bits, int width) {
  switch (type) {
    case ElementType::int8:
    case ElementType::int16:
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::int4:
    case ElementType::int2:
      return sign_extended(bits, width);
    case ElementType::boolean:
      return (bits & 0xff) != 0;
    default:
      return static_cast<std::int64_t>(width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1));
  }
}

double real_value(ElementType type, std::uint64_t bits, int width) {
  const auto low = static_cast<std::uint32_t>(bits);
  switch (type) {
    case ElementType::float32:
    case ElementType::complex64:
      return std::bit_cast<float>(low);
    case ElementType::float64:
    case ElementType::complex128:
      return std::bit_cast<double>(bits);
    case ElementType::float16:
      return small_float_value(low, half_format);
    case ElementType::bfloat16:
      return small_float_value(low, bfloat16_format);
    case ElementType::float8e4m3fn:
      return small_float_value(low, float8e4m3fn_format);
    case ElementType::float8e4m3fnuz:
      return small_float_value(low, float8e4m3fnuz_format);
    case ElementType::float8e5m2:
      return small_float_value(low, float8e5m2_format);
    case ElementType::float8e5m2fnuz:
      return small_float_value(low, float8e5m2fnuz_format);
    case ElementType::float8e8m0:
      return float8e8m0_value(low);
    case ElementType::float4e2m1:
      return small_float_value(low, float4e2m1_format);
    case ElementType::float6e2m3:
      return small_float_value(low, float6e2m3_format);
    case ElementType::float6e3m2:
      return small_float_value(low, float6e3m2_format);
    case ElementType::uint64:
      return static_cast<double>(bits);
    default:
      return static_cast<double>(integer_value(type, bits, width));
  }
}

std::span<const std::byte> as_bytes(const Text& text) {
  return std::as_bytes(std::span(text.view().data(), text.size()));
}

}  // namespace

TypedField typed_field_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
    case ElementType::complex64:
      return TypedField::float_data;
    case ElementType::float64:
    case ElementType::complex128:
      return TypedField::double_data;
    case ElementType::int64:
      return TypedField::int64_data;
    case ElementType::uint32:
    case ElementType::uint64:
      return TypedField::uint64_data;
    case ElementType::string:
      return TypedField::string_data;
    default:
      return storage_bits(type) > 0 ? TypedField::int32_data : TypedField::none;
  }
}

const char* to_string(TypedField field) {
  constexpr const char* names[] = {"none",        "float_data",  "int32_data", "int64_data",
                                   "double_data", "uint64_data", "string_data"};
  return names[static_cast<std::size_t>(field)];
}

const PackedField* packed_field(const Tensor& tensor, TypedField field) {
  switch (field) {
    case TypedField::float_data:
      return &tensor.float_data;
    case TypedField::int32_data:
      return &tensor.int32_data;
    case TypedField::int64_data:
      return &tensor.int64_data;
    case TypedField::double_data:
      return &tensor.double_data;
    case TypedField::uint64_data:
      return &tensor.uint64_data;
    default:
      return nullptr;
  }
}

bool has_entries(const Tensor& tensor, TypedField field) {
  const PackedField* packed = packed_field(tensor, field);
  return packed ? packed->present() : field == TypedField::string_data && !tensor.string_data.empty();
}

ElementType element_type_of(const Tensor& tensor) {
  return tensor.data_type && is_known_element_type(*tensor.data_type) ? static_cast<ElementType>(*tensor.data_type)
                                                                      : ElementType::undefined;
}

std::optional<std::int64_t> element_count(const Tensor& tensor) { return checked_element_count(tensor.dims); }

std::optional<std::uint64_t> expected_bytes(ElementType type, std::int64_t count) { return packed_size(type, count); }

std::optional<std::uint64_t> expected_bytes(const Tensor& tensor) {
  const auto count = element_count(tensor);
  if (!count) return std::nullopt;
  return expected_bytes(element_type_of(tensor), *count);
}

std::optional<std::uint64_t> expected_entries(ElementType type, std::int64_t count) {
  if (typed_field_of(type) == TypedField::none || count < 0) return std::nullopt;
  const auto elements = static_cast<std::uint64_t>(count);
  if (is_complex(type)) return checked_mul<std::uint64_t>(elements, 2);
  const auto shared = static_cast<std::uint64_t>(elements_per_entry(type));
  return elements / shared + (elements % shared != 0);
}

std::optional<std::uint64_t> entry_count(const Tensor& tensor, TypedField field) {
  if (field == TypedField::string_data) return tensor.string_data.size();
  const PackedField* packed = packed_field(tensor, field);
  if (!packed) return 0;
  if (!is_varint(field)) {
    const std::uint64_t width = field == TypedField::float_data ? 4 : 8;
    return packed->byte_count() % width == 0 ? std::optional(packed->byte_count() / width) : std::nullopt;
  }
  constexpr int longest = 10;
  std::uint64_t count = 0;
  int length = 0;
  for (const auto& chunk : packed->chunks) {
    for (const std::byte byte : chunk) {
      const bool last = std::to_integer<unsigned>(byte) < 0x80;
      if (++length > longest) return std::nullopt;
      if (last) {
        ++count;
        length = 0;
      }
    }
  }
  return length == 0 ? std::optional(count) : std::nullopt;
}

std::optional<ElementReader> ElementReader::open(const Tensor& tensor, std::span<const std::byte> external) {
  ElementReader reader;
  reader.type_ = element_type_of(tensor);
  const TypedField field = typed_field_of(reader.type_);
  const auto count = element_count(tensor);
  if (field == TypedField::none || field == TypedField::string_data || !count) return std::nullopt;
  const auto bytes = expected_bytes(reader.type_, *count);
  const auto entries = expected_entries(reader.type_, *count);
  if (!bytes || !entries) return std::nullopt;
  const bool complex = is_complex(reader.type_);
  reader.bits_ = storage_bits(reader.type_) / (complex ? 2 : 1);
  reader.count_ = static_cast<std::uint64_t>(*count) * (complex ? 2 : 1);
  if (tensor.is_external() || tensor.raw_data.present()) {
    reader.data_ = tensor.is_external() ? external : as_bytes(tensor.raw_data);
    return reader.data_.size() == *bytes ? std::optional(reader) : std::nullopt;
  }
  const PackedField& packed = *packed_field(tensor, field);
  const std::uint64_t size = packed.byte_count();
  const std::uint64_t shortest = is_varint(field) ? 1 : field == TypedField::float_data ? 4 : 8;
  if (size / shortest < *entries || (!is_varint(field) && size != *entries * shortest)) return std::nullopt;
  reader.field_ = field;
  reader.chunks_ = packed.chunks;
  return reader;
}

bool ElementReader::next_entry(std::uint64_t& entry) {
  while (data_.empty()) {
    if (chunks_.empty()) return false;
    data_ = chunks_.front();
    chunks_ = chunks_.subspan(1);
  }
  if (!is_varint(field_)) {
    const auto size = static_cast<std::size_t>(bits_ / 8);
    if (data_.size() < size) return false;
    entry = load_bits(data_, 0, bits_);
    data_ = data_.subspan(size);
    return true;
  }
  entry = 0;
  for (std::size_t i = 0; i < data_.size() && i < 10; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(data_[i]);
    entry |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      data_ = data_.subspan(i + 1);
      return true;
    }
  }
  return false;
}

bool ElementReader::next(std::uint64_t& bits) {
  if (done_ == count_) return false;
  if (field_ == TypedField::none) {
    bits = load_bits(data_, done_++, bits_);
    return true;
  }
  if (elements_in_entry_ == 0) {
    if (!next_entry(entry_)) return false;
    elements_in_entry_ = elements_per_entry(type_);
  }
  bits = entry_;
  entry_ >>= bits_ < 64 ? bits_ : 0;
  --elements_in_entry_;
  ++done_;
  return true;
}

std::size_t ElementReader::read(std::span<double> out) {
  std::size_t filled = 0;
  std::uint64_t bits = 0;
  while (filled < out.size() && next(bits)) out[filled++] = real_value(type_, bits, bits_);
  return filled;
}

std::size_t ElementReader::read(std::span<std::int64_t> out) {
  if (!is_integer(type_) && type_ != ElementType::boolean) return 0;
  std::size_t filled = 0;
  std::uint64_t bits = 0;
  while (filled < out.size() && next(bits)) out[filled++] = integer_value(type_, bits, bits_);
  return filled;
}

std::size_t ElementReader::read_raw(std::span<std::byte> out) {
  constexpr int group = 8;  // elements of any width that end on a byte together
  std::size_t filled = 0;
  while (out.size() - filled >= static_cast<std::size_t>(bits_)) {
    std::uint64_t packed = 0;
    int elements = 0;
    for (std::uint64_t bits = 0; elements < group && next(bits); ++elements) {
      if (bits_ >= 8) {
        std::memcpy(out.data() + filled, &bits, static_cast<std::size_t>(bits_ / 8));
        filled += static_cast<std::size_t>(bits_ / 8);
      } else {
        packed |= (bits & ((1u << bits_) - 1)) << (elements * bits_);
      }
    }
    if (bits_ < 8) {
      const auto size = static_cast<std::size_t>((elements * bits_ + 7) / 8);
      std::memcpy(out.data() + filled, &packed, size);
      filled += size;
    }
    if (elements < group) break;
  }
  return filled;
}

bool each_raw_piece(const Tensor& tensor, const std::function<bool(std::span<const std::byte>)>& visit) {
  if (tensor.is_external()) return false;
  auto reader = ElementReader::open(tensor);
  if (!reader) return false;
  if (tensor.raw_data.present()) return visit(as_bytes(tensor.raw_data));
  const TypedField field = typed_field_of(reader->type());
  if (!is_varint(field)) {
    const auto& chunks = packed_field(tensor, field)->chunks;
    return std::all_of(chunks.begin(), chunks.end(), visit);
  }
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  std::uint64_t left = expected_bytes(tensor).value_or(0);
  while (left > 0) {
    const std::size_t size = reader->read_raw(buffer);
    if (size == 0 || size > left || !visit(std::span(buffer).first(size))) return false;
    left -= size;
  }
  return true;
}

namespace {

template <class T>
std::optional<std::vector<T>> read_first(const Tensor& tensor, std::size_t at_most,
                                         std::span<const std::byte> external) {
  auto reader = ElementReader::open(tensor, external);
  if (!reader) return std::nullopt;
  std::vector<T> values(static_cast<std::size_t>(std::min<std::uint64_t>(reader->count(), at_most)));
  if (reader->read(std::span(values)) != values.size()) return std::nullopt;
  return values;
}

}  // namespace

std::optional<std::vector<double>> read_reals(const Tensor& tensor, std::size_t at_most,
                                              std::span<const std::byte> external) {
  return read_first<double>(tensor, at_most, external);
}

std::optional<std::vector<std::int64_t>> read_integers(const Tensor& tensor, std::size_t at_most,
                                                       std::span<const std::byte> external) {
  auto values = read_first<std::int64_t>(tensor, at_most, external);
  const bool too_large = values && element_type_of(tensor) == ElementType::uint64 &&
                         std::any_of(values->begin(), values->end(), [](std::int64_t v) { return v < 0; });
  return too_large ? std::nullopt : std::move(values);
}

}  // namespace onnxkit::ir
