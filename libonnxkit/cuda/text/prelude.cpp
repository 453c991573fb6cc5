#include "libonnxkit/cuda/text/prelude.h"

namespace onnxkit::cuda {

std::string_view prelude() { return ""; }

}  // namespace onnxkit::cuda
