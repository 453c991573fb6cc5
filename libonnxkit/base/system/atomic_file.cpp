#include "libonnxkit/base/system/atomic_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

namespace onnxkit {
namespace {

namespace fs = std::filesystem;

constexpr int name_attempts = 64;

/// A name beside `target` that a listing does not show and that fits the limit of file systems.
fs::path hidden_name(const fs::path& target) {
  constexpr std::size_t longest_stem = 200;
  static constexpr char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::random_device random;
  std::string name = "." + target.filename().string().substr(0, longest_stem) + ".";
  for (int i = 0; i < 8; ++i) name += letters[random() % 36];
  return target.parent_path() / (name + ".tmp");
}

std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

/// A file in the folder of `target` that has no name yet; -1 where there is no such thing, or no way to name it later.
int open_unnamed(const fs::path& target) {
#ifdef O_TMPFILE
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0 || ::access(descriptor_path(fd).c_str(), F_OK) == 0) return fd;
  ::close(fd);
#endif
  return -1;
}

/// Maps what a write is about to read in one step, not a few pages at each fault.
void fetch(std::string_view bytes) {
#ifdef MADV_POPULATE_READ
  if (bytes.size() < std::size_t{1} << 17) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(bytes.data()) / page * page;
  ::madvise(reinterpret_cast<void*>(first), reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size() - first,
            MADV_POPULATE_READ);
#endif
}

}  // namespace

fs::path follow_links(fs::path path) {
  constexpr int most_links = 40;
  std::error_code status;
  if (fs::is_other(path, status)) return path;  // /dev/stdout leads to names that are no paths
  for (int i = 0; i < most_links && fs::is_symlink(path, status); ++i) {
    const fs::path next = fs::read_symlink(path, status);
    if (status) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

Error AtomicFile::failure(const char* what) const {
  const int code = errno;
  Error error = make_error("cannot-write", std::string(what) + ": " + std::strerror(code));
  error.diagnostic.location.file = path_.string();
  return error;
}

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
  AtomicFile file;
  file.path_ = path;
  file.target_ = follow_links(path);
  return open(std::move(file), false);
}

Result<AtomicFile> AtomicFile::create_here(const fs::path& path) {
  AtomicFile file;
  file.path_ = path;
  file.target_ = path;
  std::error_code ignored;
  return open(std::move(file), fs::is_symlink(path, ignored));
}

Result<AtomicFile> AtomicFile::open(AtomicFile file, bool replaces_link) {
  struct stat info {};
  const bool exists = !replaces_link && ::stat(file.target_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return file.failure("cannot write");
  }
  if (exists && !S_ISREG(info.st_mode)) {
    file.fd_ = ::open(file.target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.fd_ < 0) return file.failure("cannot write");
    return file;
  }
  if (exists && ::access(file.target_.c_str(), W_OK) != 0) return file.failure("cannot write");
  file.replaces_ = exists || replaces_link;
  file.fd_ = open_unnamed(file.target_);
  file.unnamed_ = file.fd_ >= 0;
  if (file.unnamed_) file.hidden_ = hidden_name(file.target_);
  for (int i = 0; i < name_attempts && file.fd_ < 0; ++i) {
    file.hidden_ = hidden_name(file.target_);
    file.fd_ = ::open(file.hidden_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd_ < 0 && errno != EEXIST) break;
  }
  if (file.fd_ < 0) {
    file.hidden_.clear();
    return file.failure("cannot write");
  }
  if (exists && ::fchmod(file.fd_, info.st_mode & 07777) != 0) return file.failure("cannot keep the permissions");
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      hidden_(std::exchange(other.hidden_, {})),
      fd_(std::exchange(other.fd_, -1)),
      unnamed_(other.unnamed_),
      replaces_(other.replaces_),
      synced_(other.synced_) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!hidden_.empty() && !unnamed_) ::unlink(hidden_.c_str());
}

Result<void> AtomicFile::write(std::string_view bytes) {
  constexpr std::size_t step = std::size_t{1} << 20;
  while (!bytes.empty()) {
    fetch(bytes.substr(0, step));
    const ssize_t written = ::write(fd_, bytes.data(), std::min(bytes.size(), step));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failure("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> AtomicFile::sync() {
  if (synced_ || hidden_.empty()) return {};
  if (::fsync(fd_) != 0) return failure("cannot write");
  synced_ = true;
  return {};
}

Result<void> AtomicFile::appear() {
  if (!unnamed_) return {};
  for (int i = 0; i < name_attempts; ++i) {
    if (::linkat(AT_FDCWD, descriptor_path(fd_).c_str(), AT_FDCWD, hidden_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      unnamed_ = false;
      return {};
    }
    if (errno != EEXIST) break;
    hidden_ = hidden_name(target_);
  }
  return failure("cannot name the file");
}

Result<void> AtomicFile::publish() {
  if (hidden_.empty()) return {};
  if (replaces_) {
    if (Result<void> done = sync(); !done) return done;
  }
  if (Result<void> done = appear(); !done) return done;
  if (::close(std::exchange(fd_, -1)) != 0)
    return failure("cannot write");  // where a network file system says that it is full
  if (::rename(hidden_.c_str(), target_.c_str()) != 0) return failure("cannot rename the file into place");
  hidden_.clear();
  return synced_ ? sync_folder() : Result<void>{};
}

Result<void> AtomicFile::publish_twin() {
  if (Result<void> done = sync(); !done || hidden_.empty()) return done;
  if (Result<void> done = appear(); !done) return done;
  const fs::path twin = hidden_name(target_);
  if (::link(hidden_.c_str(), twin.c_str()) != 0) return failure("cannot link the file");
  if (::rename(twin.c_str(), target_.c_str()) != 0) {
    const Error error = failure("cannot rename the file into place");
    ::unlink(twin.c_str());
    return error;
  }
  return sync_folder();
}

Result<void> AtomicFile::sync_folder() const {
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return {};  // a folder that may be written but not read
  const int status = ::fsync(fd);
  const int code = errno;
  ::close(fd);
  errno = code;
  if (status != 0 && code != EINVAL && code != EROFS) return failure("cannot sync the folder");
  return {};
}

Result<void> replace_file(const fs::path& path, std::string_view bytes) {
  auto file = AtomicFile::create(path);
  if (!file) return std::move(file).error();
  if (Result<void> written = file->write(bytes); !written) return written;
  return file->publish();
}

}  // namespace onnxkit
