#include <unistd.h>

#include <algorithm>

#include "libonnxkit/workers/worker.h"

namespace onnxkit::workers {
namespace {

namespace fs = std::filesystem;

/// The program that a file is, or one without a command when it is none.
WorkerProgram program_of(const fs::path& path, const std::string& python) {
  const std::string name = path.filename().string();
  std::error_code unseen;
  if (name.starts_with('_') || name.starts_with('.') || !fs::is_regular_file(path, unseen)) return {};
  if (path.extension() == ".py") return {path.stem().string(), {python, path.string()}};
  if (::access(path.c_str(), X_OK) == 0) return {name, {path.string()}};
  return {};
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code status;
  fs::directory_iterator at(folder, status);
  for (; !status && at != fs::directory_iterator(); at.increment(status)) files.push_back(fs::absolute(at->path()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<WorkerProgram> find_workers(std::span<const fs::path> folders, const std::string& python) {
  std::map<std::string, WorkerProgram> found;
  for (const fs::path& folder : folders) {
    for (const fs::path& file : files_of(folder)) {
      WorkerProgram program = program_of(file, python);
      const std::string name = program.name;
      if (!program.command.empty()) found.try_emplace(name, std::move(program));
    }
  }
  std::vector<WorkerProgram> programs;
  for (auto& [name, program] : found) programs.push_back(std::move(program));
  return programs;
}

}  // namespace onnxkit::workers
