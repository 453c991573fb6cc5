#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "libonnxkit/base/text/string_pool.h"
#include "onnxkit/result.h"

namespace onnxkit::containers {

/// A JSON text in memory, as a flat list of its values. Moves keep views valid.
class JsonDocument;

/// A value of a document, or nothing: looking up what is not there, or in what is no object, gives nothing, so that a
/// path through a file can be followed without a test at every step.
class Json {
 public:
  Json() = default;

  bool exists() const { return document_ != nullptr; }
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  std::optional<bool> boolean() const;
  /// A number without a fraction.
  std::optional<std::int64_t> integer() const;
  /// A number, or one of the strings "NaN", "Infinity" and "-Infinity", which JSON has no numbers for.
  std::optional<double> real() const;
  /// Holds as long as the document.
  std::optional<std::string_view> text() const;

  /// Of an object: the member of this name, the first when there are several. Takes time in proportion to the members.
  Json operator[](std::string_view name) const;
  /// The name of this member of an object.
  std::string_view name() const;
  /// Values of an array, or members of an object.
  std::size_t size() const;

  class Iterator;
  /// Goes through the values of an array or the members of an object.
  Iterator begin() const;
  Iterator end() const;

 private:
  friend class JsonDocument;
  Json(const JsonDocument* document, std::uint32_t index) : document_(document), index_(index) {}

  const JsonDocument* document_ = nullptr;
  std::uint32_t index_ = 0;
};

class Json::Iterator {
 public:
  explicit Iterator(Json at) : at_(at) {}
  Json operator*() const { return at_; }
  Iterator& operator++();
  bool operator!=(const Iterator& other) const { return at_.index_ != other.at_.index_; }

 private:
  Json at_;
};

class JsonDocument {
 public:
  /// Error code: json-syntax. Nesting is bounded.
  static Result<std::unique_ptr<const JsonDocument>> parse(std::string_view text);

  Json root() const { return {this, 0}; }

 private:
  friend class Json;
  friend class Json::Iterator;
  friend struct JsonReader;
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, array, object };
  /// `end` is the index behind the last value inside: what follows an array or object in the list is inside it.
  struct Entry {
    Kind kind = Kind::null;
    std::uint32_t end = 0;
    std::uint32_t size = 0;
    union {
      std::int64_t integer = 0;
      double real;
    };
    std::string_view name = {}, text = {};
  };

  std::vector<Entry> entries_;
  StringPool strings_;
};

}  // namespace onnxkit::containers
