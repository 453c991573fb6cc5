#include "libonnxkit/exec/file_for.h"

namespace onnxkit::exec {

Result<std::shared_ptr<const ModelFile>> file_for(const ModelSource& source, const LoadOptions& options) {
  if (!source.model) return make_error("no-model", "the side has no model");
  if (!options.context) return ModelFile::write(*source.model, options.allow_outside_data);
  return options.context->file_of(source.model, options.allow_outside_data);
}

}  // namespace onnxkit::exec
