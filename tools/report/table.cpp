#include "tools/report/table.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/report/diagnostics.h"

namespace onnxkit::tools {

Table::Table(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    right_.push_back(title.starts_with('>'));
    if (right_.back()) title.erase(0, 1);
    widths_.push_back(title.size());
  }
  rows_.push_back({std::move(titles), {}});
}

void Table::add(std::vector<std::string> cells, std::string_view paint) {
  for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
  rows_.push_back({std::move(cells), paint});
}

std::string Table::text(std::size_t painted_column, bool color) const {
  std::string out;
  for (const Row& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string cell =
          right_[i] ? fmt::format("{:>{}}", row.cells[i], widths_[i]) : fmt::format("{:<{}}", row.cells[i], widths_[i]);
      line += "  " + painted(row.paint, cell, color && i == painted_column && !row.paint.empty());
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string Table::markdown() const {
  std::string out;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    out += "|";
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      out += " " + (i < rows_[r].cells.size() ? markdown_text(rows_[r].cells[i]) : "") + " |";
    }
    out += "\n";
    if (r > 0) continue;
    out += "|";
    for (const bool right : right_) out += right ? "---:|" : "---|";
    out += "\n";
  }
  return out;
}

std::string markdown_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|')
      out += "\\|";
    else if (c == '<' || c == '>' || c == '&')
      out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";
    else
      out += c;
  }
  return out;
}

std::string Table::csv() const {
  std::string out;
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      std::string cell = row.cells[i];
      if (cell.find_first_of(",\"\r\n") != cell.npos) {
        for (std::size_t at = cell.find('"'); at != cell.npos; at = cell.find('"', at + 2)) cell.insert(at, "\"");
        cell = '"' + cell + '"';
      }
      out += (i > 0 ? "," : "") + cell;
    }
    out += "\n";
  }
  return out;
}

}  // namespace onnxkit::tools
