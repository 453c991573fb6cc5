#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onnxkit::containers {

/// JSON text, value by value. Commas are its business; that brackets match is the caller's.
class JsonWriter {
 public:
  JsonWriter& open_object() { return open('{'); }
  JsonWriter& close_object() { return close('}'); }
  JsonWriter& open_array() { return open('['); }
  JsonWriter& close_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag) { return raw(flag ? "true" : "false"); }
  JsonWriter& value(std::int64_t number) { return raw(std::to_string(number)); }
  JsonWriter& value(int number) { return raw(std::to_string(number)); }
  /// Shortest text that reads back as the number; it must be finite.
  JsonWriter& value(double number);
  JsonWriter& null() { return raw("null"); }
  template <class T>
  JsonWriter& member(std::string_view name, T content) {
    return key(name).value(content);
  }
  /// Text that is JSON already.
  JsonWriter& raw(std::string_view json);

  const std::string& text() const { return text_; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void quote(std::string_view text);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace onnxkit::containers
