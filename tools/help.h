#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace CLI {
class App;
class FormatterBase;
class Option;
}  // namespace CLI

namespace onnxkit::tools {

/// How help is laid out: lines of at most `width` columns broken between words, and for each option what it takes, its default, and
/// which options it requires or excludes, in words.
std::shared_ptr<CLI::FormatterBase> help_formatter(std::size_t width);

/// The name of what an option takes, without the names of checks that CLI11 appends: "N:INT in [1 - 64]".
std::string type_of(const CLI::Option& option);

/// Of the terminal that standard output is, at least 60 and at most 100; 100 where it is none.
std::size_t help_width();

/// `text` with lines of at most `width` columns, broken between words. Lines after the first begin with `indent` blanks, which the first
/// one has already.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace onnxkit::tools
