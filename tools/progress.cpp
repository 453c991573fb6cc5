#include "tools/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {
namespace {

constexpr std::chrono::seconds patience{2};
constexpr std::chrono::milliseconds pause{100};
constexpr std::size_t bar_width = 24;

}  // namespace

Progress::Progress(std::string label, std::size_t total, Notes notes)
    : label_(std::move(label)), total_(total), tells_steps_(notes == Notes::steps) {
  if (notes == Notes::usual && ::isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { run(); });
}

void Progress::tell(std::string_view step) const {
  if (tells_steps_) fmt::print(stderr, "onnxkit: {}\n", step);
}

void Progress::start(std::string_view item) {
  if (!tells_steps_) return;
  const std::lock_guard lock(mutex_);
  tell(fmt::format("{} {}", label_, without_controls(item)));
}

void Progress::at(std::string label) {
  const std::lock_guard lock(mutex_);
  tell(label);
  label_ = std::move(label);
}

void Progress::next(std::string label) {
  const std::lock_guard lock(mutex_);
  tell(label);
  label_ = std::move(label);
  ++done_;
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    erase();
  }
  wake_.notify_one();
  thread_.join();
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, patience, [this] { return over_; })) return;
  do draw();
  while (!wake_.wait_for(lock, pause, [this] { return over_; }));
}

void Progress::draw() {
  const std::size_t done = std::min<std::size_t>(done_, total_);
  const std::size_t filled = total_ ? bar_width * done / total_ : 0;
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_);
  const std::string line = fmt::format("\r\x1b[K{} [{:-<{}}] {}/{}  {} s", label_, std::string(filled, '#'), bar_width,
                                       done, total_, elapsed.count());
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

}  // namespace onnxkit::tools
