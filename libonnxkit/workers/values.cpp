#include "libonnxkit/workers/values.h"

#include <fmt/core.h>

#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::workers {
namespace {

constexpr std::array<std::pair<std::string_view, ValueKind>, 5> kinds = {{{"none", ValueKind::none},
                                                                          {"tensor", ValueKind::tensor},
                                                                          {"sequence", ValueKind::sequence},
                                                                          {"optional", ValueKind::optional},
                                                                          {"map", ValueKind::map}}};

std::string_view word_of(ValueKind kind) {
  for (const auto& [word, known] : kinds) {
    if (known == kind) return word;
  }
  return "none";
}

constexpr std::uint64_t aligned(std::uint64_t offset) {
  return (offset + segment_alignment - 1) / segment_alignment * segment_alignment;
}

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t index) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + index * sizeof number, sizeof number);
  return number;
}

/// What read_value hands down.
struct Source {
  const Segments& segments;
  Fields& fields;
};

std::vector<std::int64_t> read_shape(const Json& description, Fields& fields, const std::string& where) {
  std::vector<std::int64_t> dims;
  for (const Json& size : fields.array(description, "shape", where))
    dims.push_back(static_cast<std::int64_t>(fields.natural(size, where + ".shape")));
  return dims;
}

/// Strings of a tensor whose bytes are the ends of its strings and their text.
std::optional<std::vector<std::string>> read_strings(std::span<const std::byte> bytes, std::int64_t count) {
  const auto ends = checked_add<std::uint64_t>(static_cast<std::uint64_t>(count), 1);
  const auto table = ends ? checked_mul<std::uint64_t>(*ends, sizeof(std::uint64_t)) : std::nullopt;
  if (!table || *table > bytes.size()) return std::nullopt;
  const std::span<const std::byte> text = bytes.subspan(*table);
  if (number_at(bytes, 0) != 0 || number_at(bytes, *ends - 1) != text.size()) return std::nullopt;
  std::vector<std::string> strings;
  strings.reserve(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i + 1 < *ends; ++i) {
    const std::uint64_t start = number_at(bytes, i), end = number_at(bytes, i + 1);
    if (end < start || end > text.size()) return std::nullopt;
    strings.emplace_back(reinterpret_cast<const char*>(text.data()) + start, end - start);
  }
  return strings;
}

/// Where the bytes of a tensor lie, and what keeps them.
struct Range {
  std::span<const std::byte> bytes;
  std::shared_ptr<const Segment> owner;
};

Range read_range(const Json& description, const Source& source, const std::string& where) {
  const std::uint64_t length = source.fields.natural(Fields::member(description, "bytes"), where + ".bytes");
  if (length == 0) return {};
  const std::uint64_t index = source.fields.natural(Fields::member(description, "segment"), where + ".segment");
  const std::uint64_t offset = source.fields.natural(Fields::member(description, "offset"), where + ".offset");
  if (!source.fields.ok()) return {};
  if (index >= source.segments.size()) {
    source.fields.fail(where, fmt::format("segment {} of {}", index, source.segments.size()));
    return {};
  }
  const auto& segment = source.segments[index];
  const auto range = segment->range(offset, length);
  if (!range) {
    source.fields.fail(where, fmt::format("{} bytes at {} of a segment of {} bytes", length, offset, segment->size()));
    return {};
  }
  if (offset % segment_alignment != 0)
    source.fields.fail(where, fmt::format("offset {} is not a multiple of {}", offset, segment_alignment));
  return {*range, segment};
}

Tensor read_tensor(const Json& description, const Source& source, const std::string& where) {
  Fields& fields = source.fields;
  const ElementType type = read_type(Fields::member(description, "type"), fields, where);
  std::vector<std::int64_t> dims = read_shape(description, fields, where);
  const Range range = read_range(description, source, where);
  if (fields.ok() && type == ElementType::undefined) fields.fail(where, "a tensor without \"type\"");
  const auto count = checked_element_count(dims);
  if (!count) fields.fail(where, "a shape with too many elements");
  if (!fields.ok()) return {};
  if (type == ElementType::string) {
    auto strings = read_strings(range.bytes, *count);
    if (strings) return *Tensor::from_strings(std::move(dims), *std::move(strings));
    fields.fail(where, fmt::format("the bytes do not hold {} strings", *count));
    return {};
  }
  auto tensor = Tensor::view(type, std::move(dims), range.bytes, range.owner);
  if (tensor) return *std::move(tensor);
  const Diagnostic& fault = tensor.error().diagnostic;
  fields.fail(where, fmt::format("{} cannot have {}", fault.expected, fault.found));
  return {};
}

Value read(const Json& description, const Source& source, const std::string& where);

