#include "tools/options/diff_files.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>
#include <string_view>

#include "libonnxkit/base/text/extension.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const fs::path& path, std::string message, std::string help) {
  Error error = make_error("cannot-write", std::move(message));
  error.diagnostic.location.file = path.string();
  error.diagnostic.help = std::move(help);
  return error;
}

bool is_page(const fs::path& path) {
  constexpr std::string_view start = "<!doctype html";
  std::string head(start.size(), '\0');
  std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  return std::equal(start.begin(), start.end(), head.begin(),
                    [](char want, char is) { return std::tolower(static_cast<unsigned char>(is)) == want; });
}

/// As bench --trace writes it.
bool is_trace(const fs::path& path) {
  std::string head(100, '\0');
  std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.starts_with('{') && head.find("\"traceEvents\"") != head.npos;
}

/// The name of a new file says what it becomes; devices and pipes have any.
Result<void> check_extension(const fs::path& path, const std::string& what,
                             const std::vector<std::string>& extensions) {
  std::error_code fault;
  if (fs::exists(path, fault) && !fs::is_regular_file(path, fault)) return {};
  if (std::find(extensions.begin(), extensions.end(), lower_extension(path)) != extensions.end()) return {};
  Error error = make_error("unsupported-format", "the name of the file does not say that it is a " + what);
  error.diagnostic.location.file = path.string();
  for (const std::string& extension : extensions)
    error.diagnostic.expected += (error.diagnostic.expected.empty() ? "a name that ends in " : " or ") + extension;
  return error;
}

/// `what` a file becomes, and whether that which is there is one.
Result<void> check_replaced(const fs::path& path, bool (*is_one)(const fs::path&), const std::string& what,
                            const std::vector<std::string>& extensions) {
  std::error_code fault;
  if (fs::is_regular_file(path, fault) && fs::file_size(path, fault) != 0 && !is_one(path))
    return cannot_write(path, "the " + what + " would replace a file that is not a " + what, "choose another name");
  if (auto named = check_extension(path, what, extensions); !named) return named;
  return check_new_file(path);
}

bool is_repro(const fs::path& folder) {
  std::error_code fault;
  return fs::exists(folder / "expected.onnx", fault) && fs::exists(folder / "README.txt", fault);
}

/// Nothing when no input is the folder or lies in it.
Result<void> holds_none(const fs::path& folder, const std::vector<fs::path>& inputs) {
  std::error_code fault;
  for (const fs::path& input : inputs) {
    const fs::path parent = input.has_parent_path() ? input.parent_path() : fs::path(".");
    if (fs::equivalent(input, folder, fault) || fs::equivalent(parent, folder, fault))
      return cannot_write(folder, "the input " + quote(input.string()) + " is in this folder",
                          "choose a separate folder");
  }
  return {};
}

}  // namespace

Result<void> check_new_file(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code fault;
  if (fs::is_directory(folder, fault)) return {};
  return cannot_write(path, "the folder " + quote(folder.string()) + " does not exist",
                      "create it, or choose another one");
}

Result<void> check_report(const fs::path& path) { return check_replaced(path, is_page, "report", {".html", ".htm"}); }
Result<void> check_trace(const fs::path& path) { return check_replaced(path, is_trace, "trace", {".json"}); }

Result<void> check_kept(const fs::path& path) {
  std::error_code fault;
  if (!fs::exists(path, fault))
    if (auto named = check_extension(path, "report", {".json"}); !named) return named;
  return check_new_file(path);
}

Result<void> check_repro(const fs::path& folder, const std::vector<fs::path>& inputs) {
  std::error_code fault;
  if (!fs::exists(folder, fault)) return {};
  if (!fs::is_directory(folder, fault)) return cannot_write(folder, "this is not a folder", "choose another name");
  if (auto checked = holds_none(folder, inputs); !checked) return checked;
  if (is_repro(folder)) return {};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, fault)) {
    if (!is_repro(entry.path()))
      return cannot_write(folder, "the folder contains other files", "choose a new or empty folder");
    if (auto checked = holds_none(entry.path(), inputs); !checked) return checked;
  }
  return {};
}

}  // namespace onnxkit::tools
