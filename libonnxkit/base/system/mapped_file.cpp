#include "libonnxkit/base/system/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "libonnxkit/base/system/descriptor.h"

namespace onnxkit {
namespace {

Error system_error(const std::filesystem::path& path, const char* what) {
  const int code = errno;
  Error error = make_error("cannot-read", std::string(what) + ": " + std::strerror(code));
  error.diagnostic.location.file = path.string();
  return error;
}

// Opening a pipe must not wait for its writer; what is not a regular file is refused afterwards.
constexpr int reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
constexpr int passing = O_PATH | O_DIRECTORY | O_CLOEXEC;

/// Opens each step in the folder of the step before it, which is what keeps somebody who renames folders from leading it elsewhere.
Descriptor walk(const std::filesystem::path& folder, const std::filesystem::path& relative) {
  Descriptor at(::open(folder.c_str(), passing));
  for (auto step = relative.begin(); at && step != relative.end();) {
    const std::filesystem::path name = *step;
    const bool is_last = ++step == relative.end();
    if (name.empty() || name == ".." || name.is_absolute()) {
      errno = EXDEV;
      return Descriptor(-1);
    }
    at = Descriptor(::openat(at.get(), name.c_str(), (is_last ? reading : passing) | O_NOFOLLOW));
  }
  return at;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::map(int descriptor, const std::filesystem::path& path) {
  struct stat info {};
  if (descriptor < 0) return system_error(path, "cannot open");
  if (::fstat(descriptor, &info) != 0) return system_error(path, "cannot read");
  if (!S_ISREG(info.st_mode)) {
    errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    return system_error(path, "not a regular file");
  }
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->identity_ = {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
  mapped->hard_links_ = info.st_nlink;
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(std::move(mapped));
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) return system_error(path, "cannot map");
  mapped->bytes_ = {static_cast<const std::byte*>(address), size};
  mapped->mapped_ = true;
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  return map(Descriptor(::open(path.c_str(), reading)).get(), path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open_beneath(const std::filesystem::path& folder,
                                                                   const std::filesystem::path& relative) {
  return map(walk(folder, relative).get(), folder / relative);
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
