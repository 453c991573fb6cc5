#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace onnxkit::tools {

/// How help is laid out: lines of at most `width` columns broken between words, and for each option what it takes, its default, and
/// which options it requires or excludes, in words.
std::shared_ptr<CLI::FormatterBase> help_formatter(std::size_t width);

/// Of the terminal that standard output is, at least 60 and at most 100; 100 where it is none.
std::size_t help_width();

/// `text` with lines of at most `width` columns, broken between words. Lines after the first begin with `indent` blanks, which the first
/// one has already.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace onnxkit::tools
