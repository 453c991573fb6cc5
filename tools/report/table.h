#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace onnxkit::tools {

/// Columns as wide as their widest cell. The cells of a row that are painted are those of its `painted` column.
class Table {
 public:
  /// A title that begins with '>' is of a column that is flush right.
  explicit Table(std::vector<std::string> titles);

  std::size_t columns() const { return widths_.size(); }
  void add(std::vector<std::string> cells, std::string_view paint = {});
  /// Lines that begin with two blanks; where there is paint it goes on column `painted_column`.
  std::string text(std::size_t painted_column, bool color) const;
  /// The same in Markdown, which takes no cell for markup.
  std::string markdown() const;
  /// Values with commas between them, quoted where they have to be (RFC 4180).
  std::string csv() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string_view paint;
  };
  std::vector<Row> rows_;
  std::vector<std::size_t> widths_;
  std::vector<bool> right_;
};

/// `text` so that Markdown shows it as it is: nothing in it ends a cell, or begins a tag, a link, code or emphasis.
std::string markdown_text(const std::string& text);

}  // namespace onnxkit::tools
