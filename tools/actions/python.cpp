#include "tools/actions/python.h"

#include <cstdlib>

namespace onnxkit::tools {

std::string usual_python() {
  const char* named = std::getenv("ONNXKIT_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

}  // namespace onnxkit::tools
