#include "libonnxkit/onnxruntime/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/workers/process.h"

namespace onnxkit::onnxruntime {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t table_version = 12;  // has all functions that are used; ONNX Runtime 1.12 and newer give it

/// What OrtGetApiBase returns.
struct Base {
  const void* (*get_table)(std::uint32_t version);
  const char* (*get_version)();
};

Error unavailable(std::string why) { return make_error("worker-unavailable", std::move(why)); }

/// The folder of the package's libraries, as the interpreter tells without importing it; empty where there is none.
std::string package_folder(const exec::BackendSettings& settings) {
  constexpr const char* question =
      "import importlib.util, os\n"
      "found = importlib.util.find_spec('onnxruntime')\n"
      "print(os.path.join(os.path.dirname(found.origin), 'capi') if found and found.origin else '')";
  auto process = workers::Process::start({settings.python, "-c", question});
  if (!process || !process->wait_for_exit(settings.start_limit)) return {};
  const std::vector<std::string> lines = process->printed().lines();
  return lines.empty() ? std::string() : lines.back();
}

std::string library_in(const std::string& folder) {
  std::error_code fault;
  fs::directory_iterator at(folder, fault);
  for (; !fault && at != fs::directory_iterator(); at.increment(fault)) {
    if (at->path().filename().string().starts_with("libonnxruntime.so")) return at->path().string();
  }
  return {};
}

std::vector<std::string> candidates(const exec::BackendSettings& settings) {
  if (const char* named = std::getenv("ONNXKIT_ONNXRUNTIME"); named != nullptr && *named != '\0') return {named};
  std::vector<std::string> found;
  if (const std::string folder = package_folder(settings); !folder.empty()) {
    if (std::string path = library_in(folder); !path.empty()) found.push_back(std::move(path));
  }
  found.emplace_back("libonnxruntime.so.1");
  found.emplace_back("libonnxruntime.so");
  return found;
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::open(const exec::BackendSettings& settings) {
  void* handle = nullptr;
  const std::vector<std::string> paths = candidates(settings);
  std::string fault, opened;
  for (const std::string& path : paths) {
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    opened = path;
    if (handle != nullptr) break;
    if (const char* said = ::dlerror(); fault.empty() && said != nullptr) fault = said;
  }
  if (handle == nullptr)
    return unavailable(
        fmt::format("no library of ONNX Runtime was found: {}; pip install onnxruntime, name another "
                    "interpreter with --python, or the library in ONNXKIT_ONNXRUNTIME",
                    fault));
  using Entry = const Base*();
  const auto entry = reinterpret_cast<Entry*>(::dlsym(handle, "OrtGetApiBase"));
  const Base* base = entry != nullptr ? entry() : nullptr;
  if (base == nullptr || base->get_version == nullptr) return unavailable("the library is not ONNX Runtime's");
  auto library = std::make_shared<Library>();
  library->version_ = base->get_version();
  library->path_ = opened;
  library->table_ = static_cast<const AnyFunction*>(base->get_table(table_version));
  if (library->table_ == nullptr)
    return unavailable(fmt::format("ONNX Runtime {} is too old: 1.12 or newer is needed", library->version_));
  return std::shared_ptr<const Library>(std::move(library));
}

bool Library::has_provider(std::string_view name) const {
  char** names = nullptr;
  int count = 0;
  if (!call(slots::available_providers, &names, &count)) return false;
  const bool found = std::any_of(names, names + count, [&](const char* one) { return name == one; });
  (void)call(slots::release_providers, names, count);
  return found;
}

Result<void> Library::checked(Status* status) const {
  if (status == nullptr) return {};
  constexpr int invalid_argument = 2, not_implemented = 9;
  const int code = at(slots::get_error_code)(status);
  std::string message = at(slots::get_error_message)(status);
  at(slots::release_status)(status);
  if (code == not_implemented) return make_error("worker-unsupported", std::move(message));
  if (code == invalid_argument) return make_error("worker-invalid", std::move(message));
  return make_error("worker-failed", std::move(message));
}

}  // namespace onnxkit::onnxruntime
