#include "onnxkit/onnxkit.h"

namespace onnxkit::tests::api_public_headers {

std::string_view version_seen_by_twin();
Error error_made_by_twin();

std::string_view version_seen_by_twin() { return version(); }
Error error_made_by_twin() { return make_error("usage", "said by the twin"); }

}  // namespace onnxkit::tests::api_public_headers
