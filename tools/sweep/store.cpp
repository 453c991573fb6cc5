#include "tools/sweep/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "onnxkit/diagnostic.h"
#include "onnxkit/version.h"
#include "tools/model_file.h"

namespace onnxkit::tools {
namespace {

Error unwritable(const std::string& path, const std::string& why) {
  return make_error("cannot-write", "cannot write " + quote(path) + ": " + why);
}

}  // namespace

Result<SweepStore> SweepStore::open(const std::string& path, const std::vector<std::string>& command) {
  SweepStore store;
  store.path_ = path;
  store.command_ = command;
  store.file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!store.file_) return unwritable(path, std::strerror(errno));
  if (::flock(store.file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return unwritable(path, "another sweep has it open");
  if (auto read = store.read(); !read) return read.error();
  return store;
}

Result<void> SweepStore::read() {
  const auto text = read_file(path_);
  if (!text) return text.error();
  std::size_t start = 0, number = 0;
  for (std::size_t end; (end = text->find('\n', start)) != std::string::npos; start = end + 1) {
    auto stored = result_in(text->substr(start, end - start), path_, ++number);
    if (!stored) return stored.error();
    if (stored->command != command_ || stored->version != version()) continue;
    std::string model = stored->result.model;
    known_.insert_or_assign(std::move(model), std::move(stored->result));
  }
  if (start < text->size() && ::ftruncate(file_.get(), static_cast<off_t>(start)) != 0)
    return unwritable(path_, std::strerror(errno));
  return {};
}

const SweepResult* SweepStore::find(const std::string& model, const std::string& state) const {
  const auto found = known_.find(model);
  if (found == known_.end() || state.empty() || found->second.model_state != state) return nullptr;
  const bool is_done = found->second.outcome == SweepOutcome::ok || found->second.outcome == SweepOutcome::finding;
  return is_done ? &found->second : nullptr;
}

Result<void> SweepStore::add(const SweepResult& result) {
  const std::string line = result_line(result, command_);
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = ::write(file_.get(), line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return unwritable(path_, std::strerror(errno));
    done += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace onnxkit::tools
