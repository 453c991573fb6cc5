#include "libonnxkit/cuda/text/kernel_form.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view parameter_prefix = "number_";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/// The end of the word, or the number in C++'s wide sense, that begins at `begin`.
std::size_t end_of_word(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  const bool is_number = digits.find(text[begin]) != std::string_view::npos;
  const auto is_exponent = [&](std::size_t at) {
    return is_number && (text[at] == '+' || text[at] == '-') && (text[at - 1] == 'e' || text[at - 1] == 'p');
  };
  while (end < text.size() && (is_word(text[end]) || (end > begin && is_exponent(end)))) ++end;
  return end;
}

struct WholeNumber {
  std::int64_t value;
  std::string_view type;  ///< that the number has in C++
};

std::optional<WholeNumber> whole_number(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (fault != std::errc() || value > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(word.data() + word.size() - end));
  const auto as = [value](std::string_view type) { return WholeNumber{static_cast<std::int64_t>(value), type}; };
  if (suffix.empty()) return as(value <= std::uint64_t{std::numeric_limits<std::int32_t>::max()} ? "int" : "long long");
  if (suffix == "u" && value <= std::numeric_limits<std::uint32_t>::max()) return as("unsigned");
  if (suffix == "LL") return as("long long");
  return std::nullopt;
}

/// Arguments of templates, whose brackets have no spaces around them, and sizes and alignments of arrays.
bool must_be_constant(std::string_view text, std::size_t begin, std::size_t end) {
  const char before = begin == 0 ? ' ' : text[begin - 1], behind = end == text.size() ? ' ' : text[end];
  return before == '<' || behind == '>' || (before == '[' && behind == ']') ||
         text.substr(0, begin).ends_with("alignas(");
}

/// Pragmas, and constants that the compiler has to know.
bool is_in_constant_line(std::string_view text, std::size_t at) {
  const std::size_t newline = text.rfind('\n', at);
  std::string_view line = text.substr(newline == std::string_view::npos ? 0 : newline + 1);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line.starts_with('#') || line.starts_with("constexpr ");
}

}  // namespace

KernelForm::KernelForm(std::string_view text) {
  const bool is_apart = text.find(parameter_prefix) == std::string_view::npos;
  std::string piece;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      piece += text[at++];
      continue;
    }
    const std::size_t end = end_of_word(text, at);
    const std::string_view word = text.substr(at, end - at);
    const auto number = is_apart ? whole_number(word) : std::nullopt;
    if (number && !must_be_constant(text, at, end) && !is_in_constant_line(text, at)) {
      pieces_.push_back(std::move(piece));
      piece.clear();
      written_.emplace_back(word);
      types_.push_back(number->type);
      numbers_.push_back(number->value);
    } else {
      piece += word;
    }
    at = end;
  }
  pieces_.push_back(std::move(piece));
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    key_ += pieces_[i];
    if (i < types_.size()) key_ += fmt::format("\n{}\n", types_[i]);
  }
}

std::string KernelForm::with_parameters(const std::vector<bool>& parameters) const {
  std::string text, added;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    text += pieces_[i];
    if (i == numbers_.size()) break;
    if (!parameters[i]) {
      text += written_[i];
      continue;
    }
    text += fmt::format("{}{}", parameter_prefix, i);
    added += fmt::format(", const {} {}{}", types_[i], parameter_prefix, i);
  }
  return text.insert(text.find(')'), added);
}

}  // namespace onnxkit::cuda
