#include "libonnxkit/wire/text/spelling.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "libonnxkit/base/text/utf8.h"
#include "libonnxkit/wire/text/cursor.h"
#include "libonnxkit/wire/text/type_names.h"

namespace onnxkit::wire::text {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Bytes that cannot stand in a text file as they are: control characters but line break and tab, invalid UTF-8.
std::size_t count_unprintable(std::string_view bytes, bool one_line) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_sequence_length(bytes.substr(at));
    const char c = bytes[at];
    if (length == 0 || (is_control(c) && c != '\t' && (c != '\n' || one_line))) ++count;
    at += length == 0 ? 1 : length;
  }
  return count;
}

void append_plain(std::string& out, std::string_view bytes) {
  out += '"';
  for (const char c : bytes) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void append_escaped(std::string& out, std::string_view bytes) {
  out += "e\"";
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_sequence_length(bytes.substr(at));
    const char c = bytes[at];
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (length == 0 || (is_control(c) && c != '\t')) {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += hex_digits[byte >> 4];
      out += hex_digits[byte & 15];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += bytes.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  out += '"';
}

template <class T>
void append_number(std::string& out, T value) {
  char buffer[40];
  const auto [end, fault] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

template <class Bits, class T>
void append_floating(std::string& out, T value) {
  if (!std::isnan(value)) return append_number(out, value);
  const auto bits = std::bit_cast<Bits>(value);
  const auto plain = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
  const Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  if (bits == plain || bits == (plain | sign)) {
    out += bits == plain ? "nan" : "-nan";
    return;
  }
  char buffer[20];
  const auto [end, fault] = std::to_chars(buffer, buffer + sizeof buffer, bits, 16);
  out += "nan(0x";
  out.append(buffer, end);
  out += ')';
}

}  // namespace

void append_string(std::string& out, std::string_view bytes, bool one_line) {
  const std::size_t unprintable = count_unprintable(bytes, one_line);
  if (unprintable == 0) return append_plain(out, bytes);
  const bool mostly_text = unprintable <= bytes.size() / 4 + 1;
  return mostly_text ? append_escaped(out, bytes) : append_hex(out, bytes);
}

void append_hex(std::string& out, std::string_view bytes) {
  out += "x\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += hex_digits[byte >> 4];
    out += hex_digits[byte & 15];
  }
  out += '"';
}

bool can_stand_bare(std::string_view name) {
  return is_identifier(name) && !is_type_word(name) && !is_float_word(name);
}

void append_name(std::string& out, std::string_view name, bool one_line) {
  if (can_stand_bare(name)) {
    out += name;
  } else {
    append_string(out, name, one_line);
  }
}

bool is_dotted_identifier(std::string_view name) {
  for (;;) {
    const std::size_t dot = name.find('.');
    if (!is_identifier(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

void append_integer(std::string& out, std::int64_t value) { append_number(out, value); }
void append_unsigned(std::string& out, std::uint64_t value) { append_number(out, value); }
void append_float(std::string& out, float value) { append_floating<std::uint32_t>(out, value); }
void append_double(std::string& out, double value) { append_floating<std::uint64_t>(out, value); }

void append_float_literal(std::string& out, float value) {
  const std::size_t start = out.size();
  append_float(out, value);
  if (out.find_first_not_of("-0123456789", start) == std::string::npos) out += ".0";
}

}  // namespace onnxkit::wire::text
