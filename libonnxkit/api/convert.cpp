#include "onnxkit/convert.h"

#include "libonnxkit/running/source.h"

namespace onnxkit {

Result<SourceReport> compare_with_source(const Model& converted, const std::filesystem::path& source,
                                         const SourceCheckOptions& options) {
  return running::compare_with_source(converted, source, options);
}

}  // namespace onnxkit
