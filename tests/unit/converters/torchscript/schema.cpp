#include "converters/formats/torchscript/schema.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "converters/formats/torchscript/graph_writer.h"

namespace onnxkit::tests::torchscript_schema {

using namespace torchscript;
using Kind = ArgumentType::Kind;

TEST_CASE("TorchScript: a row of the table") {
  const Schema schema = parse_schema("sum.dim_IntList(self:T,dim:I[1]?,keepdim:B=False,*,dtype:K?=None)T,T[]");
  CHECK(schema.name == "sum");
  CHECK(schema.overload == "dim_IntList");
  REQUIRE(schema.arguments.size() == 4);
  CHECK(schema.arguments[0].type.kind == Kind::tensor);
  CHECK(schema.arguments[1].type.is_list);
  CHECK(schema.arguments[1].type.takes_one);
  CHECK(schema.arguments[1].type.is_optional);
  CHECK_FALSE(schema.arguments[1].type.has_optional_items);
  CHECK_FALSE(schema.arguments[1].has_default);
  CHECK(schema.arguments[2].fallback == "False");
  CHECK(schema.arguments[3].is_keyword_only);
  CHECK(schema.results.size() == 2);
  CHECK(parse_schema("index.Tensor(self:T,indices:T?[])T").arguments[1].type.has_optional_items);
  CHECK(parse_schema("f.g(a:I[1]=[1, 1],b:N)T").arguments[1].name == "b");
}

TEST_CASE("TorchScript: every row of the table can be read, and is found by its name") {
  const Schemas schemas;
  for (const std::string_view row : schema_rows()) {
    const Schema schema = parse_schema(row);
    CHECK_FALSE(schema.name.empty());
    CHECK_FALSE(schema.overload.empty());
    const auto found = schemas.of(schema.name);
    CHECK(std::ranges::count(found, schema.overload, &Schema::overload) == 1);
    for (const SchemaArgument& argument : schema.arguments)
      CHECK(std::string_view("TIFNBSKD-").find(static_cast<char>(argument.type.kind)) != std::string_view::npos);
  }
}

/// The operator that a call becomes, with the arguments that it keeps.
std::string written(std::string_view name, const std::vector<NamedItem>& arguments) {
  foreign::Model model;
  GraphWriter writer(model);
  const foreign::ValueId x = model.graph.add_value("x");
  std::vector<NamedItem> given = {{{}, Item::of_value(Item::Kind::tensor, model.graph, x)}};
  given.insert(given.end(), arguments.begin(), arguments.end());
  writer.call(name, given);
  std::string text(model.graph.nodes.front().op);
  for (const foreign::Argument& argument : model.graph.nodes.front().arguments)
    text += " " + std::string(argument.name);
  return text;
}

Item numbers(std::vector<std::int64_t> values) {
  Items items;
  for (const std::int64_t value : values) items.push_back(Item::of_integer(value));
  return Item::of_items(Item::Kind::list, std::move(items));
}

TEST_CASE("TorchScript: arguments choose the overload, defaults are left out") {
  CHECK(written("add", {{{}, Item::of_integer(2)}}) == "aten.add.Scalar self other");
  CHECK(written("add", {{{}, Item::of_real(2)}, {"alpha", Item::of_integer(1)}}) == "aten.add.Scalar self other");
  CHECK(written("sum", {{{}, numbers({1})}, {{}, Item::of_boolean(true)}}) == "aten.sum.dim_IntList self dim keepdim");
  CHECK(written("sum", {}) == "aten.sum.default self");
  CHECK(written("to", {{{}, Item::of_integer(6)}}) == "aten.to.dtype self dtype");
  CHECK(written("to", {{{}, Item::of_kind(Item::Kind::device)}, {{}, Item::of_integer(11)}}) ==
        "aten.to.device self dtype");
  CHECK(written("slice", {{{}, Item::of_integer(0)}, {{}, Item()}, {{}, Item::of_integer(5)}}) ==
        "aten.slice.Tensor self end");
  CHECK(written("avg_pool2d", {{{}, numbers({2, 2})}, {{}, numbers({})}, {{}, numbers({0, 0})}}) ==
        "aten.avg_pool2d.default self kernel_size");
  CHECK(written("softmax", {{{}, Item::of_text("x")}}) == "aten.softmax.with these arguments ");
}

}  // namespace onnxkit::tests::torchscript_schema
