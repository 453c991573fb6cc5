#include "libonnxkit/wire/text/cursor.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "onnxkit/diagnostic.h"

namespace onnxkit::wire::text {
namespace {

constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

template <class T>
std::optional<T> to_integer(std::string_view spelling) {
  T value{};
  const char* end = spelling.data() + spelling.size();
  const auto [stop, fault] = std::from_chars(spelling.data(), end, value);
  if (fault != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// Whether a nonzero decimal number lies below one: how underflow differs from overflow.
bool is_below_one(std::string_view spelling) {
  const std::size_t mark = std::min(spelling.find_first_of("eE"), spelling.size());
  const std::string_view digits = spelling.substr(0, mark);
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  const std::int64_t magnitude = first < point ? point - first : point + 1 - first;

  std::string_view exponent = spelling.substr(std::min(mark + 1, spelling.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  if (exponent.empty()) return magnitude <= 0;
  std::int64_t value = 0;
  const auto [stop, fault] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), value);
  if (fault != std::errc()) return exponent.starts_with('-');
  return value < -magnitude;
}

template <class T, class Bits>
std::optional<T> to_floating(std::string_view spelling) {
  const std::size_t open = spelling.find('(');
  const char* end = spelling.data() + spelling.size();
  if (open != std::string_view::npos) {
    Bits bits = 0;
    const auto [stop, fault] = std::from_chars(spelling.data() + open + 3, end - 1, bits, 16);
    if (fault != std::errc() || stop != end - 1) return std::nullopt;
    return std::bit_cast<T>(bits);
  }
  T value{};
  const auto [stop, fault] = std::from_chars(spelling.data(), end, value);
  if (stop != end) return std::nullopt;
  const bool is_word = is_alpha(spelling.back());
  if (fault == std::errc() && (std::isfinite(value) || is_word)) return value;
  if (!is_below_one(spelling)) return std::nullopt;
  return spelling.starts_with('-') ? T(-0.0) : T(0.0);
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_identifier_start(text.front()) &&
         std::all_of(text.begin(), text.end(), is_identifier_part);
}

bool is_float_word(std::string_view word) {
  const auto same = [&](std::string_view lower) {
    return std::equal(word.begin(), word.end(), lower.begin(), lower.end(),
                      [](char a, char b) { return (a | 0x20) == b; });
  };
  return same("inf") || same("nan") || same("infinity");
}

std::optional<std::int64_t> to_int64(std::string_view spelling) { return to_integer<std::int64_t>(spelling); }
std::optional<std::uint64_t> to_uint64(std::string_view spelling) { return to_integer<std::uint64_t>(spelling); }
std::optional<float> to_float(std::string_view spelling) { return to_floating<float, std::uint32_t>(spelling); }
std::optional<double> to_double(std::string_view spelling) { return to_floating<double, std::uint64_t>(spelling); }

void TextCursor::fail(std::string expected) {
  if (failed()) return;
  const std::size_t here = position();
  fail_at(here, std::move(expected), describe_next());
}

void TextCursor::fail_at(std::size_t position, std::string expected, std::string found) {
  if (failed()) return;
  error_ = SyntaxError{position, std::move(expected), std::move(found)};
  next_ = text_.size();
}

std::string TextCursor::describe_next() {
  if (at_end()) return "the end of the text";
  const char c = peek();
  constexpr std::size_t longest = 40;
  std::size_t end = next_ + 1;
  if (is_identifier_start(c)) {
    while (is_identifier_part(at(end))) ++end;
  } else if (is_digit(c) || (c == '-' && is_digit(at(end)))) {
    while (is_identifier_part(at(end)) || at(end) == '.') ++end;
  } else if (c == '"') {
    while (end < text_.size() && at(end) != '"' && at(end) != '\n') ++end;
    if (at(end) == '"') ++end;
    return quote(text_.substr(next_ + 1, std::max<std::size_t>(end - next_, 2) - 2), longest);
  }
  const std::string token = quote(text_.substr(next_, end - next_), longest);
  return "'" + token.substr(1, token.size() - 2) + "'";
}

void TextCursor::skip_space() {
  while (next_ < text_.size()) {
    if (is_space(text_[next_])) {
      ++next_;
    } else if (text_[next_] == '#' && text_.substr(next_, 3) != "#@{") {
      next_ = std::min(text_.find('\n', next_), text_.size());
    } else {
      return;
    }
  }
}

std::size_t TextCursor::position() {
  skip_space();
  return next_;
}

bool TextCursor::at_end() {
  skip_space();
  return next_ == text_.size();
}

char TextCursor::peek() {
  skip_space();
  return at(next_);
}

bool TextCursor::match(char c) {
  if (peek() != c || next_ == text_.size()) return false;
  ++next_;
  return true;
}

void TextCursor::expect(char c) {
  if (!match(c)) fail(fmt::format("'{}'", c));
}

void TextCursor::expect_arrow() {
  if (peek() != '=' || at(next_ + 1) != '>') return fail("'=>'");
  next_ += 2;
}

std::string_view TextCursor::peek_identifier() {
  if (!is_identifier_start(peek()) || next_is_string()) return {};
  std::size_t end = next_ + 1;
  while (is_identifier_part(at(end))) ++end;
  return text_.substr(next_, end - next_);
}

std::string_view TextCursor::identifier() {
  const std::string_view found = peek_identifier();
  next_ += found.size();
  return found;
}

bool TextCursor::next_is_string() {
  const char c = peek();
  return c == '"' || ((c == 'e' || c == 'x') && at(next_ + 1) == '"');
}

std::string_view TextCursor::string() {
  if (!next_is_string()) {
    fail("a string");
    return {};
  }
  switch (text_[next_]) {
    case 'e':
      return escaped_string();
    case 'x':
      return hex_string();
    default:
      return plain_string();
  }
}

std::string_view TextCursor::name(const char* expected) {
  if (next_is_string()) return string();
  const std::string_view found = identifier();
  if (found.empty()) fail(expected);
  return found;
}

/// In the official syntax a backslash stands for the character after it, whichever that is.
std::string_view TextCursor::plain_string() {
  const std::size_t start = next_++;
  std::size_t end = text_.find_first_of("\"\\", next_);
  if (end != std::string_view::npos && text_[end] == '"') {
    const std::string_view value = text_.substr(next_, end - next_);
    next_ = end + 1;
    return value;
  }
  scratch_.clear();
  while (end != std::string_view::npos) {
    scratch_ += text_.substr(next_, end - next_);
    next_ = end + 1;
    if (text_[end] == '"') return scratch_;
    if (next_ == text_.size()) break;
    scratch_ += text_[next_++];
    end = text_.find_first_of("\"\\", next_);
  }
  fail_at(start, "a closing '\"'", "an unterminated string");
  return {};
}

std::string_view TextCursor::escaped_string() {
  const std::size_t start = next_;
  next_ += 2;
  scratch_.clear();
  while (next_ < text_.size()) {
    const char c = text_[next_++];
    if (c == '"') return scratch_;
    if (c == '\\') {
      take_escape();
    } else {
      scratch_ += c;
    }
  }
  fail_at(start, "a closing '\"'", "an unterminated string");
  return {};
}

void TextCursor::take_escape() {
  const char c = at(next_++);
  switch (c) {
    case 'n':
      scratch_ += '\n';
      return;
    case 'r':
      scratch_ += '\r';
      return;
    case 't':
      scratch_ += '\t';
      return;
    case '"':
    case '\\':
      scratch_ += c;
      return;
    default:
      break;
  }
  const int high = hex_digit(at(next_));
  const int low = hex_digit(at(next_ + 1));
  if (c != 'x' || high < 0 || low < 0) {
    const std::string_view found = text_.substr(std::min(next_ - 1, text_.size()), c == 'x' ? 3 : 1);
    return fail_at(next_ - 2, "one of the escapes \\n \\r \\t \\\" \\\\ \\xNN", "a backslash before " + quote(found));
  }
  scratch_ += static_cast<char>(high * 16 + low);
  next_ += 2;
}

std::string_view TextCursor::hex_string() {
  const std::size_t start = next_;
  next_ += 2;
  scratch_.clear();
  while (!match('"')) {
    const int high = hex_digit(peek());
    const int low = high < 0 ? -1 : hex_digit(at(next_ + 1));
    if (low < 0) {
      if (at_end()) {
        fail_at(start, "a closing '\"'", "an unterminated string");
      } else {
        fail("two hexadecimal digits");
      }
      return {};
    }
    scratch_ += static_cast<char>(high * 16 + low);
    next_ += 2;
  }
  return scratch_;
}

bool TextCursor::next_is_numbered_type() {
  if (peek() != '@') return false;
  const char c = at(next_ + 1);
  return is_digit(c) || c == '-' || c == '?' || c == '(';
}

bool TextCursor::match_kindless_type() {
  if (peek() != '@' || text_.substr(next_, 3) != "@()") return false;
  next_ += 3;
  return true;
}

bool TextCursor::next_is(std::string_view word, char c) {
  if (peek_identifier() != word) return false;
  const std::size_t start = next_;
  next_ += word.size();
  const bool found = peek() == c;
  next_ = start;
  return found;
}

Number TextCursor::number() {
  const std::size_t start = position();
  std::size_t end = start + (at(start) == '-' ? 1 : 0);
  if (is_alpha(at(end))) {
    const std::size_t word = end;
    while (is_identifier_part(at(end))) ++end;
    if (!is_float_word(text_.substr(word, end - word))) return {};
    if (text_.substr(end, 3) == "(0x") end = std::min(text_.find(')', end), text_.size() - 1) + 1;
    next_ = end;
    return {text_.substr(start, end - start), true};
  }
  if (!is_digit(at(end))) return {};
  bool is_float = false;
  while (is_digit(at(end)) || (at(end) == '.' && !is_float)) is_float = at(end++) == '.' || is_float;
  if (at(end) == 'e' || at(end) == 'E') {
    is_float = true;
    ++end;
    if (at(end) == '+' || at(end) == '-') ++end;
    while (is_digit(at(end))) ++end;
  }
  next_ = end;
  return {text_.substr(start, end - start), is_float};
}

bool TextCursor::next_is_extension() {
  const char c = peek();
  return (c == '@' && at(next_ + 1) == '{') || (c == '#' && next_ < text_.size());
}

Extension TextCursor::open_extension() {
  if (!next_is_extension()) return Extension::none;
  extension_start_ = next_;
  const bool comment = text_[next_] == '#';
  next_ += comment ? 3 : 2;
  return comment ? Extension::comment : Extension::required;
}

void TextCursor::close_extension(Extension kind) {
  const std::size_t start = extension_start_;
  expect('}');
  if (failed() || kind != Extension::comment) return;
  // Whoever takes the block for a comment skips exactly this line.
  const std::size_t line_end = std::min(text_.find('\n', start), text_.size());
  if (next_ > line_end) return fail_at(start, "'#@{...}' on one line", "a line break inside");
  if (position() < line_end) fail("the end of the line after '#@{...}'");
}

}  // namespace onnxkit::wire::text
