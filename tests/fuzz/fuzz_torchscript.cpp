// An archive of torch.jit.save, or a file of its code: an error with code and message, or a model that can be written.
#include <cstdint>
#include <string>

#include "converters/formats/torchscript/syntax.h"
#include "converters/formats/torchscript/torchscript.h"
#include "tests/fuzz/conversion.h"

using namespace onnxkit;

extern "C" int fuzz_torchscript(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.starts_with("PK")) {
    const auto file = torchscript::parse_source(bytes, "code.py");
    if (!file && (file.error().diagnostic.code.empty() || file.error().diagnostic.message.empty()))
      fuzz::broken("an error has a code and a message");
    return 0;
  }
  std::vector<Diagnostic> findings;
  const torchscript::Settings settings = {.shapes = {{"x", {.sizes = {"3", "4"}}}}, .values = {{"n", "2"}}};
  fuzz::expect_error_or_model(torchscript::read(MappedFile::from_bytes(bytes), {}, findings));
  fuzz::expect_error_or_model(torchscript::read(MappedFile::from_bytes(bytes), settings, findings));
  return 0;
}
