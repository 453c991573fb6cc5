#include "converters/formats/pt2/sympy.h"

#include <doctest/doctest.h>

#include "libonnxkit/ir/dim/dim.h"

namespace onnxkit::tests::pt2_sympy {
namespace {

/// The expression as sizes print it.
std::string printed(std::string_view expression) {
  const auto text = pt2::dim_param_of(expression);
  if (!text) return "(none)";
  ir::DimPool pool;
  return pool.to_string(pool.from_dim_param(*text));
}

}  // namespace

TEST_CASE("sizes of torch.export in the form of a dim_param") {
  CHECK(printed("Symbol('s77', positive=True, integer=True)") == "s77");
  CHECK(printed("Add(Symbol('s0', integer=True), Integer(1))") == "s0 + 1");
  CHECK(printed("Mul(Integer(2), Add(Symbol('s0'), Integer(-1)))") == "2*s0 - 2");
  CHECK(printed("FloorDiv(Symbol('s0'), Integer(2))") == "s0//2");
  CHECK(printed("Pow(Symbol('s0'), Integer(2))") == "s0*s0");
  CHECK(printed("s0 + 1") == "s0 + 1");
  CHECK(printed("s3") == "s3");
}

TEST_CASE("expressions that are cut or nested without end are not parsed") {
  CHECK(pt2::dim_param_of("") == std::nullopt);
  std::string nested;
  for (int i = 0; i < 10'000; ++i) nested += "Add(";
  CHECK(pt2::dim_param_of(nested) == std::nullopt);
}

}  // namespace onnxkit::tests::pt2_sympy
