#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "libonnxkit/base/system/descriptor.h"
#include "onnxkit/version.h"
#include "tools/options/workers.h"
#include "tools/sweep/runner.h"

namespace onnxkit::tools {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int look_ms = 100;

Error script_failure(const std::string& what) { return make_error("worker-start", what + ": " + std::strerror(errno)); }

/// What the script reads: docs/sweep.md describes it.
std::string request_text(std::span<const SweepJob> jobs, const JobLimits& limits, const RayCluster& cluster) {
  json list = json::array();
  for (const SweepJob& job : jobs) {
    std::error_code unknown;
    const auto size = fs::file_size(job.path, unknown);
    list.push_back({{"index", job.index}, {"words", job.words}, {"path", job.path}});
    if (!unknown) list.back()["size"] = size;
  }
  std::error_code unknown;
  const json request = {{"address", cluster.address},
                        {"program", fs::read_symlink("/proc/self/exe", unknown).string()},
                        {"version", version()},
                        {"folder", fs::current_path(unknown).string()},
                        {"processors", limits.processors},
                        {"gpus", cluster.gpus},
                        {"time_ms", limits.time_ms},
                        {"jobs", std::move(list)}};
  return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The script, with the request as its input; what it prints is read here, its errors go where ours go.
class Script {
 public:
  static Result<Script> start(const std::string& python, const fs::path& path, const std::string& request) {
    Script script;
    const Descriptor input(::memfd_create("onnxkit jobs", MFD_CLOEXEC));
    std::array<int, 2> ends{};
    if (!input || ::pipe2(ends.data(), O_CLOEXEC) != 0) return script_failure("the jobs cannot be passed on");
    script.lines_ = Descriptor(ends[0]);
    const Descriptor writer(ends[1]);
    for (std::size_t done = 0; done < request.size();) {
      const ssize_t count =
          ::pwrite(input.get(), request.data() + done, request.size() - done, static_cast<off_t>(done));
      if (count <= 0) return script_failure("the jobs cannot be passed on");
      done += static_cast<std::size_t>(count);
    }
    std::string interpreter = python, file = path.string();
    const std::array<char*, 3> words{interpreter.data(), file.data(), nullptr};
    script.id_ = ::fork();
    if (script.id_ < 0) {
      script.id_ = 0;
      return script_failure("a process for Ray cannot be started");
    }
    if (script.id_ == 0) become(words.data(), input.get(), writer.get());
    return script;
  }
  Script(Script&& other) noexcept
      : id_(std::exchange(other.id_, 0)),
        lines_(std::move(other.lines_)),
        buffer_(std::move(other.buffer_)),
        is_done_(other.is_done_) {}
  Script& operator=(Script&&) = delete;
  ~Script() {
    if (id_ == 0) return;
    if (!is_done_) ::kill(id_, SIGINT);  // it ends what runs on the cluster
    collect();
  }

  /// The next line that it prints; nothing when it has ended or is asked to.
  std::optional<std::string> line(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      pollfd ready{lines_.get(), POLLIN, 0};
      if (::poll(&ready, 1, look_ms) <= 0) continue;
      std::array<char, 65536> bytes;
      const ssize_t count = ::read(lines_.get(), bytes.data(), bytes.size());
      if (count <= 0) return std::nullopt;
      buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return std::nullopt;
  }

  /// Nothing is left to do: it ends by itself.
  void be_done() { is_done_ = true; }

  /// Its exit status, after its last line; 127 where the interpreter could not be run.
  int collect() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  Script() = default;

  /// In the new process: only calls that are safe between fork and exec.
  [[noreturn]] static void become(char* const* words, int input, int output) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    if (::dup2(input, STDIN_FILENO) >= 0 && ::lseek(STDIN_FILENO, 0, SEEK_SET) == 0 &&
        ::dup2(output, STDOUT_FILENO) >= 0)
      ::execvp(words[0], words);
    ::_exit(127);
  }

  pid_t id_ = 0;
  Descriptor lines_;
  std::string buffer_;
  bool is_done_ = false;
};

JobEnd end_of(const json& line) {
  JobEnd end;
  end.index = line.at("index").get<std::size_t>();
  if (const auto status = line.find("status"); status != line.end()) end.status = status->get<int>();
  end.signal = line.value("signal", "");
  end.is_late = line.value("late", false);
  end.failure = line.value("failure", "");
  end.seconds = line.value("seconds", 0.0);
  end.cpu_seconds = line.value("cpu_seconds", 0.0);
  end.peak_bytes = line.value("peak_bytes", std::uint64_t{0});
  end.host = line.value("host", "");
  end.output = line.value("output", "");
  end.messages = line.value("messages", "");
  return end;
}

Error wrong_line() {
  return make_error("worker-protocol", "the script for Ray printed something else than the result of a job");
}

}  // namespace

Result<void> run_on_ray(std::span<const SweepJob> jobs, const JobLimits& limits, const RayCluster& cluster,
                        const OnJobEnd& on_end, const std::stop_token& stop) {
  const auto path = own_file("sweep/ray_jobs.py");
  auto script = Script::start(cluster.python, path, request_text(jobs, limits, cluster));
  if (!script) return script.error();
  std::vector<bool> is_open;
  for (const SweepJob& job : jobs) {
    is_open.resize(std::max(is_open.size(), job.index + 1));
    is_open[job.index] = true;
  }
  std::size_t left = jobs.size();
  while (left > 0) {
    const auto text = script->line(stop);
    if (!text) break;
    const json line = json::parse(*text, nullptr, false);
    if (!line.is_object()) return wrong_line();
    if (const auto error = line.find("error"); error != line.end() && error->is_string())
      return make_error("worker-unavailable", error->get<std::string>());
    try {
      JobEnd end = end_of(line);
      if (end.index >= is_open.size() || !is_open[end.index]) return wrong_line();
      is_open[end.index] = false;
      --left;
      if (!on_end(std::move(end))) return {};
    } catch (const json::exception&) {
      return wrong_line();
    }
  }
  if (left == 0) script->be_done();
  if (left == 0 || stop.stop_requested()) return {};
  const int status = script->collect();
  if (status == 127) return make_error("worker-start", "the interpreter " + cluster.python + " cannot be run");
  return make_error("worker-failed",
                    "the script for Ray ended before all models were done, with status " + std::to_string(status));
}

}  // namespace onnxkit::tools
