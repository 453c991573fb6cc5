#include "libonnxkit/workers/segments.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace onnxkit::workers {
namespace {

// Holes that a sender leaves between aligned tensors do not add up to more.
constexpr std::uint64_t most_hole_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t block_bytes = 512;  // unit of st_blocks

Error no_room(const char* what) {
  const int code = errno;
  return make_error("worker-failed", fmt::format("{}: {}", what, std::strerror(code)));
}

Error broken_segment(std::string what) { return make_error("worker-protocol", std::move(what)); }

bool write_all(int file, const Piece& piece) {
  std::uint64_t offset = piece.offset;
  std::span<const std::byte> left = piece.bytes;
  while (!left.empty()) {
    const ssize_t count = ::pwrite(file, left.data(), left.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    left = left.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

}  // namespace

Result<Descriptor> make_segment(std::uint64_t size, std::span<const Piece> pieces) {
  Descriptor file(::memfd_create("onnxkit-values", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0) return no_room("cannot create a memory file");
  for (const Piece& piece : pieces) {
    if (!write_all(file.get(), piece)) return no_room("cannot write inputs to a memory file");
  }
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return no_room("cannot seal a memory file");
  return file;
}

Result<std::shared_ptr<const Segment>> Segment::open(const Descriptor& file) {
  struct stat info {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);  // fails for anything but memory files
  if (seals < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return broken_segment("a descriptor that is not a memory file");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const auto held = static_cast<std::uint64_t>(info.st_blocks) * block_bytes;
  if (held < size && size - held > most_hole_bytes)
    return broken_segment(fmt::format("a segment of {} bytes with only {} written", size, held));
  std::shared_ptr<Segment> segment(new Segment);
  constexpr int steady = F_SEAL_SHRINK | F_SEAL_WRITE;
  const bool sealed = (seals & steady) == steady;
  if (size > 0) {
    auto done = sealed ? segment->map(file.get(), size) : segment->copy(file.get(), size);
    if (!done) return done.error();
  }
  return std::shared_ptr<const Segment>(std::move(segment));
}

Result<void> Segment::map(int file, std::size_t size) {
  // Shared mappings of files that are sealed against writing need Linux 6.7.
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (address == MAP_FAILED) return no_room("cannot map outputs");
  bytes_ = {static_cast<const std::byte*>(address), size};
  mapped_ = true;
  return {};
}

Result<void> Segment::copy(int file, std::size_t size) {
  copy_.reset(new (std::nothrow) std::byte[size]);
  errno = ENOMEM;
  if (!copy_) return no_room("cannot copy outputs");
  for (std::size_t have = 0; have < size;) {
    const ssize_t count = ::pread(file, copy_.get() + have, size - have, static_cast<off_t>(have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return no_room("cannot read outputs");
    if (count == 0) return broken_segment("a segment that shrank after it was sent");
    have += static_cast<std::size_t>(count);
  }
  bytes_ = {copy_.get(), size};
  return {};
}

Segment::~Segment() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::optional<std::span<const std::byte>> Segment::range(std::uint64_t offset, std::uint64_t length) const {
  if (offset > size() || length > size() - offset) return std::nullopt;
  return bytes_.subspan(offset, length);
}

}  // namespace onnxkit::workers
