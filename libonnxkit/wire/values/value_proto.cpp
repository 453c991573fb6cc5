#include <optional>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/packed.h"
#include "libonnxkit/wire/binary/cursor.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/values/tensor_proto.h"

namespace onnxkit::wire {
namespace {

// SequenceProto (a list of each) and OptionalProto (at most one) hold values under the same field numbers.
enum ItemField : std::uint32_t { tensor_item = 3, sparse_item = 4, sequence_item = 5, map_item = 6, optional_item = 7 };
enum MapField : std::uint32_t { map_key_type = 2, map_keys = 3, map_string_keys = 4, map_values = 5 };
constexpr std::uint32_t name_field = 1, kind_field = 2;
// What SequenceProto.elem_type and OptionalProto.elem_type say.
enum ItemKind : std::uint32_t {
  undefined_kind = 0,
  tensor_kind = 1,
  sequence_kind = 3,
  map_kind = 4,
  optional_kind = 5
};

/// Two values of one type make one tensor with a further first axis, a number of them of one element a vector.
std::optional<Tensor> stacked(const std::vector<Value>& values) {
  const Tensor first = values.empty() ? Tensor() : values.front().tensor;
  for (const Value& value : values) {
    if (!value.is_tensor() || value.tensor.type() != first.type() || value.tensor.dims() != first.dims()) return {};
  }
  std::vector<std::int64_t> dims = {static_cast<std::int64_t>(values.size())};
  if (first.size() != 1) dims.insert(dims.end(), first.dims().begin(), first.dims().end());
  if (first.type() == ElementType::string) {
    std::vector<std::string> strings;
    for (const Value& value : values)
      strings.insert(strings.end(), value.tensor.strings().begin(), value.tensor.strings().end());
    auto joined = Tensor::from_strings(dims, std::move(strings));
    return joined ? std::optional(*std::move(joined)) : std::nullopt;
  }
  const auto count = checked_element_count(dims);
  const auto size = count ? packed_size(first.type(), *count) : std::nullopt;
  if (!size) return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(*size));
  const auto each = static_cast<std::size_t>(first.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    copy_elements(storage_bits(first.type()), values[i].tensor.bytes(), 0, bytes, i * each, each);
  auto joined = Tensor::from_bytes(first.type(), dims, std::move(bytes));
  return joined ? std::optional(*std::move(joined)) : std::nullopt;
}

/// Entry `index` along the first axis.
Tensor entry_of(const Tensor& stack, std::size_t index) {
  std::vector<std::int64_t> dims(stack.dims().begin() + 1, stack.dims().end());
  const auto each = static_cast<std::size_t>(checked_element_count(dims).value_or(0));
  if (stack.type() == ElementType::string) {
    const auto part = stack.strings().subspan(index * each, each);
    return *Tensor::from_strings(std::move(dims), {part.begin(), part.end()});
  }
  const std::uint64_t size = packed_size(stack.type(), static_cast<std::int64_t>(each)).value_or(0);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  copy_elements(storage_bits(stack.type()), stack.bytes(), index * each, bytes, 0, each);
  return *Tensor::from_bytes(stack.type(), std::move(dims), std::move(bytes));
}

/// Reads messages of values until one is at fault, which it then keeps.
class ValueReader {
 public:
  explicit ValueReader(std::shared_ptr<const MappedFile> file)
      : file_(std::move(file)), budget_(memory_slack + memory_per_byte * file_->bytes().size()) {
    pool_.files.push_back(file_);
  }

  std::optional<Error> error;
  std::string name;

  Value read(std::string_view body, ValueKind kind) {
    if (++depth_ > max_depth) fail("nesting-depth", "values are nested too deeply", body);
    Value value;
    if (!error && kind == ValueKind::tensor) value = tensor(body, read_tensor);
    if (!error && kind == ValueKind::map) value = map(body);
    if (!error && kind == ValueKind::optional && depth_ == 1 && is_bare_tensor(body)) {
      Tensor content = tensor(body, read_tensor);
      --depth_;
      return Value::optional(Value(std::move(content)));
    }
    if (!error && (kind == ValueKind::sequence || kind == ValueKind::optional)) {
      value.kind = kind;
      read_items(body, value);
    }
    --depth_;
    return value;
  }

 private:
  // An empty item takes two bytes of the file and some 130 of memory.
  static constexpr std::uint64_t memory_per_byte = 40;
  static constexpr std::uint64_t memory_slack = 1 << 20;

  /// A TensorProto where an OptionalProto is asked for: some exporters write the content of an optional alone. Only a tensor has dims as numbers in
  /// field 1, and fields from 8 on (name, raw_data).
  bool is_bare_tensor(std::string_view body) {
    Cursor cursor(body, file_->view().data());
    Tag tag;
    while (!cursor.at_end() && cursor.tag(tag) == Fault::none) {
      if ((tag.number == name_field && tag.type == WireType::varint) || tag.number > optional_item) return true;
      if (cursor.skip(tag, max_depth) != Fault::none) break;
    }
    return false;
  }

