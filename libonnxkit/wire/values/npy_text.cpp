#include "libonnxkit/wire/values/npy_text.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/text/utf8.h"

namespace onnxkit::wire {
namespace {

/// False for what is no character of Unicode.
bool append_utf8(std::string& out, std::uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return false;
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
  return true;
}

/// The characters of well-formed UTF-8.
std::u32string characters_of(std::string_view text) {
  std::u32string out;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    std::uint32_t c = static_cast<unsigned char>(text[0]) & (length == 1 ? 0x7fu : 0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
    out += static_cast<char32_t>(c);
    text.remove_prefix(length);
  }
  return out;
}

std::optional<std::string> from_characters(std::span<const std::byte> units, bool swapped) {
  std::string text;
  std::size_t zeros = 0;  // only padding when nothing follows
  for (std::size_t at = 0; at + 4 <= units.size(); at += 4) {
    std::uint32_t c = 0;
    for (std::size_t i = 0; i < 4; ++i)
      c |= std::to_integer<std::uint32_t>(units[at + (swapped ? 3 - i : i)]) << (8 * i);
    if (c == 0) {
      ++zeros;
      continue;
    }
    text.append(std::exchange(zeros, 0), '\0');
    if (!append_utf8(text, c)) return std::nullopt;
  }
  return text;
}

std::string from_bytes(std::span<const std::byte> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::string(all.substr(0, all.find_last_not_of('\0') + 1));
}

}  // namespace

Result<Tensor> read_npy_text(const NpyHeader& header, std::span<const std::byte> data) {
  const auto count = checked_element_count(header.dims).value_or(0);
  constexpr std::int64_t most_empty = 1 << 20;  // strings of no width, which take no bytes of the file
  if (header.width == 0 && count > most_empty)
    return malformed_npy("more empty strings than a file of this size may contain",
                         fmt::format("at most {}", most_empty), std::to_string(count));
  const auto width = static_cast<std::size_t>(header.width);
  std::vector<std::string> strings;
  strings.reserve(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::span<const std::byte> element = data.subspan(i * width, width);
    if (header.kind == 'S') {
      strings.push_back(from_bytes(element));
    } else if (auto text = from_characters(element, header.swapped)) {
      strings.push_back(*std::move(text));
    } else {
      return malformed_npy("a string contains an invalid Unicode character", {}, fmt::format("string {}", i));
    }
  }
  return Tensor::from_strings(header.dims, std::move(strings));
}

Result<std::string> write_npy_text(const Tensor& tensor) {
  const std::span<const std::string> strings = tensor.strings();
  const bool unicode = std::all_of(strings.begin(), strings.end(),
                                   [](const std::string& s) { return find_invalid_utf8(s) == std::string::npos; });
  std::size_t longest = 1;
  for (const std::string& text : strings) {
    if (!text.empty() && text.back() == '\0') {
      Error error = make_error("unsupported-npy", "numpy cannot represent a string that ends in a zero character");
      error.diagnostic.found = quote(text);
      return error;
    }
    longest = std::max(longest, unicode ? characters_of(text).size() : text.size());
  }
  std::string out = npy_header(fmt::format("{}{}", unicode ? "<U" : "|S", longest), tensor.dims());
  for (const std::string& text : strings) {
    if (!unicode) {
      out.append(text).append(longest - text.size(), '\0');
      continue;
    }
    std::u32string characters = characters_of(text);
    characters.resize(longest);
    out.append(reinterpret_cast<const char*>(characters.data()), longest * sizeof(char32_t));
  }
  return out;
}

}  // namespace onnxkit::wire
