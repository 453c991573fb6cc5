#include "tools/options/short_paths.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

/// From the last to the first; a path that ends in no name is one part.
std::vector<std::string> parts_from_end(const std::string& word) {
  fs::path path = fs::path(word).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  if (path.filename().empty() || path.filename() == "." || path.filename() == "..") return {word};
  std::vector<std::string> parts;
  for (const fs::path& part : path) parts.push_back(part.string());
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::string joined(const std::vector<std::string>& parts, std::size_t count) {
  fs::path path;
  for (std::size_t i = std::min(count, parts.size()); i > 0; --i) path /= parts[i - 1];
  return path.string();
}

}  // namespace

std::vector<std::string> short_paths(const std::vector<std::string>& paths) {
  std::map<std::string, std::vector<std::string>> parts;
  for (const std::string& path : paths) parts.emplace(path, parts_from_end(path));
  std::map<std::string, std::string> shortened;
  for (std::size_t count = 1; shortened.size() < parts.size(); ++count) {
    std::map<std::string, std::set<std::string>> paths_of;
    for (const auto& [path, of] : parts) paths_of[joined(of, count)].insert(path);
    for (const auto& [path, of] : parts) {
      const std::string end = joined(of, count);
      if (paths_of[end].size() == 1 || count >= of.size()) shortened.emplace(path, end);
    }
  }
  std::vector<std::string> result;
  for (const std::string& path : paths) result.push_back(shortened.at(path));
  return result;
}

}  // namespace onnxkit::tools
