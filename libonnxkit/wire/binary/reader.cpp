#include "libonnxkit/wire/binary/reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "libonnxkit/wire/binary/cursor.h"
#include "libonnxkit/wire/binary/fields.h"
#include "libonnxkit/wire/binary/likeness.h"

namespace onnxkit::wire {
namespace {

/// State of one reading: the model's string pool, the limits, and the fault once there is one.
struct Reading {
  Reading(ir::Model& owner, std::string_view file_bytes)
      : model(owner), file(file_bytes), budget(memory_slack + memory_per_byte * file_bytes.size()) {}

  // The smallest useful parts of a model take some 30 times their size in memory. A file that asks for more consists of
  // empty messages, and would fill the memory.
  static constexpr std::uint64_t memory_per_byte = 40;
  static constexpr std::uint64_t memory_slack = 1 << 20;

  ir::Model& model;
  std::string_view file;
  std::uint64_t budget;
  int depth = 0;
  ir::Graph* scope = nullptr;

  bool failed = false;
  Fault fault = Fault::none;
  std::string why;
  std::uint64_t fault_offset = 0;
  bool bytes_missing = false;
  std::vector<std::string> path;  ///< from the inside out

  bool fail(Fault reason, std::uint64_t offset) {
    failed = true;
    fault = reason;
    why = to_string(reason);
    fault_offset = offset;
    bytes_missing = (reason == Fault::ends_early || reason == Fault::too_long) && depth <= 1;
    return false;
  }
  bool fail(std::string reason, std::uint64_t offset) {
    failed = true;
    why = std::move(reason);
    fault_offset = offset;
    return false;
  }
};

/// Counts how often each low field number occurs, so that long lists are allocated once.
std::array<std::uint32_t, 32> count_fields(Cursor cursor) {
  std::array<std::uint32_t, 32> counts{};
  while (!cursor.at_end()) {
    Tag tag;
    if (cursor.tag(tag) != Fault::none || tag.type == WireType::group_start) break;
    if (cursor.skip(tag, 0) != Fault::none) break;
    if (tag.type == WireType::length && tag.number < counts.size()) ++counts[tag.number];
  }
  return counts;
}

template <class M>
bool read_message(Reading& reading, std::string_view body, M& message);

/// Reads one field of one message at a time; `fields` offers it every member until one takes the field.
class FieldReader {
 public:
  static constexpr bool reading = true;

  FieldReader(Reading& state, std::string_view body) : r_(state), cursor_(body, state.file.data()) {
    constexpr std::size_t worth_counting = 4096;
    if (body.size() >= worth_counting) counts_ = count_fields(cursor_);
  }

  bool at_end() const { return cursor_.at_end(); }
  bool next() {
    field_start_ = cursor_.position();
    taken_ = false;
    const Fault fault = cursor_.tag(tag_);
    return fault == Fault::none || r_.fail(fault, cursor_.offset());
  }
  void finish() {
    if (!unknown_.empty()) *unknown_member_ = r_.model.keep(unknown_);
  }

  template <class T>
  void operator()(std::uint32_t number, const char* name, T& member) {
    if (!taken_ && tag_.number == number) read(name, member);
  }

  void packed(std::uint32_t number, const char* name, ir::PackedField& member, Packing packing) {
    if (!taken_ && tag_.number == number) read_packed(name, member, packing);
  }

  template <class Number>
  void one_of(std::uint32_t number_field, const char* number_name, std::optional<Number>& number,
              std::uint32_t text_field, const char* text_name, Text& text) {
    if (taken_) return;
    if (tag_.number == number_field) read(number_name, number);
    if (taken_) return void(text = {});
    if (tag_.number == text_field) read(text_name, text);
    if (taken_) number.reset();
  }

  template <class T>
  void payload(std::uint32_t number, const char* name, ir::Attribute& attribute) {
    if (taken_ || tag_.number != number || !accepts<T>()) return;
    read(name, payload_slot<T>(attribute));
  }

  template <ir::DeclaredType::Kind kind_value>
  void kind(std::uint32_t number, const char* name, ir::DeclaredType& type) {
    if (taken_ || tag_.number != number || tag_.type != WireType::length) return;
    if (type.kind != kind_value) replace_kind(type, kind_value);
    TypeBody<kind_value, ir::DeclaredType> body{type};
    read(name, body);
  }

