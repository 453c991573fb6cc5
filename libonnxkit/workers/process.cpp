#include "libonnxkit/workers/process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "libonnxkit/base/system/cpu_time.h"
#include "libonnxkit/workers/resident.h"

extern char** environ;

namespace onnxkit::workers {
namespace {

using std::chrono::milliseconds;

constexpr int child_socket = 3, child_lifeline = 4;
constexpr milliseconds tick{50};
constexpr milliseconds between_group_looks{250};
constexpr milliseconds kill_grace{10'000};
constexpr std::size_t most_output_at_once = 1 << 20;

Error start_error(const std::string& program, int code) {
  return make_error("worker-start", fmt::format("cannot run {}: {}", quote(program), ::strerror(code)));
}

/// The same file under a number that the descriptors of the child do not use.
Descriptor moved_up(int fd) {
  const Descriptor low(fd);
  return Descriptor(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, child_lifeline + 1));
}

struct Pair {
  Descriptor ours, theirs;
  explicit operator bool() const { return ours && theirs; }
};

Pair socket_pair() {
  std::array<int, 2> ends{-1, -1};
  (void)::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
  return {moved_up(ends[0]), moved_up(ends[1])};
}

/// The first end reads, the second writes.
std::array<Descriptor, 2> pipe_pair() {
  std::array<int, 2> ends{-1, -1};
  (void)::pipe2(ends.data(), O_CLOEXEC);
  return {moved_up(ends[0]), moved_up(ends[1])};
}

/// The environment of this process with what a worker gets beside it. What the user has set stands.
std::vector<std::string> environment() {
  std::vector<std::string> all = {"ONNXKIT_WORKER_FD=" + std::to_string(child_socket)};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("ONNXKIT_WORKER_FD=")) all.emplace_back(*entry);
  }
  // The last lines before a crash come out, a fatal signal leaves a trace, and the folder of workers stays clean.
  for (const char* name : {"PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "PYTHONDONTWRITEBYTECODE"}) {
    if (std::getenv(name) == nullptr) all.push_back(std::string(name) + "=1");
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

/// Sets up descriptors, session and signals of the child and runs it; an errno.
int spawn(pid_t& id, std::vector<std::string> command, int socket, int output, int lifeline) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, child_socket);
  posix_spawn_file_actions_adddup2(&actions, lifeline, child_lifeline);
  posix_spawn_file_actions_addclosefrom_np(&actions, child_lifeline + 1);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> variables = environment();
  const int failed = ::posix_spawnp(&id, command.front().c_str(), &actions, &attributes, pointers(command).data(),
                                    pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/// Lets the kernel kill the group when the last writing end of the pipe is closed, however this process ends. Unlike PR_SET_PDEATHSIG that takes in
/// the whole group and does not hang on the thread that started it.
void kill_group_at_end_of(int lifeline, pid_t group) {
  ::fcntl(lifeline, F_SETSIG, SIGKILL);
  ::fcntl(lifeline, F_SETOWN, -group);
  ::fcntl(lifeline, F_SETFL, O_ASYNC);
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp(left, milliseconds(0), tick).count());
}

}  // namespace

std::string Exit::text() const {
  if (signal == 0) return fmt::format("exit code {}", code);
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("killed by SIG{}", name) : fmt::format("killed by signal {}", signal);
}

Result<Process> Process::start(const std::vector<std::string>& command) {
  if (command.empty()) return start_error("", ENOENT);
  Pair channel = socket_pair();
  auto [output, child_output] = pipe_pair();
  auto [lifeline, holder] = pipe_pair();
  if (!channel || !output || !child_output || !lifeline || !holder) return start_error(command.front(), errno);
  ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
  Process process;
  const int failed = spawn(process.id_, command, channel.theirs.get(), child_output.get(), lifeline.get());
  if (failed != 0) {
    process.id_ = 0;
    return start_error(command.front(), failed);
  }
  kill_group_at_end_of(lifeline.get(), process.id_);
  process.handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process.id_, 0)));
  process.socket_ = std::move(channel.ours);
  process.output_ = std::move(output);
  process.lifeline_ = std::move(holder);
  return process;
}

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, 0)),
      socket_(std::move(other.socket_)),
      output_(std::move(other.output_)),
      lifeline_(std::move(other.lifeline_)),
      handle_(std::move(other.handle_)),
      printed_(std::move(other.printed_)),
      exit_(other.exit_),
      ending_(other.ending_),
      memory_seen_(other.memory_seen_),
      next_memory_look_(other.next_memory_look_),
      next_group_look_(other.next_group_look_) {}

