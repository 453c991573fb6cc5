#include "libonnxkit/wire/values/npy_header.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/checked.h"

namespace onnxkit::wire {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;

/// Reads the Python literal that a header is: a dictionary of strings, booleans and tuples of integers.
class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : text_(text) {}

  bool take(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip_blanks();
    return text_.empty();
  }
  bool starts(char c) {
    skip_blanks();
    return !text_.empty() && text_.front() == c;
  }

  std::optional<std::string_view> string() {
    const char delimiter = starts('"') ? '"' : '\'';
    if (!take(delimiter)) return std::nullopt;
    const std::size_t end = text_.find(delimiter);
    if (end == text_.npos || text_.substr(0, end).find('\\') != text_.npos) return std::nullopt;
    const std::string_view found = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return found;
  }
  std::optional<bool> boolean() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    return std::nullopt;
  }
  std::optional<std::int64_t> integer() {
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (status != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (text_.starts_with('L')) text_.remove_prefix(1);  // Python 2
    return value;
  }
  /// (), (3,) or (3, 4).
  std::optional<std::vector<std::int64_t>> tuple() {
    if (!take('(')) return std::nullopt;
    std::vector<std::int64_t> values;
    while (!take(')')) {
      const auto value = integer();
      if (!value) return std::nullopt;
      values.push_back(*value);
      if (!take(',') && !starts(')')) return std::nullopt;
    }
    return values;
  }

 private:
  void skip_blanks() {
    const std::size_t next = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(next == text_.npos ? text_.size() : next);
  }
  std::string_view text_;
};

/// descr, fortran_order and shape, each once.
Result<void> parse_dictionary(std::string_view text, NpyHeader& header) {
  LiteralParser parser(text);
  const Error broken =
      malformed_npy("the header is not a dictionary of descr, fortran_order and shape", {}, quote(text));
  std::optional<std::string_view> descr;
  std::optional<bool> order;
  std::optional<std::vector<std::int64_t>> shape;
  if (!parser.take('{')) return broken;
  while (!parser.take('}')) {
    const auto key = parser.string();
    if (!key || !parser.take(':')) return broken;
    if (*key == "descr" && !descr) {
      if (parser.starts('[') || parser.starts('(')) {
        Error error = make_error("unsupported-npy", "an array of records");
        error.diagnostic.found = quote(text);
        return error;
      }
      if (!(descr = parser.string())) return broken;
    } else if (*key == "fortran_order" && !order) {
      if (!(order = parser.boolean())) return broken;
    } else if (*key == "shape" && !shape) {
      if (!(shape = parser.tuple())) return broken;
    } else {
      return broken;
    }
    if (!parser.take(',') && !parser.starts('}')) return broken;
  }
  if (!parser.at_end() || !descr || !order || !shape) return broken;
  header.descr = std::string(*descr);
  header.columns_first = *order;
  header.dims = *std::move(shape);
  return {};
}

/// "<f4": byte order, letter, size in bytes (of U: in characters of four bytes).
Result<void> parse_descr(NpyHeader& header) {
  std::string_view descr = header.descr;
  const Error broken = malformed_npy("unknown element type", {}, quote(header.descr));
  if (!descr.empty() && std::string_view("<>|=").find(descr.front()) != std::string_view::npos) {
    header.swapped = descr.front() == '>';
    descr.remove_prefix(1);
  }
  if (descr.empty()) return broken;
  header.kind = descr.front();
  descr.remove_prefix(1);
  if (header.kind == 'O' || header.kind == 'M' || header.kind == 'm') return {};
  std::uint32_t size = 0;
  const auto [end, status] = std::from_chars(descr.data(), descr.data() + descr.size(), size);
  if (status != std::errc() || end != descr.data() + descr.size()) return broken;
  header.width = std::uint64_t{size} * (header.kind == 'U' ? 4 : 1);
  return {};
}

Result<std::string_view> header_text(std::string_view file, std::uint64_t file_size, NpyHeader& header) {
  if (!file.starts_with(magic)) return malformed_npy("the file does not start with the .npy magic");
  constexpr std::size_t version_at = 6, length_at = 8;
  if (file.size() < length_at + 2) return malformed_npy("the file ends within its header");
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(file[at])); };
  const std::size_t version = byte(version_at);
  if (version < 1 || version > 3) return malformed_npy("unknown format version", "1 to 3", std::to_string(version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t start = length_at + length_bytes;
  if (file.size() < start) return malformed_npy("the file ends within its header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte(length_at + i) << (8 * i);
  if (file_size - start < length) return malformed_npy("the file ends within its header");
  if (file.size() - start < length)
    return malformed_npy("the header is too long", fmt::format("at most {} bytes", longest_npy_header),
                         fmt::format("{} bytes", start + length));
  header.size = start + length;
  return file.substr(start, length);
}

}  // namespace

Error malformed_npy(std::string message, std::string expected, std::string found) {
  Error error = make_error("malformed-npy", std::move(message));
  error.diagnostic.expected = std::move(expected);
  error.diagnostic.found = std::move(found);
  return error;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> start, std::uint64_t file_size) {
  NpyHeader header;
  const auto text = header_text({reinterpret_cast<const char*>(start.data()), start.size()}, file_size, header);
  if (!text) return text.error();
  if (Result<void> parsed = parse_dictionary(*text, header); !parsed) return std::move(parsed).error();
  if (Result<void> parsed = parse_descr(header); !parsed) return std::move(parsed).error();
  const auto count = checked_element_count(header.dims);
  const std::string shape = fmt::format("({})", fmt::join(header.dims, ", "));
  if (!count) return malformed_npy("the shape is invalid", "sizes of 0 or more", shape);
  const bool pickled_or_date = header.width == 0 && header.kind != 'U' && header.kind != 'S';
  if (pickled_or_date) return header;
  const auto bytes = checked_mul(static_cast<std::uint64_t>(*count), header.width);
  const std::uint64_t found = file_size - header.size;
  if (!bytes || *bytes != found) {
    return malformed_npy("the size of the data does not match the shape",
                         bytes ? fmt::format("{} bytes for {} of {}", *bytes, shape, quote(header.descr)) : shape,
                         fmt::format("{} bytes", found));
  }
  return header;
}

std::string npy_header(std::string_view descr, std::span<const std::int64_t> dims) {
  const char* const comma = dims.size() == 1 ? "," : "";
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr, fmt::join(dims, ", "), comma);
  constexpr std::size_t most_of_version_1 = 65535;
  const bool wide = text.size() + alignment > most_of_version_1;
  const std::size_t start = magic.size() + 2 + (wide ? 4 : 2);
  const std::size_t unpadded = start + text.size() + 1;
  text.append((alignment - unpadded % alignment) % alignment, ' ');
  text += '\n';
  std::string header(magic);
  header += wide ? '\2' : '\1';
  header += '\0';
  for (std::size_t i = 0; i < (wide ? 4u : 2u); ++i) header += static_cast<char>(text.size() >> (8 * i));
  return header + text;
}

}  // namespace onnxkit::wire
