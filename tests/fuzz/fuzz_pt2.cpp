// A .pt2 archive, or the JSON of its program: an error with code and message, or a model that can be written.
#include <cstdint>
#include <string>

#include "converters/containers/json.h"
#include "converters/formats/pt2/program.h"
#include "converters/formats/pt2/pt2.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "tests/fuzz/property.h"

using namespace onnxkit;

namespace {

Result<ir::Model> model_of_program(std::string_view text, std::vector<Diagnostic>& findings) {
  auto document = containers::JsonDocument::parse(text);
  if (!document) return std::move(document).error();
  auto program = pt2::read_program((*document)->root());
  if (!program) return std::move(program).error();
  program->model.documents.emplace_back(*std::move(document));
  return pt2::to_onnx(*program, findings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::vector<Diagnostic> findings;
  const auto model =
      bytes.starts_with("PK") ? pt2::read(MappedFile::from_bytes(bytes), findings) : model_of_program(bytes, findings);
  if (!model) {
    if (model.error().diagnostic.code.empty() || model.error().diagnostic.message.empty())
      fuzz::broken("an error has a code and a message");
    return 0;
  }
  const auto again = wire::read_binary(MappedFile::from_bytes(wire::to_bytes(*model)));
  if (!again) fuzz::broken("what is converted can be written and read", {{"error", again.error().diagnostic.message}});
  return 0;
}
