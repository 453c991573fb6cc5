#pragma once

#include <cstddef>
#include <span>

#include "libonnxkit/base/system/mapped_file.h"
#include "onnxkit/result.h"

namespace onnxkit::tflite {

namespace schema {
struct Model;
}

/// The root table of a file whose tables have all been verified: every offset and string lies in the file. Indices are not checked.
/// Error codes: malformed-model, not-supported.
Result<const schema::Model*> verified_model(const MappedFile& file);

/// The bytes of a buffer, inside the tables or behind them; empty for one without content. Error code: malformed-model.
Result<std::span<const std::byte>> buffer_bytes(const MappedFile& file, const schema::Model& model,
                                                std::uint32_t buffer);

}  // namespace onnxkit::tflite
