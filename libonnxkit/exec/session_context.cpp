#include "libonnxkit/exec/session_context.h"

#include <utility>

#include "libonnxkit/formats/frame/save.h"
#include "libonnxkit/spec/context_cache.h"

namespace onnxkit::exec {

ModelFile::ModelFile(TempFolder folder) : folder_(std::move(folder)), path_(folder_.path() / "model.onnx") {}

Result<std::shared_ptr<const ModelFile>> ModelFile::write(const ir::Model& model, bool allow_outside_data) {
  auto folder = TempFolder::make();
  if (!folder) return folder.error();
  std::shared_ptr<const ModelFile> file(new ModelFile(*std::move(folder)));
  SaveOptions save;
  save.format = "binary";
  save.allow_outside_data = allow_outside_data;
  if (auto written = formats::save_model(model, file->path(), save); !written) return written.error();
  return file;
}

std::shared_ptr<ThreadPool> SessionContext::threads(int count) {
  const int number = count == 0 ? usable_cores() : count;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<ThreadPool>& pool = pools_[number];
  if (!pool) pool = std::make_shared<ThreadPool>(number);
  return pool;
}

Result<std::shared_ptr<const ModelFile>> SessionContext::file_of(const std::shared_ptr<const ir::Model>& model,
                                                                 bool allow_outside_data) {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [](const Written& written) { return written.file.expired() || written.model.expired(); });
  for (const Written& written : files_) {
    if (written.model.lock() != model) continue;
    if (auto file = written.file.lock()) return file;
  }
  auto file = ModelFile::write(*model, allow_outside_data);
  if (file) files_.push_back({model, *file});
  return file;
}

std::shared_ptr<SessionContext> sessions_of(const Context& context) {
  using Shared = std::shared_ptr<SessionContext>;
  const auto made = context.cache().get<Shared>("exec/sessions",
                                                []() -> Result<Shared> { return std::make_shared<SessionContext>(); });
  return **made;
}

}  // namespace onnxkit::exec
