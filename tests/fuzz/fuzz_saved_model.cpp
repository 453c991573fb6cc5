// A graph of TensorFlow, a SavedModel without its variables, or their table: an error with code and message, or a model that can be written.
#include <cstdint>
#include <string>

#include "converters/containers/sorted_table.h"
#include "converters/formats/saved_model/saved_model.h"
#include "tests/fuzz/conversion.h"

using namespace onnxkit;

extern "C" int fuzz_saved_model(const std::uint8_t* data, std::size_t size) {
  const auto file = MappedFile::from_bytes(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<Diagnostic> findings;
  constexpr char first_node = 0x0a;
  const bool is_graph = size > 0 && data[0] == first_node;
  fuzz::expect_error_or_model(is_graph ? saved_model::read_frozen(file, findings)
                                       : saved_model::read_message(file, "no/such/folder", {}, findings));
  const auto entries = containers::read_sorted_table(file->view());
  if (!entries && entries.error().diagnostic.message.empty()) fuzz::broken("an error has a message");
  return 0;
}
