#include "libonnxkit/exec/session_context.h"

#include <utility>

#include "libonnxkit/formats/frame/data_users.h"
#include "libonnxkit/formats/frame/save.h"
#include "libonnxkit/spec/context_cache.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::exec {
namespace {

namespace fs = std::filesystem;

/// The model's data files under a further name in the folder, where the file system can do that: saving finds them there and copies nothing.
void link_data(const ir::Model& model, const fs::path& folder, bool allow_outside) {
  if (model.path.empty()) return;
  for (const std::string& location : formats::data_locations(model)) {
    if (fs::path(location).filename() != location || location.starts_with('.')) continue;
    const auto source = wire::resolve_location(model.path, location, allow_outside);
    std::error_code fault;
    if (source) fs::create_hard_link(source->path(), folder / location, fault);
  }
}

}  // namespace

ModelFile::ModelFile(TempFolder folder) : folder_(std::move(folder)), path_(folder_.path() / "model.onnx") {}

Result<std::shared_ptr<const ModelFile>> ModelFile::write(const ir::Model& model, bool allow_outside_data) {
  auto folder = TempFolder::make();
  if (!folder) return folder.error();
  std::shared_ptr<const ModelFile> file(new ModelFile(*std::move(folder)));
  link_data(model, file->path().parent_path(), allow_outside_data);
  SaveOptions save;
  save.format = "binary";
  save.allow_outside_data = allow_outside_data;
  if (auto written = formats::save_model(model, file->path(), save); !written) return written.error();
  return file;
}

std::shared_ptr<ThreadPool> SessionContext::threads(int count) {
  const std::lock_guard lock(mutex_);
  if (count == 0 && cores_ == 0) cores_ = usable_cores();
  const int number = count == 0 ? cores_ : count;
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
