#include "converters/formats/pt2/names.h"

#include <algorithm>
#include <array>

namespace onnxkit::pt2 {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

constexpr std::array<std::string_view, 38> keywords = {
    "False",    "None",   "True",  "and",  "as",     "assert",   "async",   "await", "break", "class",
    "continue", "def",    "del",   "elif", "else",   "except",   "finally", "for",   "from",  "global",
    "if",       "import", "in",    "is",   "lambda", "nonlocal", "not",     "or",    "pass",  "raise",
    "return",   "try",    "while", "with", "yield",  "self",     "torch",   "input"};

std::string identifier_of(std::string_view name) {
  std::string text;
  for (const char c : name) text += is_letter_or_digit(c) ? c : '_';
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) text.insert(text.begin(), '_');
  if (std::find(keywords.begin(), keywords.end(), text) != keywords.end()) text += '_';
  return text;
}

}  // namespace

std::string Identifiers::make(std::string_view name) {
  const std::string stem = identifier_of(name);
  std::string text = stem;
  for (std::size_t k = 1; !used_.insert(text).second; ++k) text = stem + '_' + std::to_string(k);
  return text;
}

bool AttributePaths::is_free(const std::string& path) const {
  if (used_.contains(path) || folders_.contains(path)) return false;
  for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
    if (used_.contains(path.substr(0, dot))) return false;
  return true;
}

std::string AttributePaths::make(std::string_view name) {
  std::string stem;
  for (const char c : name) {
    const bool opens_nothing = c == '.' && (stem.empty() || stem.back() == '.');
    stem += opens_nothing || static_cast<unsigned char>(c) < 0x20 ? '_' : c;
  }
  if (stem.empty() || stem.back() == '.') stem += '_';
  for (std::size_t dot = stem.find('.'); dot != stem.npos; dot = stem.find('.', dot + 1))
    if (used_.contains(stem.substr(0, dot))) stem[dot] = '_';  // no number behind it would make the path free
  std::string path = stem;
  for (std::size_t k = 1; !is_free(path); ++k) path = stem + '_' + std::to_string(k);
  used_.insert(path);
  for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
    folders_.insert(path.substr(0, dot));
  return path;
}

}  // namespace onnxkit::pt2
