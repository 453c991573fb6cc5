#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace onnxkit::wire {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, length = 2, group_start = 3, group_end = 4, fixed32 = 5 };

struct Tag {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
};

/// Why a step of a Cursor failed. `ends_early` and `too_long` say that bytes are missing, the others that bytes are wrong.
enum class Fault : std::uint8_t { none, ends_early, too_long, overlong_varint, bad_tag, unmatched_group, too_deep };

constexpr const char* to_string(Fault fault) {
  switch (fault) {
    case Fault::none:
      return "no fault";
    case Fault::ends_early:
      return "the bytes end within a field";
    case Fault::too_long:
      return "a length extends beyond the end";
    case Fault::overlong_varint:
      return "a variable-length integer has more than ten bytes";
    case Fault::bad_tag:
      return "no valid field starts here";
    case Fault::unmatched_group:
      return "a group has no matching end";
    case Fault::too_deep:
      return "messages are nested too deeply";
  }
  return "fault";
}

/// Reads protobuf primitives from a span; never steps outside it. A failing step leaves the cursor where the fault is.
class Cursor {
 public:
  Cursor() = default;
  /// `file_start` is where absolute offsets count from.
  Cursor(std::string_view bytes, const char* file_start)
      : file_start_(file_start), next_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  explicit Cursor(std::string_view bytes) : Cursor(bytes, bytes.data()) {}

  bool at_end() const { return next_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }
  const char* position() const { return next_; }
  std::uint64_t offset() const { return static_cast<std::uint64_t>(next_ - file_start_); }
  const char* file_start() const { return file_start_; }

  [[nodiscard]] Fault varint(std::uint64_t& value) {
    std::uint64_t result = 0;
    const char* p = next_;
    for (int shift = 0; shift < 70; shift += 7) {
      if (p == end_) return Fault::ends_early;
      const auto byte = static_cast<unsigned char>(*p++);
      result |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        value = result;
        next_ = p;
        return Fault::none;
      }
    }
    return Fault::overlong_varint;
  }

  [[nodiscard]] Fault tag(Tag& tag) {
    const char* start = next_;
    std::uint64_t value = 0;
    if (const Fault fault = varint(value); fault != Fault::none) return fault;
    const auto type = static_cast<std::uint8_t>(value & 7);
    if (value > 0xffffffff || (value >> 3) == 0 || type > 5) {
      next_ = start;
      return Fault::bad_tag;
    }
    tag = {static_cast<std::uint32_t>(value >> 3), static_cast<WireType>(type)};
    return Fault::none;
  }

  template <class T>
  [[nodiscard]] Fault fixed(T& value) {
    if (left() < sizeof(T)) return Fault::ends_early;
    std::memcpy(&value, next_, sizeof(T));
    next_ += sizeof(T);
    return Fault::none;
  }

  /// The payload of a length-delimited field.
  [[nodiscard]] Fault bytes(std::string_view& payload) {
    const char* start = next_;
    std::uint64_t size = 0;
    if (const Fault fault = varint(size); fault != Fault::none) return fault;
    if (size > left()) {
      next_ = start;
      return Fault::too_long;
    }
    payload = {next_, static_cast<std::size_t>(size)};
    next_ += size;
    return Fault::none;
  }

  /// Steps over the payload of a field whose tag has been read; groups may nest `depth` deep.
  [[nodiscard]] Fault skip(Tag tag, int depth);

 private:
  [[nodiscard]] Fault skip_group(std::uint32_t number, int depth);

  const char* file_start_ = nullptr;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
};

inline Fault Cursor::skip(Tag tag, int depth) {
  std::uint64_t number = 0;
  std::uint32_t word = 0;
  std::string_view payload;
  switch (tag.type) {
    case WireType::varint:
      return varint(number);
    case WireType::fixed64:
      return fixed(number);
    case WireType::fixed32:
      return fixed(word);
    case WireType::length:
      return bytes(payload);
    case WireType::group_start:
      return skip_group(tag.number, depth);
    case WireType::group_end:
      return Fault::unmatched_group;
  }
  return Fault::bad_tag;
}

inline Fault Cursor::skip_group(std::uint32_t number, int depth) {
  if (depth <= 0) return Fault::too_deep;
  for (;;) {
    Tag inner;
    if (const Fault fault = tag(inner); fault != Fault::none) return fault;
    if (inner.type == WireType::group_end) return inner.number == number ? Fault::none : Fault::unmatched_group;
    if (const Fault fault = skip(inner, depth - 1); fault != Fault::none) return fault;
  }
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed-width fields and weights are read in place");

}  // namespace onnxkit::wire
