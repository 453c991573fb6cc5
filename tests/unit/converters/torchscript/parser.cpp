#include "converters/formats/torchscript/syntax.h"

#include <doctest/doctest.h>

#include <string>

namespace onnxkit::tests::torchscript_parser {

using torchscript::Expression;
using torchscript::parse_source;
using torchscript::Statement;

/// An expression with a bracket around each of its parts.
std::string shown(const Expression& e) {
  using Form = Expression::Kind;
  std::string parts;
  for (const Expression& part : e.parts) parts += " " + shown(part);
  switch (e.kind) {
    case Form::name:
      return std::string(e.text);
    case Form::integer:
      return std::to_string(e.integer);
    case Form::real:
      return "r" + std::to_string(e.real);
    case Form::text:
      return "'" + e.string + "'";
    case Form::boolean:
      return e.integer != 0 ? "True" : "False";
    case Form::none:
      return "None";
    case Form::attribute:
      return "(." + std::string(e.text) + parts + ")";
    case Form::call:
      for (const std::string_view keyword : e.keywords) parts += " " + std::string(keyword) + "=";
      return "(call" + parts + ")";
    case Form::list:
      return "[" + parts + " ]";
    case Form::tuple:
      return "(tuple" + parts + ")";
    case Form::dict:
      return "{" + parts + " }";
    case Form::item:
      return "(item" + parts + ")";
    case Form::choice:
      return "(if" + parts + ")";
    default:
      return "(" + std::string(e.text) + parts + ")";
  }
}

/// The value that the first statement of a function gives.
std::string value_of(const std::string& text) {
  const std::string source = "def f(x):\n  return " + text + "\n";
  const auto file = parse_source(source, "code.py");
  if (!file) return file.error().diagnostic.code;
  return shown(file->functions.front().body.front().value);
}

TEST_CASE("TorchScript: expressions") {
  CHECK(value_of("torch.add(x, 1, alpha=2)") == "(call (.add torch) x 1 2 alpha=)");
  CHECK(value_of("(conv1).forward(x, )") == "(call (.forward conv1) x)");
  CHECK(value_of("[1, -2, 9223372036854775807]") == "[ 1 -2 9223372036854775807 ]");
  CHECK(value_of("-9223372036854775808") == "-9223372036854775808");
  CHECK(value_of("1.0000000000000001e-05") == "r0.000010");
  CHECK(value_of("-0.5") == "r-0.500000");
  CHECK(value_of("(x, )") == "(tuple x)");
  CHECK(value_of("()") == "(tuple)");
  CHECK(value_of("x, None") == "(tuple x None)");
  CHECK(value_of("{\"a\\\"\\n\": x}") == "{ 'a\"\n' x }");
  CHECK(value_of("x[0][1]") == "(item (item x 0) 1)");
  CHECK(value_of("a + b * -c") == "(+ a (* b (- c)))");
  CHECK(value_of("not a and b") == "(and (not a) b)");
  CHECK(value_of("a if c else b") == "(if a c b)");
  CHECK(value_of("annotate(List[Optional[Tensor]], [x])") ==
        "(call annotate (item List (item Optional Tensor)) [ x ])");
  CHECK(value_of("getattr(self, \"0\")") == "(call getattr self '0')");
}

TEST_CASE("TorchScript: classes, methods and statements") {
  const std::string source =
      "op_version_set = 1\n"
      "class Net(Module):\n"
      "  __parameters__ = [\"w\", ]\n"
      "  w : Tensor\n"
      "  __annotations__[\"0\"] = __torch__.Other\n"
      "  # a comment\n"
      "  def forward(self: __torch__.Net,\n"
      "    x: Tensor,\n"
      "    y: Optional[Tensor]=None) -> Tuple[Tensor, Tensor]:\n"
      "    a, b, = torch.chunk(x, 2)\n"
      "    if bool(c):\n"
      "      d = a\n"
      "    else:\n"
      "      if True:\n"
      "        d = b\n"
      "    for i in range(3):\n"
      "      d = torch.add(d, i)\n"
      "    return (d, a)\n"
      "def helper(x: Tensor) -> Tensor:\n"
      "  ops.prim.RaiseException(\"no\")\n";
  const auto file = parse_source(source, "code.py");
  REQUIRE(file);
  REQUIRE(file->classes.size() == 1);
  REQUIRE(file->functions.size() == 1);
  REQUIRE(file->classes[0].methods.size() == 1);
  const torchscript::Function& forward = file->classes[0].methods[0];
  CHECK(forward.parameters.size() == 3);
  CHECK(forward.parameters[2].has_fallback);
  REQUIRE(forward.body.size() == 4);
  CHECK(forward.body[0].unpacks);
  CHECK(forward.body[0].targets.size() == 2);
  CHECK(forward.body[1].kind == Statement::Kind::branch);
  CHECK(forward.body[1].other.size() == 1);
  CHECK(forward.body[2].kind == Statement::Kind::for_loop);
  CHECK(forward.body[3].kind == Statement::Kind::result);
}

TEST_CASE("TorchScript: what is no code is an error") {
  CHECK(value_of("torch.add(x") == "malformed-model");
  CHECK(value_of("x $ y") == "malformed-model");
  CHECK(value_of("\"open") == "malformed-model");
  CHECK(value_of("f(a=1, 2)") == "malformed-model");
  CHECK(value_of(std::string(100'000, '(')) == "nesting-depth");
  CHECK(value_of(std::string(100'000, '-') + "x") == "nesting-depth");
  std::string chain = "x";
  for (int i = 0; i < 100'000; ++i) chain += ".a";
  CHECK(value_of(chain) == "nesting-depth");
  CHECK_FALSE(parse_source("class", "code.py"));
  CHECK_FALSE(parse_source("def f(x):\n   a = 1\n  b = 2\n", "code.py"));
}

}  // namespace onnxkit::tests::torchscript_parser
