// A TensorFlow Lite file: an error with code and message, or a model that can be written.
#include <cstdint>
#include <string>

#include "converters/formats/tflite/tflite.h"
#include "tests/fuzz/conversion.h"

using namespace onnxkit;

extern "C" int fuzz_tflite(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  std::vector<Diagnostic> findings;
  const auto model = tflite::read(MappedFile::from_bytes(std::move(bytes)), findings);
  fuzz::expect_error_or_model(model);
  return 0;
}
