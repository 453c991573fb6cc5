#pragma once

#include "onnxkit/convert.h"

namespace onnxkit::running {

/// As declared in the public header.
Result<SourceReport> compare_with_source(const Model& converted, const std::filesystem::path& source,
                                         const SourceCheckOptions& options);
Result<SourceReport> compare_with_result(const Model& source, const std::filesystem::path& result,
                                         const SourceCheckOptions& options);
Result<SourceReport> compare_models(const Model& before, const Model& after, const SourceCheckOptions& options);
void record_conversion(ir::Model& model, const ConversionRecord& record);

}  // namespace onnxkit::running
