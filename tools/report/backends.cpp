#include "tools/report/backends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/report/diagnostics.h"
#include "tools/report/json.h"

namespace onnxkit::tools {
namespace {

using Row = std::vector<std::string>;

Row row_of(const BackendInfo& info) {
  if (!info.available) return {info.name, "not available: " + without_controls(info.reason)};
  std::vector<std::string_view> options;
  for (const auto& [name, help] : info.options) options.push_back(name);
  return {info.name, info.runtime + " " + info.version, fmt::format("{}", fmt::join(info.devices, " ")),
          fmt::format("{}", fmt::join(info.formats, " ")), fmt::format("{}", fmt::join(options, " "))};
}

}  // namespace

std::string backends_text(const std::vector<BackendInfo>& backends) {
  std::vector<Row> rows = {{"backend", "runtime", "devices", "formats", "options"}};
  for (const BackendInfo& info : backends) rows.push_back(row_of(info));
  std::vector<std::size_t> widths;
  for (Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = without_controls(row[i]);
      const bool spans = i == 1 && row.size() == 2;  // a reason takes the rest of the line
      if (!spans) widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string backends_json(const std::vector<BackendInfo>& backends) {
  Json list = Json::array();
  for (const BackendInfo& info : backends) {
    Json item = {{"name", info.name}, {"available", info.available}};
    if (info.available) {
      item.update({{"runtime", info.runtime},
                   {"version", info.version},
                   {"devices", info.devices},
                   {"formats", info.formats},
                   {"options", Json::object()}});
      for (const auto& [name, help] : info.options) item["options"][name] = {{"help", help}};
      for (const auto& [name, values] : info.choices) item["options"][name]["values"] = values;
    } else {
      item["reason"] = info.reason;
    }
    list.push_back(std::move(item));
  }
  return json_text({{"format", "onnxkit-backends"}, {"format_version", 1}, {"backends", list}});
}

}  // namespace onnxkit::tools