  void value_name(std::uint32_t number, const char* name, ir::ValueInfo& info) {
    if (taken_ || tag_.number != number) return;
    Text text;
    read(name, text);
    if (!taken_ || r_.failed) return;
    info.value = r_.scope->intern(text);
    info.has_name = true;
  }
  void value_names(std::uint32_t number, const char* name, std::vector<ir::ValueId>& ids) {
    if (taken_ || tag_.number != number) return;
    Text text;
    read(name, text);
    if (taken_ && !r_.failed) ids.push_back(r_.scope->intern(text));
  }
  /// Inputs and outputs of a function: names without types.
  void value_names(std::uint32_t number, const char* name, std::vector<ir::ValueInfo>& infos) {
    if (taken_ || tag_.number != number || tag_.type != WireType::length || !charge<ir::ValueInfo>()) return;
    value_name(number, name, infos.emplace_back());
  }

  void unknown(Text& member) {
    if (taken_) return;
    const Fault fault = cursor_.skip(tag_, max_depth - r_.depth);
    if (fault != Fault::none) return void(r_.fail(fault, cursor_.offset()));
    const std::string_view field(field_start_, static_cast<std::size_t>(cursor_.position() - field_start_));
    if (!unknown_.empty()) {
      unknown_ += field;
    } else if (!member.present()) {
      member = Text(field);
    } else if (member.view().data() + member.size() == field.data()) {
      member = Text(std::string_view(member.view().data(), member.size() + field.size()));
    } else {
      unknown_ = std::string(member.view()) + std::string(field);
      unknown_member_ = &member;
    }
    taken_ = true;
  }

 private:
  bool is(WireType type) {
    taken_ = tag_.type == type;
    return taken_;
  }
  bool check(Fault fault) { return fault == Fault::none || r_.fail(fault, cursor_.offset()); }

  template <class M>
  bool charge() {
    if (r_.budget >= sizeof(M)) {
      r_.budget -= sizeof(M);
      return true;
    }
    return r_.fail("more parts than a file of this size can contain", cursor_.offset());
  }

  void read(const char*, Text& member) {
    std::string_view payload;
    if (is(WireType::length) && check(cursor_.bytes(payload))) member = Text(payload);
  }
  template <std::integral Number>
  void read(const char*, std::optional<Number>& member) {
    std::uint64_t value = 0;
    if (is(WireType::varint) && check(cursor_.varint(value))) member = static_cast<Number>(value);
  }
  void read(const char*, std::int64_t& member) {
    std::uint64_t value = 0;
    if (is(WireType::varint) && check(cursor_.varint(value))) member = static_cast<std::int64_t>(value);
  }
  void read(const char*, float& member) {
    if (is(WireType::fixed32)) check(cursor_.fixed(member));
  }
  void read(const char* name, std::vector<Text>& member) {
    Text text;
    read(name, text);
    if (taken_ && !r_.failed) member.push_back(text);
  }
  void read(const char* name, std::vector<std::int64_t>& member) {
    if (tag_.type != WireType::length) {
      std::int64_t value = 0;
      read(name, value);
      if (taken_ && !r_.failed) member.push_back(value);
      return;
    }
    Cursor packed;
    if (!open_packed(packed)) return;
    std::uint64_t value = 0;
    while (!packed.at_end()) {
      if (const Fault fault = packed.varint(value); fault != Fault::none) return void(r_.fail(fault, packed.offset()));
      member.push_back(static_cast<std::int64_t>(value));
    }
  }
  void read(const char* name, std::vector<float>& member) {
    if (tag_.type != WireType::length) {
      float value = 0;
      read(name, value);
      if (taken_ && !r_.failed) member.push_back(value);
      return;
    }
    Cursor packed;
    if (!open_packed(packed)) return;
    const std::size_t count = packed.left() / sizeof(float);
    if (packed.left() % sizeof(float) != 0)
      return void(r_.fail(Fault::ends_early, packed.offset() + count * sizeof(float)));
    const std::size_t before = member.size();
    member.resize(before + count);
    if (count > 0) std::memcpy(member.data() + before, packed.position(), count * sizeof(float));
  }

  template <class M>
  requires std::is_class_v<M>
  void read(const char* name, M& member) { enter(name, -1, member); }
  template <class M>
  requires std::is_class_v<M>
  void read(const char* name, std::optional<M>& member) {
    if (tag_.type == WireType::length) enter(name, -1, member ? *member : member.emplace());
  }
  template <class M>
  void read(const char* name, std::unique_ptr<M>& member) {
    if (tag_.type != WireType::length || (!member && !charge<M>())) return;
    if (!member) member = std::make_unique<M>();
    enter(name, -1, *member);
  }
  template <class M>
  void read(const char* name, std::vector<M>& member) {
    if (tag_.type != WireType::length || !charge<M>()) return;
    if (member.size() == member.capacity()) reserve(member);
    M& message = member.emplace_back();
    enter(name, static_cast<std::int64_t>(member.size()) - 1, message);
  }
  template <class M>
  void read(const char* name, std::vector<std::unique_ptr<M>>& member) {
    if (tag_.type != WireType::length || !charge<M>()) return;
    M& message = *member.emplace_back(std::make_unique<M>());
    enter(name, static_cast<std::int64_t>(member.size()) - 1, message);
  }

