#include "onnxkit/version.h"

#define ONNXKIT_TEXT_OF(x) #x
#define ONNXKIT_VERSION_TEXT(major, minor, patch) \
  ONNXKIT_TEXT_OF(major) "." ONNXKIT_TEXT_OF(minor) "." ONNXKIT_TEXT_OF(patch)

namespace onnxkit {

std::string_view version() {
  return ONNXKIT_VERSION_TEXT(ONNXKIT_VERSION_MAJOR, ONNXKIT_VERSION_MINOR, ONNXKIT_VERSION_PATCH);
}

}  // namespace onnxkit
