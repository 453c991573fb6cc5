#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit::containers {

/// A protobuf message of any schema that is put together field by field. Long contents are not copied: they must outlive the message.
class ProtoMessage {
 public:
  /// An integer, boolean or enumeration.
  void integer(std::uint32_t field, std::int64_t value);
  void real(std::uint32_t field, float value);
  void fixed32(std::uint32_t field, std::uint32_t value);
  void text(std::uint32_t field, std::string_view value);
  /// The same without a copy.
  void content(std::uint32_t field, std::string_view value);
  void message(std::uint32_t field, ProtoMessage value);
  /// Integers in one field.
  void packed(std::uint32_t field, const std::vector<std::int64_t>& values);

  std::uint64_t size() const { return size_; }
  Result<void> write(const ByteSink& sink) const;
  std::string bytes() const;

 private:
  /// Own bytes, then bytes that lie elsewhere.
  struct Piece {
    std::string own;
    std::string_view elsewhere;
  };

  void key(std::uint32_t field, std::uint32_t wire_type);
  void varint(std::uint64_t value);
  void append(std::string_view bytes);
  void refer(std::string_view bytes);
  std::string& tail();

  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

/// As protobuf and sorted tables write integers.
void append_varint(std::string& bytes, std::uint64_t value);

}  // namespace onnxkit::containers
