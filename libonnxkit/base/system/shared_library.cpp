#include "libonnxkit/base/system/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

namespace onnxkit {
namespace {

namespace fs = std::filesystem;

std::string_view environment_variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

void split_folders(std::string_view list, std::vector<fs::path>& into) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end != 0) into.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

std::vector<fs::path> sorted_folders_in(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code status;
  for (fs::directory_iterator at(folder, status), end; !status && at != end; at.increment(status)) {
    std::error_code none;
    if (at->is_directory(none)) all.push_back(at->path());
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// PREFIX/lib/python3.N/site-packages/nvidia/PACKAGE/lib
void add_packages(const fs::path& prefix, std::vector<fs::path>& into) {
  if (prefix.empty()) return;
  for (const fs::path& version : sorted_folders_in(prefix / "lib")) {
    if (!version.filename().string().starts_with("python3")) continue;
    for (const fs::path& package : sorted_folders_in(version / "site-packages" / "nvidia")) {
      std::error_code status;
      if (fs::is_directory(package / "lib", status)) into.push_back(package / "lib");
    }
  }
}

/// The folder above the one that holds a program, found as a shell finds it.
fs::path prefix_of_program(std::string_view program) {
  if (program.empty()) return {};
  if (program.find('/') != std::string_view::npos) return fs::path(program).parent_path().parent_path();
  std::vector<fs::path> folders;
  split_folders(environment_variable("PATH"), folders);
  for (const fs::path& folder : folders) {
    std::error_code status;
    if (fs::exists(folder / program, status)) return folder.parent_path();
  }
  return {};
}

std::string opened_path_of(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name) return map->l_name;
  return asked;
}

}  // namespace

LibraryPlaces LibraryPlaces::of_environment(std::string_view python) {
  LibraryPlaces places;
  if (const std::string_view own = environment_variable("ONNXKIT_CUDA_PATH"); !own.empty()) {
    split_folders(own, places.folders);
    places.named_by = "ONNXKIT_CUDA_PATH";
    return places;
  }
  places.folders.emplace_back();
  for (const std::string_view root : {environment_variable("CUDA_HOME"), std::string_view("/usr/local/cuda")}) {
    if (root.empty()) continue;
    for (const char* folder : {"lib64", "lib"}) places.folders.push_back(fs::path(root) / folder);
  }
  add_packages(fs::path(environment_variable("VIRTUAL_ENV")), places.folders);
  add_packages(fs::path(environment_variable("CONDA_PREFIX")), places.folders);
  add_packages(prefix_of_program(python), places.folders);
  return places;
}

Result<SharedLibrary> SharedLibrary::open(const LibraryPlaces& places, std::initializer_list<std::string_view> names) {
  std::string refusal;
  for (const fs::path& folder : places.folders) {
    for (const std::string_view name : names) {
      const std::string path = folder.empty() ? std::string(name) : (folder / name).string();
      std::error_code status;
      if (!folder.empty() && !fs::exists(path, status)) continue;
      if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
        return SharedLibrary(handle, opened_path_of(handle, path));
      const char* why = ::dlerror();
      if (!folder.empty() && refusal.empty()) refusal = why ? why : path;
    }
  }
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : " or ") + std::string(name);
  Error error =
      make_error("missing-module", fmt::format("no library {} was found{}", all,
                                               places.named_by.empty() ? "" : " in the folders of " + places.named_by));
  if (!refusal.empty()) error = make_error("missing-module", fmt::format("the library does not open: {}", refusal));
  return error;
}

void* SharedLibrary::symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace onnxkit
