#include "tools/version.h"

namespace onnxkit::tools {

const char* const version = ONNXKIT_VERSION;

}  // namespace onnxkit::tools
