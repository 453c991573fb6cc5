#include "converters/formats/torchscript/lexer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace onnxkit::torchscript {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) {
      if (starts_line_ && depth_ == 0 && !read_indentation()) return fault("the indentation is inconsistent");
      if (at_ < source_.size() && !read_token()) return fault("a character cannot be read");
    }
    if (!starts_line_) add(Token::Kind::line_end, 0);
    for (; indentations_.size() > 1; indentations_.pop_back()) add(Token::Kind::dedent, 0);
    add(Token::Kind::end, 0);
    return std::move(tokens_);
  }

 private:
  Error fault(std::string_view what) const {
    return make_error("malformed-model", fmt::format("line {} of the code: {}", line_, what));
  }

  void add(Token::Kind kind, std::size_t length) {
    tokens_.push_back({kind, source_.substr(at_, length), line_});
    at_ += length;
  }

  /// Blank lines and comments have none.
  bool read_indentation() {
    std::size_t end = at_;
    while (end < source_.size() && source_[end] == ' ') ++end;
    const std::size_t width = end - at_;
    at_ = end;
    if (at_ >= source_.size() || source_[at_] == '\n' || source_[at_] == '\r' || source_[at_] == '#') return true;
    starts_line_ = false;
    if (width > indentations_.back()) {
      indentations_.push_back(width);
      add(Token::Kind::indent, 0);
    }
    for (; width < indentations_.back(); indentations_.pop_back()) add(Token::Kind::dedent, 0);
    return width == indentations_.back();
  }

  bool read_token() {
    const char c = source_[at_];
    if (c == '\n') return read_line_end();
    if (c == ' ' || c == '\t' || c == '\r') return ++at_, true;
    if (c == '#') return at_ = std::min(source_.find('\n', at_), source_.size()), true;
    if (begins_name(c)) return read_name();
    if (is_digit(c) || (c == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]))) return read_number();
    if (c == '"' || c == '\'') return read_text(c);
    return read_symbol(c);
  }

  bool read_line_end() {
    if (depth_ == 0 && !starts_line_) {
      add(Token::Kind::line_end, 0);
      starts_line_ = true;
    }
    ++at_;
    ++line_;
    return true;
  }

  bool read_name() {
    std::size_t end = at_;
    while (end < source_.size() && (begins_name(source_[end]) || is_digit(source_[end]))) ++end;
    add(Token::Kind::name, end - at_);
    return true;
  }

  bool read_number() {
    std::size_t end = at_;
    while (end < source_.size()) {
      const char c = source_[end], before = end > at_ ? source_[end - 1] : ' ';
      const bool is_sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
      if (!is_digit(c) && c != '.' && !begins_name(c) && !is_sign) break;
      ++end;
    }
    add(Token::Kind::number, end - at_);
    return true;
  }

  bool read_text(char quote_mark) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote_mark && source_[end] != '\n')
      end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size() || source_[end] != quote_mark) return false;
    add(Token::Kind::text, end + 1 - at_);
    return true;
  }

  bool read_symbol(char c) {
    constexpr std::array<std::string_view, 8> pairs = {"->", "==", "!=", "<=", ">=", "//", "**", "::"};
    if (std::find(pairs.begin(), pairs.end(), source_.substr(at_, 2)) != pairs.end())
      return add(Token::Kind::symbol, 2), true;
    if (std::string_view("()[]{}:,.=+-*/%<>&|^~@").find(c) == std::string_view::npos) return false;
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_-- == 0) return false;
    add(Token::Kind::symbol, 1);
    return true;
  }

  std::string_view source_;
  std::size_t at_ = 0, line_ = 1, depth_ = 0;
  bool starts_line_ = true;
  std::vector<std::size_t> indentations_ = {0};
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokens_of(std::string_view source) { return Lexer(source).run(); }

}  // namespace onnxkit::torchscript
