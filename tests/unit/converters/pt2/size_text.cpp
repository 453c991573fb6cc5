#include "converters/formats/pt2/size_text.h"

#include <doctest/doctest.h>

#include "converters/formats/pt2/sympy.h"

namespace onnxkit::tests::pt2_size_text {

TEST_CASE("pt2: sizes as SymPy text, with the examples of the export") {
  pt2::SizeTexts sizes({{"N", 5}});
  const auto text = sizes.of("N");
  CHECK(text.example == 5);
  CHECK(text.expression.find("Symbol(") != std::string::npos);
  CHECK(sizes.of("2*N + 1").example == 11);
  CHECK(sizes.of("N").expression == text.expression);
  CHECK(sizes.symbols().size() == 1);
  CHECK(sizes.of("other").example >= 1);
  CHECK(sizes.symbols().size() == 2);
}

}  // namespace onnxkit::tests::pt2_size_text
