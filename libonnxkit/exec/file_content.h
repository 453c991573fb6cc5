#pragma once

#include <memory>

#include "libonnxkit/base/system/mapped_file.h"
#include "onnxkit/result.h"

namespace onnxkit::exec {

/// The error of a reader of values, or not-onnx with what the file is instead if it is recognised: a model, a web page, an archive.
Error content_error(const std::shared_ptr<const MappedFile>& file, Error error);

}  // namespace onnxkit::exec
