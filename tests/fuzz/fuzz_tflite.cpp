// A TensorFlow Lite file: an error with code and message, or a model that can be written.
#include <cstdint>
#include <string>

#include "converters/formats/tflite/tflite.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  std::vector<Diagnostic> findings;
  const auto model = tflite::read(MappedFile::from_bytes(std::move(bytes)), findings);
  if (!model) {
    if (model.error().diagnostic.code.empty() || model.error().diagnostic.message.empty())
      fuzz::broken("an error has a code and a message");
    return 0;
  }
  const auto again = wire::read_binary(MappedFile::from_bytes(wire::to_bytes(*model)));
  if (!again) fuzz::broken("what is converted can be written and read", {{"error", again.error().diagnostic.message}});
  return 0;
}
