#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace onnxkit::tools {

/// A text of tools/report/assets or one that the build put beside them, by its file's name without the extension.
std::string_view page_part(std::string_view name);

struct PageMark {
  std::string_view mark;  ///< a comment in the page
  std::string_view part;  ///< what stands in its place
};

/// The part `page` with every mark replaced, and /*DATA*/ by the JSON, which nothing inside can end early.
std::string page_of(std::string_view page, std::initializer_list<PageMark> marks, const nlohmann::ordered_json& data);

}  // namespace onnxkit::tools
