#include "libonnxkit/base/system/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace onnxkit {
namespace {

Error system_error(const std::filesystem::path& path, const char* what) {
  const int code = errno;
  Error error = make_error("cannot-read", std::string(what) + ": " + std::strerror(code));
  error.diagnostic.location.file = path.string();
  return error;
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return system_error(path, "cannot open");
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return system_error(path, "cannot read");
  if (!S_ISREG(info.st_mode)) {
    errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    return system_error(path, "not a regular file");
  }
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->identity_ = {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(std::move(mapped));
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) return system_error(path, "cannot map");
  mapped->bytes_ = {static_cast<const std::byte*>(address), size};
  mapped->mapped_ = true;
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

std::shared_ptr<const MappedFile> MappedFile::from_bytes(std::string bytes) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->owned_ = std::move(bytes);
  file->bytes_ = std::as_bytes(std::span(file->owned_));
  return file;
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace onnxkit
