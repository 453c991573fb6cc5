#pragma once

#include <sched.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "libonnxkit/base/system/descriptor.h"
#include "onnxkit/result.h"
#include "tools/sweep/runner.h"

namespace onnxkit::tools {

/// A command of this program in a session of its own. What it prints is kept in memory. It ends with the object, and when this process does.
class Child {
 public:
  /// `processors` is the set that it may use. Error worker-start.
  static Result<Child> start(const std::vector<std::string>& words, const cpu_set_t& processors);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  /// Readable once it has ended; -1 where the system cannot tell.
  int handle() const { return handle_.get(); }
  /// Whether it has ended; then `end` holds all but the index.
  bool has_ended(JobEnd& end);
  double seconds() const;
  /// Asks it to end, the second time without being asked.
  void end();

 private:
  Child() = default;

  pid_t id_ = 0;  ///< 0: collected
  Descriptor handle_, output_, messages_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool is_asked_ = false;
};

}  // namespace onnxkit::tools
