// A .pt2 archive, or the JSON of its program: an error with code and message, or a model that can be written.
#include <cstdint>
#include <string>

#include "converters/containers/json.h"
#include "converters/formats/pt2/program.h"
#include "converters/formats/pt2/pt2.h"
#include "tests/fuzz/conversion.h"

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

extern "C" int fuzz_pt2(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::vector<Diagnostic> findings;
  const auto model =
      bytes.starts_with("PK") ? pt2::read(MappedFile::from_bytes(bytes), findings) : model_of_program(bytes, findings);
  fuzz::expect_error_or_model(model);
  return 0;
}
