#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "libonnxkit/base/system/descriptor.h"
#include "libonnxkit/workers/last_lines.h"
#include "onnxkit/result.h"

namespace onnxkit::workers {

using Clock = std::chrono::steady_clock;

/// What may end a wait early.
struct Watch {
  Clock::time_point deadline = Clock::time_point::max();
  std::stop_token stop = {};
  std::uint64_t memory = 0;  ///< resident bytes of the process group; 0: any
};

enum class Wake : std::uint8_t {
  ready,
  late,         ///< the deadline passed
  cancelled,    ///< the stop token says so
  over_memory,  ///< the process group holds more than it may
  ended,        ///< the process ended, and nothing is left to read
};

/// How a process ended.
struct Exit {
  int code = 0, signal = 0;  ///< of a signal when that is not 0
  /// "exit code 3", "killed by SIGSEGV".
  std::string text() const;
};

/// A program in a session and process group of its own. Its input is empty, what it prints is kept as the last lines, and as descriptor 3 it has one
/// end of a connected socket. The group dies with the object, or when this process does.
class Process {
 public:
  /// Fails with worker-start when the program cannot be run.
  static Result<Process> start(const std::vector<std::string>& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  pid_t id() const { return id_; }
  /// This side's end of the socket; -1 after end().
  int socket() const { return socket_.get(); }
  /// Waits until poll() reports `events` on the socket, taking in what the program prints.
  Wake wait(short events, const Watch& watch);
  /// Waits until the program has ended.
  bool wait_for_exit(std::chrono::milliseconds limit);
  /// How it ended, when it did so by itself and the system tells; waits for nothing.
  std::optional<Exit> exit() const;
  /// Bytes that made wait() give over_memory.
  std::uint64_t memory_seen() const { return memory_seen_; }
  /// Largest resident size so far of the process itself; nothing when it has ended.
  std::optional<std::uint64_t> peak_bytes() const;
  /// Seconds that the process itself has computed; nothing when it has ended.
  std::optional<double> cpu_seconds() const;
  const LastLines& printed() const { return printed_; }

  /// Terminates the group, after `grace` kills it, and collects the exit status. What it printed and exit() stay.
  void end(std::chrono::milliseconds grace);

 private:
  Process() = default;
  void take_output();
  bool over_memory(std::uint64_t limit);
  bool ended();
  void collect();

  pid_t id_ = 0;  ///< 0: collected
  Descriptor socket_, output_, lifeline_, handle_;
  LastLines printed_;
  std::optional<Exit> exit_;
  bool ending_ = false;
  std::uint64_t memory_seen_ = 0;
  Clock::time_point next_memory_look_ = {}, next_group_look_ = {};
};

}  // namespace onnxkit::workers
