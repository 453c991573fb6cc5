#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libonnxkit/base/system/descriptor.h"
#include "onnxkit/result.h"

// Memory files that carry the bytes of values from one process to another.
namespace onnxkit::workers {

inline constexpr std::uint64_t segment_alignment = 64;

/// Bytes and where they lie in a segment.
struct Piece {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};

/// A memory file of `size` bytes with the pieces, sealed against any change. Fails with worker-failed when the system has no room.
Result<Descriptor> make_segment(std::uint64_t size, std::span<const Piece> pieces);

/// A segment from a worker: mapped when it is sealed against shrinking and writing, so that no later act of the sender can change it or take it away under
/// a reader, else copied.
class Segment {
 public:
  /// Fails with worker-protocol for what is no memory file or has holes (whose pages would become real when they are read), and with
  /// worker-failed when there is no room for a copy.
  static Result<std::shared_ptr<const Segment>> open(const Descriptor& file);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  std::uint64_t size() const { return bytes_.size(); }
  /// nullopt when the range reaches beyond the segment.
  std::optional<std::span<const std::byte>> range(std::uint64_t offset, std::uint64_t length) const;

 private:
  Segment() = default;
  Result<void> map(int file, std::size_t size);
  Result<void> copy(int file, std::size_t size);

  std::span<const std::byte> bytes_;
  bool mapped_ = false;
  std::unique_ptr<std::byte[]> copy_;
};

}  // namespace onnxkit::workers
