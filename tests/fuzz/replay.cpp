// Runs a fuzz target without libFuzzer.
//   replay TARGET FILE-OR-FOLDER...      every file once
//   replay TARGET --mutate [--every N] MODEL...
//     each model cut at every 1/200 of its length, and 1,000 times with a few bytes changed; with N only every N-th of them
// An input that crashes, takes more than 5 s or needs more than 2 GiB ends the program; its name goes to standard error first.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

constexpr unsigned seconds_per_input = sanitized ? 60 : 5;  // with sanitizers little is optimised
constexpr rlim_t memory_limit = rlim_t{2} << 30;
constexpr int cuts = 200;
constexpr int changes = 1000;

char current[512];
const onnxkit::fuzz::Target* target = nullptr;

void name_input(int signal) {
  const char* const reason = signal == SIGALRM ? "too slow: " : "crashed: ";
  (void)!write(STDERR_FILENO, reason, std::strlen(reason));
  (void)!write(STDERR_FILENO, current, std::strlen(current));
  (void)!write(STDERR_FILENO, "\n", 1);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  raise(signal);
}

void run(const std::string& name, const std::string& bytes) {
  std::snprintf(current, sizeof current, "%s", name.c_str());
  alarm(seconds_per_input);
  target->run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  alarm(0);
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int replay(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  for (const auto& file : files) run(file.string(), content(file));
  return static_cast<int>(files.size());
}

int mutate(const std::filesystem::path& path, int every) {
  const std::string model = content(path);
  if (model.empty()) return 0;
  int inputs = 0;
  for (int i = 0; i < cuts; i += every, ++inputs) {
    const std::size_t length = model.size() * static_cast<std::size_t>(i) / cuts;
    run(path.string() + " cut to " + std::to_string(length) + " bytes", model.substr(0, length));
  }
  std::mt19937_64 random(20240229);
  for (int i = 0; i < changes; ++i) {
    std::string changed = model;
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n)
      changed[random() % changed.size()] = static_cast<char>(random());
    if (i % every != 0) continue;
    run(path.string() + " change " + std::to_string(i), changed);
    ++inputs;
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction named = {};
  named.sa_handler = name_input;
  for (const int signal : {SIGALRM, SIGABRT}) sigaction(signal, &named, nullptr);
  if (!sanitized) {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(signal, &named, nullptr);
    const rlimit limit{memory_limit, memory_limit};
    setrlimit(RLIMIT_AS, &limit);
  }
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty()) target = onnxkit::fuzz::find_target(arguments[0]);
  if (!target) {
    std::fputs("usage: replay TARGET [--mutate [--every N]] FILE-OR-FOLDER..., where TARGET is one of", stderr);
    for (const auto& one : onnxkit::fuzz::targets()) std::fprintf(stderr, " %s", std::string(one.name).c_str());
    std::fputc('\n', stderr);
    return 2;
  }
  const bool mutating = arguments.size() > 1 && arguments[1] == "--mutate";
  const bool sampled = mutating && arguments.size() > 3 && arguments[2] == "--every";
  const int every = sampled ? std::max(1, std::atoi(arguments[3].c_str())) : 1;
  int inputs = 0;
  for (std::size_t i = sampled ? 4 : mutating ? 2 : 1; i < arguments.size(); ++i)
    inputs += mutating ? mutate(arguments[i], every) : replay(arguments[i]);
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