  /// A sparse tensor of a few bytes can ask for any amount of zeros.
  std::uint64_t dense_limit() const { return (std::uint64_t{1} << 26) + 1024 * file_->bytes().size(); }

  void fail(ErrorCode code, std::string message, std::string_view at) {
    if (error) return;
    error = make_error(code, std::move(message));
    error->diagnostic.location.byte_offset = static_cast<std::uint64_t>(at.data() - file_->view().data());
  }
  bool check(Fault fault, const Cursor& cursor) {
    const bool cut = fault == Fault::ends_early || fault == Fault::too_long;
    if (fault != Fault::none)
      fail(cut && depth_ <= 1 ? ErrorCode("truncated-file") : ErrorCode("malformed-protobuf"), to_string(fault),
           {cursor.position(), 0});
    return !error;
  }
  bool charge(std::uint64_t bytes, std::string_view at) {
    if (bytes > budget_) fail("malformed-protobuf", "more parts than a file of this size can contain", at);
    budget_ -= std::min(bytes, budget_);
    return !error;
  }

  template <class Read>
  Tensor tensor(std::string_view body, Read read_message) {
    const auto stored = read_message(body, file_->view(), pool_);
    auto made =
        stored ? tensor_of(*stored, {.external = {}, .owner = file_, .dense_limit = dense_limit()}) : stored.error();
    if constexpr (requires { stored->name; }) {
      if (stored && depth_ == 1) name = std::string(stored->name.view());
    }
    if (!made) error = made.error();
    return made ? *std::move(made) : Tensor();
  }

  /// Calls take(tag, cursor) for each field; it returns false for one that it did not read.
  template <class Take>
  void each_field(std::string_view body, Take take) {
    Cursor cursor(body, file_->view().data());
    while (!error && !cursor.at_end()) {
      Tag tag;
      if (!check(cursor.tag(tag), cursor)) return;
      if (take(tag, cursor) || error) continue;
      std::string_view text;
      if (tag.number == name_field && tag.type == WireType::length && depth_ == 1) {
        if (check(cursor.bytes(text), cursor)) name = std::string(text);
      } else {
        check(cursor.skip(tag, max_depth - depth_), cursor);
      }
    }
  }

  void read_items(std::string_view body, Value& parent) {
    each_field(body, [&](Tag tag, Cursor& cursor) {
      if (tag.type != WireType::length || tag.number < tensor_item || tag.number > optional_item) return false;
      std::string_view payload;
      if (!check(cursor.bytes(payload), cursor) || !charge(sizeof(Value), payload)) return true;
      constexpr ValueKind kinds[] = {ValueKind::tensor, ValueKind::tensor, ValueKind::sequence, ValueKind::map,
                                     ValueKind::optional};
      Value item = tag.number == sparse_item ? Value(tensor(payload, read_sparse_tensor))
                                             : read(payload, kinds[tag.number - tensor_item]);
      if (parent.kind == ValueKind::optional) parent.items.clear();  // as in protobuf, the last one counts
      parent.items.push_back(std::move(item));
      return true;
    });
  }

  void read_keys(Tag tag, Cursor& cursor, std::vector<std::int64_t>& keys) {
    std::uint64_t number = 0;
    if (tag.type == WireType::varint) {
      if (check(cursor.varint(number), cursor)) keys.push_back(static_cast<std::int64_t>(number));
      return;
    }
    std::string_view packed;
    if (!check(cursor.bytes(packed), cursor)) return;
    Cursor inner(packed, file_->view().data());
    while (!inner.at_end() && check(inner.varint(number), inner)) keys.push_back(static_cast<std::int64_t>(number));
  }

