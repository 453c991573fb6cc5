#include "converters/formats/pt2/sympy.h"

#include <vector>

namespace onnxkit::pt2 {
namespace {

constexpr int max_depth = 32;
constexpr std::size_t max_length = 1024;

/// Reads SymPy's srepr: a name, and arguments in brackets, which may be quoted names or `key=value`.
class SreprParser {
 public:
  explicit SreprParser(std::string_view text) : text_(text) {}

  std::optional<std::string> whole() {
    const auto result = expression(0);
    skip_spaces();
    return result && at_ == text_.size() && result->size() <= max_length ? result : std::nullopt;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                  text_[at_] == '.' || (at_ == begin && text_[at_] == '-')))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::optional<std::string> expression(int depth) {
    if (depth > max_depth) return std::nullopt;
    const std::string_view name = word();
    if (name.empty()) return std::nullopt;
    if (!take('(')) return std::string(name);
    std::vector<std::string> arguments;
    do {
      skip_spaces();
      auto argument = one_argument(depth);
      if (!argument) return std::nullopt;
      if (!argument->empty()) arguments.push_back(*std::move(argument));
    } while (take(','));
    if (!take(')')) return std::nullopt;
    return call(name, arguments);
  }

  /// Empty for an assumption such as "positive=True".
  std::optional<std::string> one_argument(int depth) {
    if (take('\'')) {
      const std::size_t end = text_.find('\'', at_);
      if (end == text_.npos) return std::nullopt;
      std::string name(text_.substr(at_, end - at_));
      at_ = end + 1;
      return name;
    }
    const std::size_t begin = at_;
    if (!word().empty() && take('=')) {
      word();
      return std::string();
    }
    at_ = begin;
    return expression(depth + 1);
  }

  static std::string joined(const std::vector<std::string>& arguments, std::string_view separator) {
    std::string text;
    for (const std::string& argument : arguments) text += (text.empty() ? "" : std::string(separator)) + argument;
    return text;
  }

  static std::optional<std::string> call(std::string_view name, const std::vector<std::string>& arguments) {
    if (arguments.empty()) return std::nullopt;
    if (name == "Symbol" || name == "Integer") return arguments.front();
    if (name == "Add") return "(" + joined(arguments, " + ") + ")";
    if (name == "Mul") return "(" + joined(arguments, "*") + ")";
    if (name == "Rational" && arguments.size() == 2) return "(" + joined(arguments, "/") + ")";
    if (name == "Pow" && arguments.size() == 2) return "(" + joined(arguments, "**") + ")";
    return std::string(name) + "(" + joined(arguments, ", ") + ")";
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string> dim_param_of(std::string_view expression) {
  if (const auto parsed = SreprParser(expression).whole()) return parsed;
  // Python's form: what ONNX's parser of sizes does not know stays a name, which is shown as it is.
  if (expression.empty() || expression.size() > max_length) return std::nullopt;
  return std::string(expression);
}

}  // namespace onnxkit::pt2
