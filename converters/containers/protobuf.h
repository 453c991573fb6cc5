#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "libonnxkit/wire/binary/cursor.h"

namespace onnxkit::containers {

/// Walks over the fields of a protobuf message of any schema. Where the bytes are no message, the walk ends and `damaged`, which nested walks
/// may share, becomes true.
class ProtoFields {
 public:
  ProtoFields(std::string_view message, bool& damaged) : cursor_(message), damaged_(&damaged) {}

  /// Steps to the next field; false behind the last one.
  bool next() {
    if (*damaged_ || cursor_.at_end()) return false;
    wire::Tag tag;
    if (cursor_.tag(tag) != wire::Fault::none || !read(tag)) return !(*damaged_ = true);
    number_ = tag.number;
    type_ = tag.type;
    return true;
  }

  std::uint32_t number() const { return number_; }
  bool is_message() const { return type_ == wire::WireType::length; }
  /// A string, bytes or a message; empty for fields of other types.
  std::string_view bytes() const { return bytes_; }
  std::int64_t integer() const { return static_cast<std::int64_t>(bits_); }
  bool flag() const { return bits_ != 0; }
  float real() const {
    const auto word = static_cast<std::uint32_t>(bits_);
    float value = 0;
    std::memcpy(&value, &word, sizeof(value));
    return value;
  }
  /// The numbers of a repeated field of varints, packed or one by one.
  template <class Take>
  void integers(Take take) const {
    if (!is_message()) return take(integer());
    wire::Cursor packed(bytes_);
    std::uint64_t value = 0;
    while (!packed.at_end()) {
      if (packed.varint(value) != wire::Fault::none) return void(*damaged_ = true);
      take(static_cast<std::int64_t>(value));
    }
  }
  /// The same for numbers of fixed size.
  template <class Number, class Take>
  void fixed(Take take) const {
    Number value{};
    if (!is_message()) {
      std::memcpy(&value, &bits_, sizeof(value));
      return take(value);
    }
    if (bytes_.size() % sizeof(Number) != 0) return void(*damaged_ = true);
    for (std::size_t at = 0; at < bytes_.size(); at += sizeof(Number)) {
      std::memcpy(&value, bytes_.data() + at, sizeof(value));
      take(value);
    }
  }

 private:
  bool read(wire::Tag tag) {
    constexpr int most_groups = 32;
    bytes_ = {};
    bits_ = 0;
    std::uint32_t word = 0;
    wire::Fault fault = wire::Fault::none;
    switch (tag.type) {
      case wire::WireType::varint:
        return cursor_.varint(bits_) == wire::Fault::none;
      case wire::WireType::fixed64:
        return cursor_.fixed(bits_) == wire::Fault::none;
      case wire::WireType::fixed32:
        fault = cursor_.fixed(word);
        bits_ = word;
        return fault == wire::Fault::none;
      case wire::WireType::length:
        return cursor_.bytes(bytes_) == wire::Fault::none;
      default:
        return cursor_.skip(tag, most_groups) == wire::Fault::none;
    }
  }

  wire::Cursor cursor_;
  bool* damaged_;
  std::uint32_t number_ = 0;
  wire::WireType type_ = wire::WireType::varint;
  std::string_view bytes_;
  std::uint64_t bits_ = 0;
};

}  // namespace onnxkit::containers
