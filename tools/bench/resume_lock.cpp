#include "tools/bench/resume_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "libonnxkit/base/system/atomic_file.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

/// Whether an open file is still the one of that name: who held the lock before took the file away.
bool is_there(int file, const fs::path& path) {
  struct stat open_one {
  }, named{};
  return ::fstat(file, &open_one) == 0 && ::stat(path.c_str(), &named) == 0 && open_one.st_ino == named.st_ino &&
         open_one.st_dev == named.st_dev;
}

}  // namespace

Result<ResumeLock> ResumeLock::take(const std::string& path) {
  constexpr int most_tries = 100;
  ResumeLock lock;
  std::error_code unseen;
  const fs::path target = follow_links(path);
  if (fs::exists(target, unseen) && !fs::is_regular_file(target, unseen)) return lock;
  const fs::path beside = target.string() + ".lock";
  for (int i = 0; i < most_tries; ++i) {
    const int file = ::open(beside.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0) return lock;  // whether results can be kept there is seen elsewhere
    const bool is_held = ::flock(file, LOCK_EX | LOCK_NB) == 0;
    const int fault = is_held ? 0 : errno;
    if (is_held && is_there(file, beside)) {
      lock.path_ = beside;
      lock.file_ = file;
      return lock;
    }
    ::close(file);
    if (fault == EWOULDBLOCK) {
      Error error = make_error("cannot-write", "another bench keeps its measurements in this file");
      error.diagnostic.location.file = path;
      error.diagnostic.help = "wait for it, or name another file";
      return error;
    }
    if (fault != 0 && fault != EINTR) return lock;
  }
  return lock;
}

ResumeLock::ResumeLock(ResumeLock&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

ResumeLock& ResumeLock::operator=(ResumeLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  return *this;
}

ResumeLock::~ResumeLock() {
  if (file_ < 0) return;
  ::unlink(path_.c_str());  // before the lock goes, so that nobody else has it then
  ::close(file_);
}

}  // namespace onnxkit::tools
