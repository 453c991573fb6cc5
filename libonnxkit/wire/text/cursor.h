#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onnxkit::wire::text {

/// What stopped the parser.
struct SyntaxError {
  std::size_t position = 0;
  std::string expected;
  std::string found;
};

/// A number as it is written; what it means depends on where it stands.
struct Number {
  std::string_view spelling;  ///< empty: no number here
  bool is_float = false;
};

/// How an extension block is opened: "@{" must be understood, "#@{" may be skipped as a comment.
enum class Extension : std::uint8_t { none, required, comment };

constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_identifier_start(char c) { return is_alpha(c) || c == '_'; }
constexpr bool is_identifier_part(char c) { return is_alpha(c) || is_digit(c) || c == '_'; }
bool is_identifier(std::string_view text);
/// inf, infinity or nan, in any case.
bool is_float_word(std::string_view word);

/// The value of a number's spelling; nullopt when it does not fit. Underflow rounds to zero. "nan(0x7fc00001)" states the bits.
std::optional<std::int64_t> to_int64(std::string_view spelling);
std::optional<std::uint64_t> to_uint64(std::string_view spelling);
std::optional<float> to_float(std::string_view spelling);
std::optional<double> to_double(std::string_view spelling);

/// Tokens of the text syntax, one asked for at a time, since what a character means depends on the location. White space and comments
/// before a token are skipped. The first error is kept and moves the cursor to the end of the text, where nothing matches any
/// more: parsing code needs no checks of its own except in loops.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool failed() const { return error_.has_value(); }
  const std::optional<SyntaxError>& error() const { return error_; }
  /// Records an error at the next token, unless there is one already.
  void fail(std::string expected);
  /// The same at an earlier position.
  void fail_at(std::size_t position, std::string expected, std::string found);

  /// Where the next token starts.
  std::size_t position();
  bool at_end();
  /// First character of the next token; '\0' at the end.
  char peek();
  bool match(char c);
  void expect(char c);
  /// "=>", without space inside.
  void expect_arrow();

  /// Empty when none is next.
  std::string_view identifier();
  std::string_view peek_identifier();
  bool next_is_string();
  /// The value of "...", e"..." or x"..."; valid until the next call.
  std::string_view string();
  /// An identifier or a string.
  std::string_view name(const char* expected);
  Number number();
  /// "@7", "@-7", "@?" or "@()": element types by number and the type of no kind.
  bool next_is_numbered_type();
  bool match_kindless_type();
  /// The identifier `word` and then, perhaps after space, `c`.
  bool next_is(std::string_view word, char c);

  Extension open_extension();
  void close_extension(Extension kind);
  bool next_is_extension();

 private:
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  void skip_space();
  std::string describe_next();
  std::string_view plain_string();
  std::string_view escaped_string();
  std::string_view hex_string();
  void take_escape();

  std::string_view text_;
  std::size_t next_ = 0;
  std::size_t extension_start_ = 0;
  std::string scratch_;
  std::optional<SyntaxError> error_;
};

}  // namespace onnxkit::wire::text
