#include "tools/sweep/child.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace onnxkit::tools {
namespace {

constexpr std::size_t most_output = std::size_t{256} << 20, most_messages = std::size_t{64} << 10;

Error cannot_start(const char* what) {
  return make_error("worker-start",
                    std::string("a process for the command cannot be started: ") + what + ": " + std::strerror(errno));
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// The last `most` bytes of a file.
std::string tail_of(int file, std::size_t most) {
  const off_t size = std::max<off_t>(::lseek(file, 0, SEEK_END), 0);
  std::string text(std::min(static_cast<std::size_t>(size), most), '\0');
  off_t at = size - static_cast<off_t>(text.size());
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::pread(file, text.data() + done, text.size() - done, at);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
    at += count;
  }
  text.resize(done);
  return text;
}

/// In the new process: only calls that are safe between fork and exec.
[[noreturn]] void become(char* const* words, const cpu_set_t& processors, int output, int messages) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::sched_setaffinity(0, sizeof processors, &processors);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(messages, STDERR_FILENO) >= 0)
    ::execv("/proc/self/exe", words);
  ::_exit(127);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& words, const cpu_set_t& processors) {
  Child child;
  child.output_ = Descriptor(::memfd_create("onnxkit output", MFD_CLOEXEC));
  child.messages_ = Descriptor(::memfd_create("onnxkit messages", MFD_CLOEXEC));
  if (!child.output_ || !child.messages_) return cannot_start("memory for its output");
  std::string program = "onnxkit";
  std::vector<std::string> copies = words;
  std::vector<char*> pointers{program.data()};
  for (std::string& word : copies) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  child.id_ = ::fork();
  if (child.id_ < 0) {
    child.id_ = 0;
    return cannot_start("fork");
  }
  if (child.id_ == 0) become(pointers.data(), processors, child.output_.get(), child.messages_.get());
  child.handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child.id_, 0)));
  return child;
}

Child::Child(Child&& other) noexcept
    : id_(std::exchange(other.id_, 0)),
      handle_(std::move(other.handle_)),
      output_(std::move(other.output_)),
      messages_(std::move(other.messages_)),
      start_(other.start_),
      is_asked_(other.is_asked_) {}

Child::~Child() {
  if (id_ == 0) return;
  ::kill(-id_, SIGKILL);
  ::kill(id_, SIGKILL);  // before it has a session of its own
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Child::has_ended(JobEnd& end) {
  int status = 0;
  rusage used{};
  if (id_ == 0 || ::wait4(id_, &status, WNOHANG, &used) != id_) return false;
  ::kill(-id_, SIGKILL);  // what it left behind
  id_ = 0;
  end.seconds = seconds();
  end.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  end.peak_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = signal_name(WTERMSIG(status));
  end.output = tail_of(output_.get(), most_output);
  end.messages = tail_of(messages_.get(), most_messages);
  return true;
}

double Child::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Child::end() {
  ::kill(-id_, is_asked_ ? SIGKILL : SIGTERM);
  is_asked_ = true;
}

}  // namespace onnxkit::tools
