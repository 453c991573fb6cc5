#include "onnxkit/value_file.h"

#include <doctest/doctest.h>

#include <fstream>

#include "onnxkit/model.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::api_value_file {

TEST_CASE("an optional input may be stored as the value that it has, or as an OptionalProto") {
  const auto model = read_model_bytes(
      "<ir_version: 8, opset_import: [\"\" : 15]>\n"
      "g (optional(float[2]) o) => (bool y) { y = OptionalHasElement (o) }",
      "test", {.format = "text"});
  REQUIRE(model);
  const TempFolder folder;
  const auto content_of = [&](std::string_view bytes) {
    std::ofstream(folder / "input_0.pb", std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto values = read_inputs(*model, folder.path());
    REQUIRE(values);
    REQUIRE(values->size() == 1);
    CHECK((*values)[0].value.kind == ValueKind::optional);
    return (*values)[0].value.items.empty() ? std::vector<double>() : to_reals((*values)[0].value.items[0].tensor);
  };
  using namespace std::string_view_literals;
  // TensorProto: dims 2, data_type FLOAT, name "o", raw_data of 1 and 2.
  CHECK(content_of("\x08\x02\x10\x01\x42\x01o\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40"sv) == std::vector<double>{1, 2});
  // OptionalProto: name "o", elem_type TENSOR, and the same tensor or none.
  CHECK(content_of("\x0a\x01o\x10\x01\x1a\x0e\x08\x02\x10\x01\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40"sv) ==
        std::vector<double>{1, 2});
  CHECK(content_of("\x0a\x01o\x10\x01"sv).empty());
}

}  // namespace onnxkit::tests::api_value_file
