#pragma once

#include <algorithm>
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
  // Models of a few nodes are many where passes work node by node.
  static constexpr std::size_t first_block = 1 << 8, largest_block = 1 << 16;

  char* add_block(std::size_t size) {
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    return blocks_.back().get();
  }

  char* allocate(std::size_t size) {
    if (size > largest_block / 4) return add_block(size);
    if (size > left_) {
      left_ = std::max(size, block_size_);
      next_ = add_block(left_);
      block_size_ = std::min(2 * block_size_, largest_block);
    }
    char* place = next_;
    next_ += size;
    left_ -= size;
    return place;
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0, block_size_ = first_block;
};

}  // namespace onnxkit