Process::~Process() { end(milliseconds(0)); }

Wake Process::wait(short events, const Watch& watch) {
  while (true) {
    if (watch.stop.stop_requested()) return Wake::cancelled;
    if (Clock::now() >= watch.deadline) return Wake::late;
    if (watch.memory > 0 && over_memory(watch.memory)) return Wake::over_memory;
    std::array<pollfd, 3> fds = {{{socket_.get(), events, 0}, {output_.get(), POLLIN, 0}, {handle_.get(), POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), milliseconds_until(watch.deadline));
    if (fds[1].revents != 0) take_output();
    if (fds[0].revents != 0) return Wake::ready;
    if (!ended()) continue;
    // What it sent before it ended may have come since.
    if (::poll(fds.data(), 1, 0) == 1) return Wake::ready;
    take_output();
    return Wake::ended;
  }
}

bool Process::wait_for_exit(milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (!ended()) {
    if (Clock::now() >= deadline) return false;
    std::array<pollfd, 2> fds = {{{output_.get(), POLLIN, 0}, {handle_.get(), POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), milliseconds_until(deadline));
    if (fds[0].revents != 0) take_output();
  }
  take_output();
  return true;
}

std::optional<std::uint64_t> Process::peak_bytes() const {
  std::ifstream status(fmt::format("/proc/{}/status", id_));
  for (std::string line; id_ != 0 && std::getline(status, line);) {
    constexpr std::string_view key = "VmHWM:";
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
  }
  return std::nullopt;
}

std::optional<double> Process::cpu_seconds() const { return cpu_seconds_of(id_); }

std::optional<Exit> Process::exit() const { return exit_; }

/// Takes what is there, up to a bound, so that a program that prints without end cannot hold us.
void Process::take_output() {
  std::array<char, 65536> buffer;
  for (std::size_t taken = 0; output_ && taken < most_output_at_once;) {
    const ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
    if (count > 0) {
      printed_.add({buffer.data(), static_cast<std::size_t>(count)});
      taken += static_cast<std::size_t>(count);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      output_.reset();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

bool Process::over_memory(std::uint64_t limit) {
  const auto now = Clock::now();
  if (now < next_memory_look_) return false;
  next_memory_look_ = now + tick;
  memory_seen_ = resident_bytes(id_);
  if (memory_seen_ <= limit && now >= next_group_look_) {
    next_group_look_ = now + between_group_looks;
    memory_seen_ = resident_bytes_of_group(id_);
  }
  return memory_seen_ > limit;
}

/// Leaves the process uncollected, so that its number keeps naming the group. Where the program that started this one ignores SIGCHLD, the system keeps
/// no status.
bool Process::ended() {
  if (id_ == 0 || exit_) return true;
  siginfo_t info = {};
  const bool is_told = ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (is_told && info.si_pid == 0) return false;
  if (is_told && !ending_) exit_ = info.si_code == CLD_EXITED ? Exit{info.si_status, 0} : Exit{0, info.si_status};
  return true;
}

/// A process that hangs inside the kernel cannot be killed, and is left behind rather than waited for.
void Process::collect() {
  if (wait_for_exit(kill_grace)) ::waitpid(id_, nullptr, 0);
  id_ = 0;
}

void Process::end(milliseconds grace) {
  if (id_ == 0) return;
  const bool ended_itself = ended();
  ending_ = true;
  if (!ended_itself && grace.count() > 0) {
    ::kill(-id_, SIGTERM);
    wait_for_exit(grace);
  }
  ::kill(-id_, SIGKILL);  // also what the program left running
  socket_.reset();
  collect();
  take_output();
  output_.reset();
  lifeline_.reset();
  handle_.reset();
}

}  // namespace onnxkit::workers
