#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace onnxkit::workers {

/// The last lines of a text that comes in pieces. A carriage return inside a line starts it anew, as progress bars want it.
class LastLines {
 public:
  static constexpr std::size_t most_lines = 40, longest_line = 1000;

  void add(std::string_view piece);
  /// Oldest first, the unfinished one too; empty lines are left out.
  std::vector<std::string> lines() const;

 private:
  void add(char c);

  std::deque<std::string> lines_;
  std::string current_;
  bool returned_ = false;
};

}  // namespace onnxkit::workers
