#include "libonnxkit/wire/values/npy.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/packed.h"
#include "libonnxkit/wire/values/npy_header.h"
#include "libonnxkit/wire/values/npy_text.h"

namespace onnxkit::wire {
namespace {

Error unsupported(std::string message, std::string found) {
  Error error = make_error("unsupported-npy", std::move(message));
  error.diagnostic.found = std::move(found);
  return error;
}

struct Native {
  ElementType type;
  char kind;
  std::uint64_t width;
};
constexpr Native natives[] = {
    {ElementType::boolean, 'b', 1},   {ElementType::int8, 'i', 1},       {ElementType::int16, 'i', 2},
    {ElementType::int32, 'i', 4},     {ElementType::int64, 'i', 8},      {ElementType::uint8, 'u', 1},
    {ElementType::uint16, 'u', 2},    {ElementType::uint32, 'u', 4},     {ElementType::uint64, 'u', 8},
    {ElementType::float16, 'f', 2},   {ElementType::float32, 'f', 4},    {ElementType::float64, 'f', 8},
    {ElementType::complex64, 'c', 8}, {ElementType::complex128, 'c', 16}};

/// undefined when ONNX has no such type.
ElementType element_type_of(const NpyHeader& header, const NpyOptions& options) {
  if (header.kind == 'V') {
    const int bits = storage_bits(options.void_type);
    const bool fits = bits > 0 && static_cast<std::uint64_t>(bits + 7) / 8 == header.width;
    return fits ? options.void_type : ElementType::undefined;
  }
  for (const Native& native : natives) {
    if (native.kind == header.kind && native.width == header.width) return native.type;
  }
  return ElementType::undefined;
}

Result<ElementType> known_type_of(const NpyHeader& header, const NpyOptions& options) {
  const bool is_text = header.kind == 'U' || header.kind == 'S';
  const ElementType type = is_text ? ElementType::string : element_type_of(header, options);
  if (type != ElementType::undefined) return type;
  return unsupported(header.kind == 'V' ? "a void array, which requires a declared element type"
                                        : "an array with an element type that ONNX does not have",
                     quote(header.descr));
}

void swap_bytes(std::span<std::byte> bytes, std::size_t unit) {
  for (std::size_t at = 0; at + unit <= bytes.size(); at += unit)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + unit));
}

/// From the first index running fastest to the last one doing so.
std::vector<std::byte> in_row_order(std::span<const std::byte> columns, std::span<const std::int64_t> dims,
                                    std::size_t width) {
  std::vector<std::byte> rows(columns.size());
  std::vector<std::size_t> strides(dims.size(), width), index(dims.size());
  for (std::size_t k = 1; k < dims.size(); ++k) strides[k] = strides[k - 1] * static_cast<std::size_t>(dims[k - 1]);
  std::size_t source = 0;
  for (std::size_t at = 0; at + width <= rows.size() && width > 0; at += width) {
    std::memcpy(rows.data() + at, columns.data() + source, width);
    for (std::size_t k = dims.size(); k-- > 0;) {
      source += strides[k];
      if (++index[k] < static_cast<std::size_t>(dims[k])) break;
      source -= strides[k] * index[k];
      index[k] = 0;
    }
  }
  return rows;
}

/// One element to a byte becomes the packed form.
std::vector<std::byte> packed(ElementType type, std::span<const std::byte> bytes) {
  const auto size = packed_size(type, static_cast<std::int64_t>(bytes.size())).value_or(0);
  std::vector<std::byte> out(static_cast<std::size_t>(size));
  const auto code = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  if (storage_bits(type) == 2) pack_codes<2>(bytes.size(), out, code);
  if (storage_bits(type) == 4) pack_codes<4>(bytes.size(), out, code);
  if (storage_bits(type) == 6) pack_codes<6>(bytes.size(), out, code);
  return out;
}

/// Numbers that numpy has no type for, as it can hold them.
template <class Wide, class Element>
std::vector<std::byte> widened(const Tensor& tensor) {
  std::vector<Element> elements(static_cast<std::size_t>(tensor.size()));
  decode(tensor.type(), tensor.bytes(), std::span(elements));
  std::vector<std::byte> out(elements.size() * sizeof(Wide));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto wide = static_cast<Wide>(elements[i]);
    std::memcpy(out.data() + i * sizeof(Wide), &wide, sizeof(Wide));
  }
  return out;
}

std::string with_bytes(std::string header, std::span<const std::byte> bytes) {
  return header.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

Result<Tensor> read_npy(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
                        const NpyOptions& options) {
  auto header = parse_npy_header(bytes, bytes.size());
  if (!header) return std::move(header).error();
  const Result<ElementType> known = known_type_of(*header, options);
  if (!known) return known.error();
  const ElementType type = *known;
  std::span<const std::byte> data = bytes.subspan(header->size);
  const auto width = static_cast<std::size_t>(header->width);
  std::vector<std::byte> own;
  if (header->columns_first && header->dims.size() > 1) {
    own = in_row_order(data, header->dims, width);
    data = own;
  }
  if (type == ElementType::string) return read_npy_text(*header, data);
  const int bits = storage_bits(type);
  if (header->swapped && bits > 8) {
    if (own.empty()) own.assign(data.begin(), data.end());
    swap_bytes(own, header->kind == 'c' ? width / 2 : width);
  }
  if (bits < 8) own = packed(type, data);
  const bool viewed = own.empty() && owner;
  if (viewed) return Tensor::view(type, std::move(header->dims), data, owner);
  if (own.empty()) own.assign(data.begin(), data.end());
  return Tensor::from_bytes(type, std::move(header->dims), std::move(own));
}

Result<Tensor> read_npy(const std::shared_ptr<const MappedFile>& file, const NpyOptions& options) {
  return read_npy(file->bytes(), file, options);
}

Result<void> check_npy_start(std::span<const std::byte> start, std::uint64_t size, const NpyOptions& options) {
  const auto header = parse_npy_header(start, size);
  if (!header) return header.error();
  if (const Result<ElementType> type = known_type_of(*header, options); !type) return type.error();
  return {};
}

Result<std::string> write_npy(const Tensor& tensor) {
  if (tensor.type() == ElementType::string) return write_npy_text(tensor);
  for (const Native& native : natives) {
    if (native.type == tensor.type()) {
      const std::string descr = fmt::format("{}{}{}", native.width == 1 ? '|' : '<', native.kind, native.width);
      return with_bytes(npy_header(descr, tensor.dims()), tensor.bytes());
    }
  }
  switch (domain_of(tensor.type())) {
    case Domain::integer:
      return with_bytes(npy_header("|i1", tensor.dims()), widened<std::int8_t, std::int64_t>(tensor));
    case Domain::natural:
      return with_bytes(npy_header("|u1", tensor.dims()), widened<std::uint8_t, std::uint64_t>(tensor));
    default:
      break;
  }
  if (tensor.type() == ElementType::undefined) return unsupported("a tensor without type", "undefined");
  return with_bytes(npy_header("<f4", tensor.dims()), widened<float, double>(tensor));
}

}  // namespace onnxkit::wire
