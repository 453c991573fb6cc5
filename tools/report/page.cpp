#include "tools/report/page.h"
#include "tools/report/json.h"

#include <nlohmann/json.hpp>
#include <span>

#include "scripts/cmake/embedded.h"

namespace onnxkit::tools {

std::span<const EmbeddedText> page_parts();

namespace {

void replace(std::string& text, std::string_view mark, std::string_view by) {
  if (const std::size_t at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), by);
}

/// JSON inside a script element: no "</script>" and no "<!--" can end it early.
std::string embeddable(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string_view page_part(std::string_view name) {
  for (const EmbeddedText& text : page_parts()) {
    if (text.name == name) return text.text;
  }
  return {};
}

std::string page_of(std::string_view page, std::initializer_list<PageMark> marks, const Json& data) {
  std::string text(page_part(page));
  for (const auto& [mark, part] : marks) replace(text, mark, page_part(part));
  // Last, so that no mark inside the data is taken for one of the page's.
  replace(text, "/*DATA*/", embeddable(data));
  return text;
}

}  // namespace onnxkit::tools
