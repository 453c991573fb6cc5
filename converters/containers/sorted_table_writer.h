#pragma once

#include <string>
#include <string_view>

#include "onnxkit/result.h"

namespace onnxkit::containers {

/// Writes a sorted string table (sorted_table.h reads it): blocks of entries whose keys share beginnings, not compressed, with checksums.
class SortedTableWriter {
 public:
  /// Precondition: keys ascend.
  void add(std::string_view key, std::string_view value);
  /// The file. Nothing may be added after it.
  std::string finish();

 private:
  struct Block {
    std::string bytes, last_key;
    std::string restarts;
    std::size_t entries = 0;
    void add(std::string_view key, std::string_view value, std::size_t entries_between_restarts);
  };
  /// Appends the block to the file and gives its handle.
  std::string close(Block& block);

  std::string file_;
  Block data_, index_;
};

}  // namespace onnxkit::containers
