#include "onnxkit/convert.h"

#include "libonnxkit/running/source.h"

namespace onnxkit {

Result<SourceReport> compare_with_source(const Model& converted, const std::filesystem::path& source,
                                         const SourceCheckOptions& options) {
  return running::compare_with_source(converted, source, options);
}

Result<SourceReport> compare_with_result(const Model& source, const std::filesystem::path& result,
                                         const SourceCheckOptions& options) {
  return running::compare_with_result(source, result, options);
}

}  // namespace onnxkit
