#include "tools/report/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>

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
  constexpr std::string_view marks = "|*`~";
  const auto is_at = [&](std::size_t i, auto kind) {
    return i < text.size() && kind(static_cast<unsigned char>(text[i])) != 0;
  };
  const auto is_word = [](unsigned char c) { return c >= 128 || std::isalnum(c) != 0; };
  const auto is_punctuation = [](unsigned char c) { return std::ispunct(c) != 0; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // Between letters "_" begins nothing; a "\" counts in front of what it could escape.
    const bool is_mark = marks.find(c) != marks.npos ||
                         (c == '_' && !(is_at(i - 1, is_word) && is_at(i + 1, is_word))) ||
                         (c == '\\' && is_at(i + 1, is_punctuation)) || text.compare(i, 2, "](") == 0;
    if (c == '<' || c == '>' || c == '&')
      out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";
    else
      out += is_mark ? std::string{'\\', c} : std::string(1, c);
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