std::vector<Value> read_items(const Json& description, const Source& source, const std::string& where) {
  std::vector<Value> items;
  for (const Json& item : source.fields.array(description, "items", where)) {
    items.push_back(read(item, source, fmt::format("{}.items[{}]", where, items.size())));
    if (items.back().kind == ValueKind::none) source.fields.fail(where, "an item of kind none");
    if (!source.fields.ok()) break;
  }
  return items;
}

Value read_map(const Json& description, const Source& source, const std::string& where) {
  Tensor keys = read_tensor(Fields::member(description, "keys"), source, where + ".keys");
  Tensor values = read_tensor(Fields::member(description, "values"), source, where + ".values");
  if (!source.fields.ok()) return {};
  if (keys.type() != ElementType::string && !is_integer(keys.type()))
    source.fields.fail(where, fmt::format("keys of type {}", name_of(keys.type())));
  if (keys.dims().size() != 1 || values.dims().empty() || values.dims()[0] != keys.size())
    source.fields.fail(where, fmt::format("{} keys and {}", keys.size(), type_text(values)));
  return Value::map(std::move(keys), std::move(values));
}

Value read(const Json& description, const Source& source, const std::string& where) {
  Fields& fields = source.fields;
  if (!description.is_object()) fields.fail(where, "not an object");
  const ValueKind kind = read_kind(Fields::member(description, "kind"), fields, where);
  if (!fields.ok() || kind == ValueKind::none) return {};
  if (kind == ValueKind::tensor) return read_tensor(description, source, where);
  if (kind == ValueKind::map) return read_map(description, source, where);
  const ElementType declared = read_type(Fields::member(description, "type"), fields, where);
  std::vector<Value> items = read_items(description, source, where);
  if (kind == ValueKind::sequence) return Value::sequence(std::move(items), declared);
  if (items.size() > 1) fields.fail(where, "an optional with more than one item");
  if (items.empty()) return Value::optional(std::nullopt, declared);
  return Value::optional(std::move(items.front()), declared);
}

}  // namespace

Json ValueWriter::describe(const NamedValue& value) {
  Json described = describe(value.value);
  described["name"] = value.name;
  return described;
}

Json ValueWriter::describe(const Value& value) {
  if (value.is_tensor()) return describe(value.tensor);
  Json described = {{"kind", word_of(value.kind)}};
  if (value.kind == ValueKind::map) {
    described["keys"] = describe(value.tensor);
    described["values"] = describe(value.items.front());
  } else if (value.kind != ValueKind::none) {
    described["type"] = value.declared == ElementType::undefined ? Json() : Json(static_cast<int>(value.declared));
    described["items"] = Json::array();
    for (const Value& item : value.items) described["items"].push_back(describe(item));
  }
  return described;
}

Json ValueWriter::describe(const Tensor& tensor) {
  const auto bytes = tensor.type() == ElementType::string ? packed(tensor.strings()) : tensor.bytes();
  const std::uint64_t offset = pieces_.empty() ? 0 : aligned(pieces_.back().offset + pieces_.back().bytes.size());
  pieces_.push_back({offset, bytes});
  size_ = aligned(std::max<std::uint64_t>(offset + bytes.size(), 1));
  return {{"type", static_cast<int>(tensor.type())},
          {"shape", tensor.dims()},
          {"segment", 0},
          {"offset", offset},
          {"bytes", bytes.size()}};
}

std::span<const std::byte> ValueWriter::packed(std::span<const std::string> strings) {
  std::vector<std::uint64_t> ends = {0};
  for (const std::string& string : strings) ends.push_back(ends.back() + string.size());
  std::vector<std::byte>& bytes = owned_.emplace_back();
  const auto append = [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
  append(std::as_bytes(std::span(ends)));
  for (const std::string& string : strings) append(std::as_bytes(std::span(string)));
  return bytes;
}

Result<Descriptor> ValueWriter::segment() const { return make_segment(size_, pieces_); }

Value read_value(const Json& description, const Segments& segments, Fields& fields, const std::string& where) {
  return read(description, {segments, fields}, where);
}

ValueKind read_kind(const Json& word, Fields& fields, const std::string& where) {
  if (word.is_null()) return ValueKind::tensor;
  for (const auto& [known, kind] : kinds) {
    if (word == known) return kind;
  }
  fields.fail(where, "\"kind\" must be none, tensor, sequence, optional or map");
  return ValueKind::none;
}

ElementType read_type(const Json& number, Fields& fields, const std::string& where) {
  if (number.is_null()) return ElementType::undefined;
  const std::int64_t code = number.is_number_integer() ? number.get<std::int64_t>() : -1;
  if (code == 0) return ElementType::undefined;
  if (code > 0 && code < element_type_count) return static_cast<ElementType>(code);
  fields.fail(where, "\"type\" must be a number of TensorProto.DataType");
  return ElementType::undefined;
}

}  // namespace onnxkit::workers
