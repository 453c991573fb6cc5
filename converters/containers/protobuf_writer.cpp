#include "converters/containers/protobuf_writer.h"

#include <cstring>

namespace onnxkit::containers {
namespace {

constexpr std::uint32_t as_varint = 0, as_length = 2, as_fixed32 = 5;

}  // namespace

void append_varint(std::string& bytes, std::uint64_t value) {
  constexpr std::uint64_t more = 0x80;
  for (; value >= more; value >>= 7) bytes.push_back(static_cast<char>((value & (more - 1)) | more));
  bytes.push_back(static_cast<char>(value));
}

std::string& ProtoMessage::tail() {
  if (pieces_.empty() || !pieces_.back().elsewhere.empty()) pieces_.emplace_back();
  return pieces_.back().own;
}

void ProtoMessage::append(std::string_view bytes) {
  tail().append(bytes);
  size_ += bytes.size();
}

void ProtoMessage::refer(std::string_view bytes) {
  if (bytes.empty()) return;
  tail();
  pieces_.back().elsewhere = bytes;
  size_ += bytes.size();
}

void ProtoMessage::varint(std::uint64_t value) {
  std::string& bytes = tail();
  const std::size_t before = bytes.size();
  append_varint(bytes, value);
  size_ += bytes.size() - before;
}

void ProtoMessage::key(std::uint32_t field, std::uint32_t wire_type) {
  varint((static_cast<std::uint64_t>(field) << 3) | wire_type);
}

void ProtoMessage::integer(std::uint32_t field, std::int64_t value) {
  key(field, as_varint);
  varint(static_cast<std::uint64_t>(value));
}

void ProtoMessage::fixed32(std::uint32_t field, std::uint32_t value) {
  key(field, as_fixed32);
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  append({bytes, sizeof(value)});
}

void ProtoMessage::real(std::uint32_t field, float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof(word));
  fixed32(field, word);
}

void ProtoMessage::text(std::uint32_t field, std::string_view value) {
  key(field, as_length);
  varint(value.size());
  append(value);
}

void ProtoMessage::content(std::uint32_t field, std::string_view value) {
  constexpr std::size_t short_content = 4096;
  if (value.size() < short_content) return text(field, value);
  key(field, as_length);
  varint(value.size());
  refer(value);
}

void ProtoMessage::message(std::uint32_t field, ProtoMessage value) {
  key(field, as_length);
  varint(value.size_);
  for (Piece& piece : value.pieces_) {
    append(piece.own);
    refer(piece.elsewhere);
  }
}

void ProtoMessage::packed(std::uint32_t field, const std::vector<std::int64_t>& values) {
  std::string bytes;
  for (const std::int64_t value : values) append_varint(bytes, static_cast<std::uint64_t>(value));
  text(field, bytes);
}

Result<void> ProtoMessage::write(const ByteSink& sink) const {
  for (const Piece& piece : pieces_) {
    if (auto done = sink(piece.own); !done) return done;
    if (piece.elsewhere.empty()) continue;
    if (auto done = sink(piece.elsewhere); !done) return done;
  }
  return {};
}

std::string ProtoMessage::bytes() const {
  std::string all;
  for (const Piece& piece : pieces_) {
    all += piece.own;
    all += piece.elsewhere;
  }
  return all;
}

}  // namespace onnxkit::containers
