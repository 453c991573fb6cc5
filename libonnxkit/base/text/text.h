#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace onnxkit {

/// An optional view on bytes that somebody else owns: absent, or present and perhaps empty. Protobuf fields are like that.
class Text {
 public:
  constexpr Text() = default;
  constexpr Text(std::string_view bytes) : data_(bytes.data() ? bytes.data() : ""), size_(bytes.size()) {}
  constexpr Text(const char* literal) : Text(std::string_view(literal)) {}

  constexpr bool present() const { return data_ != nullptr; }
  /// The bytes; empty when absent.
  constexpr std::string_view view() const { return data_ ? std::string_view(data_, size_) : std::string_view(); }
  constexpr operator std::string_view() const { return view(); }
  constexpr bool empty() const { return size_ == 0; }
  constexpr std::size_t size() const { return size_; }

  /// Absent and present-but-empty differ.
  friend constexpr bool operator==(const Text& a, const Text& b) {
    return a.present() == b.present() && a.view() == b.view();
  }
  friend constexpr bool operator==(const Text& a, std::string_view b) { return a.view() == b; }
  friend constexpr bool operator==(const Text& a, const char* b) { return a.view() == b; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace onnxkit