  template <class M>
  void reserve(std::vector<M>& member) {
    if (tag_.number >= counts_.size() || counts_[tag_.number] == 0) return;
    const std::uint64_t affordable = (r_.budget + sizeof(M)) / sizeof(M);
    member.reserve(member.size() + static_cast<std::size_t>(std::min<std::uint64_t>(counts_[tag_.number], affordable)));
    counts_[tag_.number] = 0;
  }

  template <class M>
  void enter(const char* name, std::int64_t index, M& message) {
    std::string_view body;
    if (!is(WireType::length) || !check(cursor_.bytes(body))) return;
    if (read_message(r_, body, message)) return;
    r_.path.push_back(index < 0 ? name : std::string(name) + " " + std::to_string(index));
  }

  bool open_packed(Cursor& packed) {
    std::string_view payload;
    if (!is(WireType::length) || !check(cursor_.bytes(payload))) return false;
    packed = Cursor(payload, r_.file.data());
    return true;
  }

  void read_packed(const char*, ir::PackedField& member, Packing packing) {
    std::string_view payload;
    if (tag_.type == WireType::length) {
      taken_ = true;
      if (!check(cursor_.bytes(payload)) || !check_packed(payload, packing)) return;
    } else {
      constexpr WireType single[] = {WireType::varint, WireType::fixed32, WireType::fixed64};
      if (!is(single[static_cast<int>(packing)])) return;
      const char* start = cursor_.position();
      if (!check(cursor_.skip(tag_, 0))) return;
      payload = {start, static_cast<std::size_t>(cursor_.position() - start)};
    }
    if (!payload.empty()) member.chunks.push_back(std::as_bytes(std::span(payload)));
  }
  /// Looks at the end only, since the payload may be weights that nobody needs to touch.
  bool check_packed(std::string_view payload, Packing packing) {
    if (payload.empty()) return true;
    const std::size_t width = packing == Packing::fixed32 ? 4 : 8;
    const bool cut = packing == Packing::varint ? (payload.back() & 0x80) != 0 : payload.size() % width != 0;
    return !cut || r_.fail("the last element of a packed list is cut off", cursor_.offset());
  }

  /// Whether the field at hand has a wire type that an attribute value of type T can be read from.
  template <class T>
  bool accepts() const {
    if constexpr (std::is_same_v<T, float>) return tag_.type == WireType::fixed32;
    if constexpr (std::is_same_v<T, std::int64_t>) return tag_.type == WireType::varint;
    if constexpr (std::is_same_v<T, std::vector<float>>)
      return tag_.type == WireType::fixed32 || tag_.type == WireType::length;
    if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
      return tag_.type == WireType::varint || tag_.type == WireType::length;
    return tag_.type == WireType::length;
  }
  template <class T>
  T& payload_slot(ir::Attribute& attribute) {
    if (std::holds_alternative<std::monostate>(attribute.payload)) return attribute.payload.emplace<T>();
    if (T* held = std::get_if<T>(&attribute.payload)) return *held;
    for (ir::Attribute::Payload& other : attribute.more_payloads) {
      if (T* held = std::get_if<T>(&other)) return *held;
    }
    return attribute.more_payloads.emplace_back().emplace<T>();
  }

  static void replace_kind(ir::DeclaredType& type, ir::DeclaredType::Kind kind) {
    ir::DeclaredType fresh;
    fresh.kind = kind;
    fresh.denotation = type.denotation;
    fresh.unknown_fields = type.unknown_fields;
    type = std::move(fresh);
  }

