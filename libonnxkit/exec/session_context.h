#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/exec/temp_folder.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/context.h"
#include "onnxkit/result.h"

namespace onnxkit::exec {

/// A model in a file of our own, removed with it.
class ModelFile {
 public:
  /// Errors: those of writing and of external data.
  static Result<std::shared_ptr<const ModelFile>> write(const ir::Model& model, bool allow_outside_data);
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ModelFile(TempFolder folder);
  TempFolder folder_;
  std::filesystem::path path_;
};

/// What sessions share: thread pools, and files of models that other processes load. Thread-safe.
class SessionContext {
 public:
  /// The pool of so many threads, 0 for all cores; made when it is first asked for.
  std::shared_ptr<ThreadPool> threads(int count);
  /// The model in a file, written once while somebody holds the file.
  Result<std::shared_ptr<const ModelFile>> file_of(const std::shared_ptr<const ir::Model>& model,
                                                   bool allow_outside_data);

 private:
  struct Written {
    std::weak_ptr<const ir::Model> model;
    std::weak_ptr<const ModelFile> file;
  };
  std::mutex mutex_;
  int cores_ = 0;  ///< all, once they were asked for: the system is asked with a dozen files
  std::map<int, std::shared_ptr<ThreadPool>> pools_;
  std::vector<Written> files_;
};

/// The one that all sessions of a context share.
std::shared_ptr<SessionContext> sessions_of(const Context& context);

}  // namespace onnxkit::exec
