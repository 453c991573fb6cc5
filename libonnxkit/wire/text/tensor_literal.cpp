#include "libonnxkit/wire/text/tensor_literal.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace onnxkit::wire::text {
namespace {

std::string joined(const ir::PackedField& field) {
  std::string bytes;
  bytes.reserve(field.byte_count());
  for (const auto& chunk : field.chunks) bytes.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
  return bytes;
}

}  // namespace

LiteralForm literal_form(std::optional<std::int32_t> data_type) {
  if (!is_known_element_type(data_type.value_or(0))) return {};
  const auto type = static_cast<ElementType>(*data_type);
  const bool is_complex = type == ElementType::complex64 || type == ElementType::complex128;
  const int bits = is_complex ? storage_bits(type) / 2 : storage_bits(type);
  const bool is_signed = type == ElementType::int8 || type == ElementType::int16 || type == ElementType::int32 ||
                         type == ElementType::int64;
  return {ir::typed_field_of(type), bits == 0 ? 0 : std::max(bits / 8, 1), is_signed};
}

bool fits_raw(std::uint64_t value, LiteralForm form) {
  if (form.raw_bytes >= 8) return true;
  const std::uint64_t count = std::uint64_t{1} << (8 * form.raw_bytes);
  return form.is_signed ? value + count / 2 < count : value < count;
}

ir::PackedField& packed_field(ir::Tensor& tensor, LiteralForm form) {
  return const_cast<ir::PackedField&>(*ir::packed_field(std::as_const(tensor), form.field));
}

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void append_little_endian(std::string& out, std::uint64_t value, int bytes) {
  char encoded[8];
  std::memcpy(encoded, &value, sizeof encoded);
  out.append(encoded, static_cast<std::size_t>(bytes));
}

std::uint64_t load_little_endian(const char* data, int bytes, bool is_signed) {
  std::uint64_t value = 0;
  std::memcpy(&value, data, static_cast<std::size_t>(bytes));
  if (!is_signed) return value;
  const int unused_bits = 64 - 8 * bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused_bits) >> unused_bits);
}

std::optional<std::uint64_t> PackedVarints::next() {
  while (chunk_ < field_.chunks.size() && offset_ == field_.chunks[chunk_].size()) {
    ++chunk_;
    offset_ = 0;
  }
  if (chunk_ == field_.chunks.size()) return std::nullopt;
  const auto chunk = field_.chunks[chunk_];
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70 && offset_ < chunk.size(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(chunk[offset_++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  malformed_ = true;
  return std::nullopt;
}

void set_packed(ir::Model& model, ir::PackedField& field, const std::string& bytes) {
  field.chunks.clear();
  if (!bytes.empty()) field.chunks.push_back(std::as_bytes(std::span(model.keep(bytes).view())));
}

std::optional<MisfitElement> move_to_raw(ir::Model& model, ir::Tensor& tensor) {
  const LiteralForm form = literal_form(tensor.data_type);
  if (!form.has_numbers() || tensor.raw_data.present()) return std::nullopt;
  ir::PackedField& field = packed_field(tensor, form);
  std::string raw;
  if (form.is_floating()) {
    raw = joined(field);
  } else {
    PackedVarints elements(field);
    for (std::size_t index = 0; const auto element = elements.next(); ++index) {
      if (!fits_raw(*element, form)) return MisfitElement{index, static_cast<std::int64_t>(*element)};
      append_little_endian(raw, *element, form.raw_bytes);
    }
  }
  tensor.raw_data = model.keep(raw);
  field.chunks.clear();
  return std::nullopt;
}

void move_to_typed(ir::Model& model, ir::Tensor& tensor) {
  const LiteralForm form = literal_form(tensor.data_type);
  if (!form.has_numbers() || !tensor.raw_data.present()) return;
  std::string typed;
  if (form.is_floating()) {
    typed = tensor.raw_data.view();
  } else {
    const std::string_view raw = tensor.raw_data;
    const auto width = static_cast<std::size_t>(form.raw_bytes);
    for (std::size_t at = 0; at + width <= raw.size(); at += width) {
      append_varint(typed, load_little_endian(raw.data() + at, form.raw_bytes, form.is_signed));
    }
  }
  set_packed(model, packed_field(tensor, form), typed);
  tensor.raw_data = {};
}

}  // namespace onnxkit::wire::text
