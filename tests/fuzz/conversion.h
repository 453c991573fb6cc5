#pragma once

#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "tests/fuzz/property.h"

namespace onnxkit::fuzz {

/// What must hold of any bytes that a reader of another format was given.
inline void expect_error_or_model(const Result<ir::Model>& model) {
  if (!model) {
    if (model.error().diagnostic.code.empty() || model.error().diagnostic.message.empty())
      broken("an error has a code and a message");
    return;
  }
  const auto again = wire::read_binary(MappedFile::from_bytes(wire::to_bytes(*model)));
  if (!again) broken("what is converted can be written and read", {{"error", again.error().diagnostic.message}});
}

}  // namespace onnxkit::fuzz
