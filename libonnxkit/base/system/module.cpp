#include "libonnxkit/base/system/module.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <vector>

namespace onnxkit {
namespace {

namespace fs = std::filesystem;

/// The folder of the file that holds this code: libonnxkit.so, or a program that has the library in it.
fs::path own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code status;
  const fs::path file = fs::canonical(info.dli_fname, status);
  return status ? fs::path() : file.parent_path();
}

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  if (const fs::path own = own_folder(); !own.empty())
    all = {own / "onnxkit", own.parent_path() / ONNXKIT_LIBDIR / "onnxkit"};
  all.emplace_back(ONNXKIT_FULL_LIBDIR "/onnxkit");
  return all;
}

Error missing(const std::string& file, std::string why) {
  Error error = make_error("missing-module", "a part of onnxkit cannot be loaded: " + file);
  error.diagnostic.found = std::move(why);
  error.diagnostic.help = "install onnxkit again, with the folder \"onnxkit\" beside its library";
  return error;
}

}  // namespace

Result<const void*> load_module(const char* name, const char* entry) {
  const std::string file = std::string("libonnxkit_") + name + ".so";
  std::string looked;
  for (const fs::path& folder : folders()) {
    const fs::path path = folder / file;
    std::error_code status;
    if (!fs::exists(path, status)) {
      looked += (looked.empty() ? "no such file in " : ", ") + folder.string();
      continue;
    }
    void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) return missing(path.string(), ::dlerror());
    using Entry = const void* (*)();
    const auto get = reinterpret_cast<Entry>(::dlsym(module, entry));
    if (get == nullptr) return missing(path.string(), "it has no " + std::string(entry));
    return get();
  }
  return missing(file, looked);
}

}  // namespace onnxkit
