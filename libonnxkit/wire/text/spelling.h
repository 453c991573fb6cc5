#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// How single values are written, so that the parser reads the same value back.
namespace onnxkit::wire::text {

/// "..." where the bytes are text, otherwise e"..." or x"...". A line break stays one unless `one_line`.
void append_string(std::string& out, std::string_view bytes, bool one_line = false);
/// x"..."
void append_hex(std::string& out, std::string_view bytes);
/// A name of a value, graph, function ...: bare when it is an identifier that cannot be taken for a type or a number.
void append_name(std::string& out, std::string_view name, bool one_line = false);
bool can_stand_bare(std::string_view name);
/// Whether all parts between the dots are identifiers.
bool is_dotted_identifier(std::string_view name);

void append_integer(std::string& out, std::int64_t value);
void append_unsigned(std::string& out, std::uint64_t value);
/// The shortest digits that give the value back; NaNs of unusual bits as nan(0x7fc00001).
void append_float(std::string& out, float value);
void append_double(std::string& out, double value);
/// As append_float, and never to be taken for an integer.
void append_float_literal(std::string& out, float value);

}  // namespace onnxkit::wire::text