  Value map(std::string_view body) {
    std::vector<std::int64_t> keys;
    std::vector<std::string> string_keys;
    Value values = Value::sequence({});
    std::uint64_t key_type = static_cast<std::uint64_t>(ElementType::int64);
    each_field(body, [&](Tag tag, Cursor& cursor) {
      const bool length = tag.type == WireType::length;
      std::string_view payload;
      if (tag.number == map_key_type && tag.type == WireType::varint) {
        check(cursor.varint(key_type), cursor);
      } else if (tag.number == map_keys && (length || tag.type == WireType::varint)) {
        read_keys(tag, cursor, keys);
      } else if (tag.number == map_string_keys && length) {
        if (check(cursor.bytes(payload), cursor) && charge(sizeof(std::string), payload))
          string_keys.emplace_back(payload);
      } else if (tag.number == map_values && length) {
        if (check(cursor.bytes(payload), cursor)) values = read(payload, ValueKind::sequence);
      } else {
        return false;
      }
      return true;
    });
    if (error) return {};
    const auto stack = stacked(values.items);
    const bool strings = key_type == static_cast<std::uint64_t>(ElementType::string);
    if (!strings && (key_type >= element_type_count || !is_integer(static_cast<ElementType>(key_type))))
      fail("tensor-type", "the keys of a map must be integers or strings", body);
    const std::size_t count = strings ? string_keys.size() : keys.size();
    if (count != values.items.size()) {
      fail("tensor-size", "a map must have as many keys as values", body);
    } else if (!stack || count == 0) {
      fail("unsupported-format", "the values of a map must be tensors of the same type and shape", body);
    }
    if (error) return {};
    const std::vector<std::int64_t> dims = {static_cast<std::int64_t>(count)};
    const auto bytes = std::as_bytes(std::span(keys));
    auto held = strings ? Tensor::from_strings(dims, std::move(string_keys))
                        : Tensor::from_bytes(ElementType::int64, dims, {bytes.begin(), bytes.end()});
    return Value::map(*std::move(held), *stack);
  }

  std::shared_ptr<const MappedFile> file_;
  ir::Model pool_;
  std::uint64_t budget_;
  int depth_ = 0;
};

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_varint(out, field << 3);
  put_varint(out, value);
}
void put(std::string& out, std::uint32_t field, std::string_view payload) {
  put_varint(out, field << 3 | 2);
  put_varint(out, payload.size());
  out += payload;
}

std::string tensor_message(const Tensor& tensor, std::string_view name) {
  constexpr std::uint32_t dims = 1, data_type = 2, string_data = 6, tensor_name = 8, raw_data = 9;
  std::string out;
  for (const std::int64_t dim : tensor.dims()) put(out, dims, static_cast<std::uint64_t>(dim));
  put(out, data_type, static_cast<std::uint64_t>(tensor.type()));
  for (const std::string& text : tensor.strings()) put(out, string_data, text);
  if (!name.empty()) put(out, tensor_name, name);
  const std::span<const std::byte> bytes = tensor.bytes();
  if (tensor.type() != ElementType::string)
    put(out, raw_data, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  return out;
}

std::pair<std::uint32_t, ItemKind> item_location(const Value& item) {
  switch (item.kind) {
    case ValueKind::tensor:
      return {tensor_item, tensor_kind};
    case ValueKind::sequence:
      return {sequence_item, sequence_kind};
    case ValueKind::map:
      return {map_item, map_kind};
    default:
      return {optional_item, optional_kind};
  }
}

/// A SequenceProto or OptionalProto.
std::string items_message(const Value& value, std::string_view name) {
  std::string out;
  if (!name.empty()) put(out, name_field, name);
  const ItemKind of_none = value.kind == ValueKind::sequence ? tensor_kind : undefined_kind;
  put(out, kind_field, value.items.empty() ? of_none : item_location(value.items.front()).second);
  for (const Value& item : value.items) put(out, item_location(item).first, write_value(item));
  return out;
}

std::string map_message(const Value& value, std::string_view name) {
  std::string out;
  if (!name.empty()) put(out, name_field, name);
  const Tensor& keys = value.tensor;
  put(out, map_key_type, static_cast<std::uint64_t>(keys.type()));
  std::vector<std::int64_t> numbers(keys.type() == ElementType::string ? 0 : static_cast<std::size_t>(keys.size()));
  decode(keys.type(), keys.bytes(), std::span(numbers));
  for (const std::int64_t number : numbers) put(out, map_keys, static_cast<std::uint64_t>(number));
  for (const std::string& text : keys.strings()) put(out, map_string_keys, text);
  Value values = Value::sequence({});
  for (std::size_t i = 0; i < static_cast<std::size_t>(keys.size()); ++i)
    values.items.emplace_back(entry_of(value.items.front().tensor, i));
  put(out, map_values, items_message(values, {}));
  return out;
}

}  // namespace

Result<NamedValue> read_value(const std::shared_ptr<const MappedFile>& file, ValueKind kind) {
  const std::string_view bytes = file->view();
  if (bytes.empty() && (kind == ValueKind::tensor || kind == ValueKind::map))
    return make_error("empty-file", "the file is empty");
  ValueReader reader(file);
  Value value = reader.read(bytes, kind);
  if (reader.error) return *std::move(reader.error);
  return NamedValue{std::move(reader.name), std::move(value)};
}

std::string write_value(const Value& value, std::string_view name) {
  switch (value.kind) {
    case ValueKind::tensor:
      return tensor_message(value.tensor, name);
    case ValueKind::map:
      return map_message(value, name);
    default:
      return items_message(value, name);
  }
}

}  // namespace onnxkit::wire
