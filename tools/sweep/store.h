#pragma once

#include <map>
#include <string>
#include <vector>

#include "libonnxkit/base/system/descriptor.h"
#include "onnxkit/result.h"
#include "tools/report/sweep.h"

namespace onnxkit::tools {

/// The file of --resume: a line for each result, added when the model is done. Where a model has several, the last one counts.
class SweepStore {
 public:
  /// Made when there is none. What a sweep that was killed left of a line goes. Errors: cannot-read, cannot-write (also where another sweep has it), json-syntax,
  /// not-supported.
  static Result<SweepStore> open(const std::string& path, const std::vector<std::string>& command);

  /// The result of the model in this state, of this command and version of onnxkit; null where there is none, and of what failed.
  const SweepResult* find(const std::string& model, const std::string& state) const;
  Result<void> add(const SweepResult& result);

 private:
  Result<void> read();

  std::string path_;
  std::vector<std::string> command_;
  Descriptor file_;
  std::map<std::string, SweepResult> known_;
};

}  // namespace onnxkit::tools
