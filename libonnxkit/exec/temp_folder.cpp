#include "libonnxkit/exec/temp_folder.h"

#include <cstdlib>
#include <string>
#include <system_error>

namespace onnxkit::exec {

Result<TempFolder> TempFolder::make() {
  std::error_code fault;
  std::string pattern = (std::filesystem::temp_directory_path(fault) / "onnxkit-XXXXXX").string();
  if (fault || !mkdtemp(pattern.data())) return make_error("cannot-write", "a temporary folder could not be created");
  return TempFolder(std::filesystem::path(pattern));
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace onnxkit::exec
