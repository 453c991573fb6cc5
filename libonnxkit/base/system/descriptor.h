#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace onnxkit {

/// Owns a file descriptor. Closing leaves errno as it is.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    const int reason = errno;
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    errno = reason;
  }

 private:
  int fd_ = -1;
};

}  // namespace onnxkit
