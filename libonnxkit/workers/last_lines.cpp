#include "libonnxkit/workers/last_lines.h"

namespace onnxkit::workers {

void LastLines::add(std::string_view piece) {
  for (const char c : piece) add(c);
}

void LastLines::add(char c) {
  if (c == '\n') {
    if (!current_.empty()) lines_.push_back(std::move(current_));
    if (lines_.size() > most_lines) lines_.pop_front();
    current_.clear();
    returned_ = false;
  } else if (c == '\r') {
    returned_ = true;
  } else {
    if (returned_) current_.clear();
    returned_ = false;
    if (current_.size() < longest_line) current_ += c;
  }
}

std::vector<std::string> LastLines::lines() const {
  std::vector<std::string> all(lines_.begin(), lines_.end());
  if (!current_.empty()) all.push_back(current_);
  return all;
}

}  // namespace onnxkit::workers
