#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit::wire {

/// Writes a zip archive of stored entries front to back, so that weights go from the mapped file to the sink and nothing is written twice. minizip
/// seeks back to complete an entry, which a sink cannot. Sizes past 4 GiB get the 64-bit fields (APPNOTE.TXT of PKWARE, 4.3).
class ZipWriter {
 public:
  explicit ZipWriter(ByteSink sink) : sink_(std::move(sink)) {}

  /// An entry whose content is these pieces, one behind the other. Its first byte lies at a multiple of `align`, as readers that map the archive
  /// like it; 1 for any place.
  Result<void> add(std::string_view name, const std::vector<std::string_view>& pieces, std::size_t align = 1);
  Result<void> add(std::string_view name, std::string_view content) {
    return add(name, std::vector<std::string_view>{content});
  }
  /// The directory. Nothing may be added after it.
  Result<void> finish();

 private:
  struct Entry {
    std::string name;
    std::uint64_t size = 0, offset = 0;
    std::uint32_t checksum = 0;
  };
  Result<void> write(std::string_view bytes);

  ByteSink sink_;
  std::uint64_t at_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace onnxkit::wire
