#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "libonnxkit/base/text/text.h"

namespace onnxkit {

/// Keeps copies of strings at stable addresses for as long as it lives. No deduplication.
class StringPool {
 public:
  Text keep(std::string_view bytes) {
    if (bytes.empty()) return Text(std::string_view(""));
    char* place = allocate(bytes.size());
    std::memcpy(place, bytes.data(), bytes.size());
    return Text(std::string_view(place, bytes.size()));
  }

 private:
  static constexpr std::size_t block_size = 1 << 16;

  char* allocate(std::size_t size) {
    if (size > block_size / 4) {
      blocks_.push_back(std::make_unique<char[]>(size));
      return blocks_.back().get();
    }
    if (size > left_) {
      blocks_.push_back(std::make_unique<char[]>(block_size));
      next_ = blocks_.back().get();
      left_ = block_size;
    }
    char* place = next_;
    next_ += size;
    left_ -= size;
    return place;
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace onnxkit
