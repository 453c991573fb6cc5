#include "onnxkit/opset.h"

#include <doctest/doctest.h>

#include "tests/unit/support/models.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::api_opset {
namespace {

std::string text_of(const Model& model) {
  std::string text;
  const auto take = [&](std::string_view part) -> Result<void> {
    text += part;
    return {};
  };
  REQUIRE(write_model(model, take, {.format = "text"}));
  return text;
}

const std::string upsample =
    "<ir_version: 4, opset_import: [\"\" : 9]>\n"
    "main (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[4] s = {1, 1, 2, 2}> { p = Relu (x) y = Upsample (p, "
    "s) }";

}  // namespace

TEST_CASE("change_opset: a refused conversion leaves the model as it was") {
  // Squeeze changes at 13 and the batch of GridSample is refused below 16: the first step back has been done by then.
  Model model = parse_model(
      "<ir_version: 8, opset_import: [\"\" : 16]>\n"
      "main (float[1, 1, 4, 4] x, float[1, 2, 2, 2] g, int64[1] a) => (float[1, 2, 2] z)\n"
      "{ y = GridSample (x, g) z = Squeeze (y, a) }");
  const std::string before = text_of(model);
  const auto report = change_opset(model, {.opsets = {{"", 12}}});
  REQUIRE(report);
  CHECK_FALSE(report->succeeded());
  CHECK(text_of(model) == before);
}

TEST_CASE("change_opset: an IR version that is too old for the result leaves model and opset as they were") {
  Model model = parse_model(upsample);
  const std::string before = text_of(model);
  const auto report = change_opset(model, {.opsets = {{"", 21}}, .ir_version = 3});
  REQUIRE(report);
  CHECK_FALSE(report->succeeded());
  CHECK_FALSE(report->changes.empty());
  CHECK(text_of(model) == before);
}

TEST_CASE("change_opset: a copy made before is not converted along") {
  Model model = parse_model(upsample);
  const Model copy = model;
  const std::string before = text_of(copy);
  const auto report = change_opset(model, {.opsets = {{"", 11}}});
  REQUIRE(report);
  CHECK(report->succeeded());
  CHECK(text_of(copy) == before);
  CHECK(text_of(model).find("Resize") != std::string::npos);
}

TEST_CASE("change_opset: the original is handed over when the model changes, and only then") {
  Model model = parse_model(upsample);
  const std::string before = text_of(model);
  std::optional<Model> original;
  REQUIRE(change_opset(model, {.opsets = {{"", 21}}, .ir_version = 3}, &original));
  CHECK_FALSE(original);
  REQUIRE(change_opset(model, {.opsets = {{"", 11}}}, &original));
  REQUIRE(original);
  CHECK(text_of(*original) == before);
  CHECK(text_of(model).find("Resize") != std::string::npos);
}

}  // namespace onnxkit::tests::api_opset
