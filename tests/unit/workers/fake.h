#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libonnxkit/workers/worker.h"

// The fake worker of tests/workers/fake.py, and looking after what it leaves behind.
namespace onnxkit::tests {

/// Marks the processes of one fake worker, grandchildren included.
inline std::string fresh_token() {
  static int last = 0;
  return "onnxkit-fake-" + std::to_string(::getpid()) + "-" + std::to_string(++last);
}

inline workers::WorkerProgram fake_worker(const std::string& fault, const std::string& token) {
  return {"fake", {"python3", "-I", "-S", ONNXKIT_TESTDATA "/../tests/workers/fake.py", fault, token}};
}

inline workers::WorkerLimits patient() {
  workers::WorkerLimits limits;
  limits.start = limits.load = limits.run = std::chrono::seconds(60);
  return limits;
}

/// Processes that have the word on their command line. Zombies have none.
inline std::vector<std::string> processes_with(const std::string& word) {
  std::vector<std::string> found;
  std::error_code status;
  std::filesystem::directory_iterator at("/proc", status);
  for (; !status && at != std::filesystem::directory_iterator(); at.increment(status)) {
    std::ifstream file(at->path() / "cmdline");
    std::ostringstream line;
    line << file.rdbuf();  // unlike an iterator, it does not throw when the process has ended since
    if (line.str().find(word) != std::string::npos) found.push_back(at->path().filename().string());
  }
  return found;
}

/// Whether all processes with the word are gone, a killed one has ten seconds for it.
inline bool all_gone(const std::string& word) {
  for (int i = 0; i < 1000; ++i) {
    if (processes_with(word).empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

}  // namespace onnxkit::tests