  Reading& r_;
  Cursor cursor_;
  Tag tag_;
  const char* field_start_ = nullptr;
  bool taken_ = false;
  std::string unknown_;  ///< unknown fields so far, once they do not lie side by side in the file
  Text* unknown_member_ = nullptr;
  std::array<std::uint32_t, 32> counts_{};
};

/// Unpacked numbers leave a chunk each; many small ones become one.
void join_chunks(ir::Model& model, ir::PackedField& field) {
  constexpr std::size_t many = 8;
  constexpr std::size_t small = 64;
  if (field.chunks.size() <= many || field.byte_count() / field.chunks.size() >= small) return;
  std::string joined;
  joined.reserve(field.byte_count());
  for (const auto& chunk : field.chunks) joined.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
  field.chunks = {std::as_bytes(std::span(model.keep(joined).view()))};
}

void settle(ir::Model& model, ir::Tensor& tensor) {
  for (ir::PackedField* field :
       {&tensor.float_data, &tensor.int32_data, &tensor.int64_data, &tensor.double_data, &tensor.uint64_data}) {
    join_chunks(model, *field);
  }
}

template <class M>
bool read_fields(Reading& reading, std::string_view body, M& message) {
  FieldReader reader(reading, body);
  while (!reader.at_end()) {
    if (!reader.next()) return false;
    fields(reader, message);
    if (reading.failed) return false;
  }
  reader.finish();
  return true;
}

template <class M>
bool read_message(Reading& reading, std::string_view body, M& message) {
  if (reading.depth > max_depth)
    return reading.fail(Fault::too_deep, static_cast<std::uint64_t>(body.data() - reading.file.data()));
  ++reading.depth;
  ir::Graph* const outer = reading.scope;
  if constexpr (std::is_same_v<M, ir::Graph>) reading.scope = &message;
  if constexpr (std::is_same_v<M, ir::Function>) reading.scope = &message.body;
  if constexpr (std::is_same_v<M, ir::ValueInfo>) message.has_name = false;
  const bool complete = read_fields(reading, body, message);
  if constexpr (std::is_same_v<M, ir::Tensor>) settle(reading.model, message);
  if constexpr (std::is_same_v<M, ir::Graph>) message.intern_initializers();
  reading.scope = outer;
  --reading.depth;
  return complete;
}

Error reading_error(const Reading& reading, const std::filesystem::path& path) {
  const ErrorCode malformed =
      reading.fault == Fault::too_deep ? ErrorCode("nesting-depth") : ErrorCode("malformed-protobuf");
  Error error = make_error(reading.bytes_missing ? ErrorCode("truncated-file") : malformed, reading.why);
  Diagnostic& d = error.diagnostic;
  d.location.file = path.string();
  constexpr std::ptrdiff_t steps_shown = 12;
  const auto steps = static_cast<std::ptrdiff_t>(reading.path.size());
  d.location.scope.assign(reading.path.rbegin(), reading.path.rbegin() + std::min(steps, steps_shown));
  if (steps > steps_shown) d.location.scope.push_back("...");
  if (!d.location.scope.empty() && d.location.scope.front() == "graph") d.location.scope.front() = "main";
  d.location.byte_offset = reading.fault_offset;
  if (reading.bytes_missing) {
    d.message = "the file is truncated: " + reading.why;
    d.found = std::to_string(reading.file.size()) + " bytes";
    d.help = "copy or export the file again";
  }
  return error;
}

Error plain_error(ErrorCode code, std::string message, const std::filesystem::path& path) {
  Error error = make_error(code, std::move(message));
  error.diagnostic.location.file = path.string();
  return error;
}

template <class M>
Result<M> read_alone(std::string_view body, std::string_view file, ir::Model& pool) {
  Reading reading(pool, file);
  reading.depth = body.size() == file.size() ? 0 : 1;
  M message;
  if (!read_message(reading, body, message)) return reading_error(reading, pool.path);
  return message;
}

}  // namespace

Result<ir::Tensor> read_tensor(std::string_view body, std::string_view file, ir::Model& pool) {
  return read_alone<ir::Tensor>(body, file, pool);
}

Result<ir::SparseTensor> read_sparse_tensor(std::string_view body, std::string_view file, ir::Model& pool) {
  return read_alone<ir::SparseTensor>(body, file, pool);
}

Result<ir::Model> read_binary(std::shared_ptr<const MappedFile> file, const std::filesystem::path& path,
                              const NameContent& name_content) {
  const std::string_view bytes = file->view();
  if (bytes.empty()) return plain_error("empty-file", "the file is empty", path);
  ir::Model model;
  model.path = path;
  model.files.push_back(std::move(file));
  Reading reading(model, bytes);
  const bool complete = read_message(reading, bytes, model);
  if (complete && model.graph) return model;
  if (const auto guess = other_content(bytes, complete, name_content))
    return plain_error("not-onnx", "not a binary ONNX model: this looks like " + *guess, path);
  if (!complete) return reading_error(reading, path);
  return model;
}

}  // namespace onnxkit::wire
