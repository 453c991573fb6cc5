// What is said of dimensions from outside: by name, by axis, and by what reports show.
#include <doctest/doctest.h>

#include "libonnxkit/ir/model.h"
#include "onnxkit/check.h"
#include "onnxkit/dims.h"
#include "onnxkit/infer.h"
#include "tests/unit/support/models.h"

namespace onnxkit::tests::ir_declare_dims {
namespace {

constexpr const char* body = R"(main (float[?, 3] x, float[N, M] z) => (float[?, 3] y) { y = Relu (x) })";

Model model() {
  Model made = parse_model(opset_17 + body);
  made.ir().graph->inputs[1].type->shape->dims[1].param = made.ir().keep("2*N");
  return made;
}

std::string code_of(const DimSettings& settings, DeclaredSizes declared = DeclaredSizes::keep) {
  Model changed = model();
  const auto left = declare_dims(changed, settings, declared);
  return left ? "" : left.error().diagnostic.code;
}

std::string type_of_y(Model changed) {
  const auto report = infer(changed);
  REQUIRE(report);
  return report->values.front().type;
}

TEST_CASE("dims: an axis without a name is called as it is shown, or by its position") {
  for (const char* key : {"x_dim0", "x[0]", "x[-2]"}) {
    Model changed = model();
    const auto left = declare_dims(changed, {.sizes = {{key, 5}}}, DeclaredSizes::keep);
    REQUIRE(left);
    CHECK(left->empty());
    CHECK(type_of_y(changed) == "float[5, 3]");
  }
}

TEST_CASE("dims: an axis with a name sets all that bear it; an expression is set where it stands") {
  Model changed = model();
  const auto left = declare_dims(changed, {.sizes = {{"z[0]", 4}, {"z[1]", 8}, {"other", 1}}}, DeclaredSizes::keep);
  REQUIRE(left);
  CHECK(*left == std::map<std::string, std::int64_t>{{"N", 4}, {"other", 1}});
  CHECK(unknown_dimensions(changed, *left).contains("other"));
}

TEST_CASE("dims: a declared size is kept or replaced") {
  CHECK(code_of({.sizes = {{"x[1]", 3}}}).empty());
  CHECK(code_of({.sizes = {{"x[1]", 4}}}) == "usage");
  CHECK(code_of({.names = {{"x[1]", "c"}}}) == "usage");
  Model changed = model();
  REQUIRE(declare_dims(changed, {.sizes = {{"x[0]", 2}}, .names = {{"x[1]", "c"}}}, DeclaredSizes::replace));
  CHECK(type_of_y(changed) == "float[2, c]");
}

TEST_CASE("dims: axes and inputs that do not exist") {
  CHECK(code_of({.sizes = {{"x[2]", 1}}}) == "unknown-dimension");
  CHECK(code_of({.sizes = {{"x[-3]", 1}}}) == "unknown-dimension");
  CHECK(code_of({.names = {{"v[0]", "c"}}}) == "unknown-dimension");
  CHECK(code_of({.sizes = {{"x[99999999999999999999]", 1}, {"x[]", 1}, {"[0]", 1}, {"x[0", 1}}}).empty());
}

}  // namespace
}  // namespace onnxkit::tests::ir_declare_dims
