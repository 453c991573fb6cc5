#include "converters/formats/torchscript/schema.h"

#include <algorithm>

namespace onnxkit::torchscript {
namespace {

/// "T?[]", "I[1]?", "N"
ArgumentType type_from(std::string_view code) {
  ArgumentType type;
  if (code.empty()) return type;
  type.kind = static_cast<ArgumentType::Kind>(code.front());
  const std::size_t open = code.find('[');
  type.is_list = open != code.npos;
  type.is_optional = code.size() > 1 && code.ends_with('?');
  type.has_optional_items = type.is_list && code.find('?') < open;
  type.takes_one = code.find("[1]") != code.npos;
  return type;
}

SchemaArgument argument_from(std::string_view text, bool is_keyword_only) {
  SchemaArgument argument;
  const std::size_t colon = text.find(':'), equal = text.find('=');
  argument.name = text.substr(0, colon);
  argument.type = type_from(text.substr(colon + 1, equal == text.npos ? equal : equal - colon - 1));
  argument.has_default = equal != text.npos;
  if (argument.has_default) argument.fallback = text.substr(equal + 1);
  argument.is_keyword_only = is_keyword_only;
  return argument;
}

/// Up to the next comma outside of brackets.
std::string_view take_part(std::string_view& text) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size() && (text[end] != ',' || depth > 0); ++end)
    depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end < text.size() ? end + 1 : end);
  return part;
}

/// Of the operator, without that of the overload.
std::string_view row_name(std::string_view row) { return row.substr(0, row.rfind('.', row.find('('))); }

}  // namespace

Schema parse_schema(std::string_view row) {
  Schema schema;
  const std::size_t open = row.find('('), close = row.rfind(')');
  schema.name = row_name(row);
  schema.overload = row.substr(schema.name.size() + 1, open - schema.name.size() - 1);
  std::string_view arguments = row.substr(open + 1, close - open - 1), results = row.substr(close + 1);
  bool is_keyword_only = false;
  while (!arguments.empty()) {
    const std::string_view part = take_part(arguments);
    if (part == "*") {
      is_keyword_only = true;
    } else {
      schema.arguments.push_back(argument_from(part, is_keyword_only));
    }
  }
  while (!results.empty()) schema.results.push_back(type_from(take_part(results)));
  return schema;
}

std::span<const Schema> Schemas::of(std::string_view name) const {
  const auto [known, is_new] = by_name_.try_emplace(std::string(name));
  if (!is_new) return known->second;
  const auto rows = schema_rows();
  for (auto row = std::ranges::lower_bound(rows, name, {}, row_name); row != rows.end() && row_name(*row) == name;
       ++row)
    known->second.push_back(parse_schema(*row));
  return known->second;
}

}  // namespace onnxkit::torchscript
