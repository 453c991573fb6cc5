#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace onnxkit::workers {

using Json = nlohmann::json;

/// What a worker may say: names and other words, and how many of them.
inline constexpr std::size_t longest_text = std::size_t{1} << 16, most_texts = 1000;

/// Words for people, at most `most` bytes of them, cut between characters: "... (N more bytes)".
std::string excerpt(std::string_view text, std::size_t most = longest_text);

/// Checked access to JSON that a worker sent. The first fault is kept; what is read after it may be a default, so the caller looks at fault() in the end.
class Fields {
 public:
  /// Empty: all was well.
  const std::string& fault() const { return fault_; }
  bool ok() const { return fault_.empty(); }
  /// `where` names the thing, as in "outputs[0]".
  void fail(std::string_view where, std::string_view what);

  /// The member `key`; null when it is not there or `object` is no object.
  static const Json& member(const Json& object, const char* key);

  std::string text(const Json& object, const char* key, std::string_view where);
  bool flag(const Json& object, const char* key, bool fallback, std::string_view where);
  /// From 0 to the greatest int64.
  std::uint64_t natural(const Json& value, std::string_view where);
  /// Finite and not negative.
  double seconds(const Json& value, std::string_view where);
  /// The elements of an array; an empty one when it is none.
  const Json& array(const Json& object, const char* key, std::string_view where);
  std::vector<std::string> texts(const Json& object, const char* key, std::string_view where);

 private:
  std::string fault_;
};

/// JSON text of one object, nested to a bounded depth; discarded when it is not.
Json parse_object(std::string_view text);

}  // namespace onnxkit::workers
