#include "libonnxkit/spec/op_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace onnxkit::tests::spec_op_table {

using namespace spec;

namespace {

int version_at(const OpTable& table, const char* name, int opset, const char* domain = "") {
  const OpSchema* schema = table.find(domain, name, opset);
  return schema ? schema->since_version : 0;
}

}  // namespace

TEST_CASE("the table holds every version of every official operator") {
  const auto all = official_schemas();
  std::set<std::pair<std::string_view, std::string_view>> operators;
  for (const OpSchema& schema : all) operators.emplace(schema.domain, schema.name);
  CHECK(all.size() == 659);
  CHECK(operators.size() == 227);
  CHECK(
      std::ranges::is_sorted(all, {}, [](const OpSchema& s) { return std::tuple(s.domain, s.name, s.since_version); }));
}

TEST_CASE("releases, opsets and IR versions") {
  CHECK(spec::onnx_release() == "1.23.2");
  CHECK(newest_ir_version() == 14);
  CHECK(newest_opset("") == 28);
  CHECK(newest_opset("ai.onnx") == 28);
  CHECK(newest_opset("ai.onnx.ml") == 5);
  CHECK(newest_opset("ai.onnx.preview") == 1);
  CHECK(newest_opset("ai.onnx.preview.training") == 1);
  CHECK(newest_opset("com.microsoft") == 0);
  CHECK(newest_opset("com.example") == 0);
  CHECK(is_official_domain("ai.onnx"));
  CHECK_FALSE(is_official_domain("com.microsoft"));
  CHECK(ir_version_of_opset(8) == 3);
  CHECK(ir_version_of_opset(9) == 4);
  CHECK(ir_version_of_opset(21) == 10);
  CHECK(ir_version_of_opset(28) == 14);
  CHECK(ir_version_of_opset(29) == 0);
  CHECK(ir_version_of_opset(0) == 0);
  CHECK(ir_version_of_opset(-1) == 0);
}

TEST_CASE("the version in force at the borders of opsets") {
  const OpTable table;
  CHECK(version_at(table, "Upsample", 1) == 1);
  CHECK(version_at(table, "Upsample", 6) == 1);
  CHECK(version_at(table, "Upsample", 7) == 7);
  CHECK(version_at(table, "Upsample", 8) == 7);
  CHECK(version_at(table, "Upsample", 9) == 9);
  CHECK(version_at(table, "Upsample", 10) == 10);
  CHECK(version_at(table, "Upsample", 28) == 10);
  CHECK(version_at(table, "Resize", 9) == 0);
  CHECK(version_at(table, "Resize", 10) == 10);
  CHECK(version_at(table, "Resize", 12) == 11);
  CHECK(version_at(table, "Resize", 28) == 19);
  CHECK(version_at(table, "Softmax", 12) == 11);
  CHECK(version_at(table, "Softmax", 13) == 13);
  CHECK(version_at(table, "If", 1) == 1);
  CHECK(version_at(table, "If", 10) == 1);
  CHECK(version_at(table, "If", 11) == 11);
  CHECK(version_at(table, "If", 0) == 0);
  CHECK(version_at(table, "If", -3) == 0);
  CHECK(table.find("", "If", std::int64_t{1} << 40)->since_version == 25);
  CHECK(version_at(table, "ZipMap", 1, "ai.onnx.ml") == 1);
  CHECK(version_at(table, "ZipMap", 1, "") == 0);
  CHECK(table.find("ai.onnx", "Relu", 6) == table.find("", "Relu", 6));
  CHECK(table.find("", "relu", 6) == nullptr);
  CHECK(table.find("", "", 6) == nullptr);
}

TEST_CASE("deprecated and experimental operators are told") {
  const OpTable table;
  CHECK(table.find("", "Upsample", 10)->deprecated);
  CHECK_FALSE(table.find("", "Upsample", 9)->deprecated);
  CHECK(table.find("", "Upsample", 1)->experimental);
  CHECK(table.find("", "Scatter", 11)->deprecated);
  CHECK(table.find("", "GroupNormalization", 18)->deprecated);
  CHECK_FALSE(table.find("", "GroupNormalization", 21)->deprecated);
  CHECK(table.find("ai.onnx.ml", "TreeEnsembleRegressor", 5)->deprecated);
  CHECK(std::ranges::count_if(official_schemas(), &OpSchema::deprecated) == 5);
}

TEST_CASE("what the schemas say of attributes") {
  const OpTable table;
  const OpSchema& upsample = *table.find("", "Upsample", 7);
  CHECK(upsample.find_attribute("scales")->required);
  CHECK(upsample.find_attribute("scales")->type == AttributeType::reals);
  CHECK(table.find("", "Upsample", 9)->find_attribute("scales") == nullptr);
  CHECK(upsample.find_attribute("") == nullptr);

  const AttributeSchema& mode = *table.find("", "Resize", 13)->find_attribute("mode");
  CHECK(mode.has_default);
  CHECK(mode.default_value.string == "nearest");
  CHECK(std::ranges::equal(mode.allowed_strings, std::vector<std::string_view>{"nearest", "linear", "cubic"}));
  CHECK(table.find("", "Einsum", 12)->find_attribute("equation")->allowed_strings.empty());
  CHECK(table.find("", "LSTM", 14)->find_attribute("activations")->allowed_strings.size() == 11);

  CHECK(table.find("", "If", 16)->has_subgraph);
  CHECK_FALSE(table.find("", "Add", 14)->has_subgraph);
  CHECK(table.find("", "LayerNormalization", 17)->has_function_body);
  CHECK(table.find("", "RandomNormal", 1)->non_deterministic);
  CHECK_FALSE(table.find("", "DepthToSpace", 28)->non_deterministic);
}

TEST_CASE("every schema is consistent in itself") {
  for (const DomainTable& domain : builtin_domains())
    for (const OpSchema& schema : domain.schemas) {
      CAPTURE(schema.domain);
      CAPTURE(schema.name);
      CAPTURE(schema.since_version);
      CHECK(schema.domain == domain.domain);
      CHECK(schema.min_inputs <= schema.max_inputs);
      CHECK(schema.min_outputs <= schema.max_outputs);
      CHECK(std::ranges::is_sorted(schema.attributes, {}, &AttributeSchema::name));
      for (const auto& parameters : {schema.inputs, schema.outputs})
        for (const FormalParameter& parameter : parameters) {
          REQUIRE(parameter.constraint < schema.constraints.size());
          CHECK_FALSE(schema.types_of(parameter).empty());
          CHECK((parameter.arity != Arity::variadic || &parameter == &parameters.back()));
        }
      for (const AttributeSchema& attribute : schema.attributes)
        CHECK_FALSE((attribute.required && attribute.has_default));
    }
}

TEST_CASE("listing domains, operators and versions") {
  const OpTable table;
  CHECK(table.domains() == std::vector<std::string_view>{"", "ai.onnx.ml", "ai.onnx.preview",
                                                         "ai.onnx.preview.training", "ai.onnx.training",
                                                         "com.microsoft"});
  CHECK(table.knows_domain("ai.onnx"));
  CHECK(table.knows_domain("com.microsoft"));
  CHECK_FALSE(table.knows_domain("com.example"));
  const auto names = table.operators("");
  CHECK(std::ranges::is_sorted(names));
  CHECK(std::ranges::binary_search(names, "Conv"));
  CHECK(table.operators("com.microsoft").size() >= 100);
  std::vector<std::int32_t> versions;
  for (const OpSchema* schema : table.versions("", "Resize")) versions.push_back(schema->since_version);
  CHECK(versions == std::vector<std::int32_t>{10, 11, 13, 18, 19});
  CHECK(table.versions("", "NoSuchOperator").empty());
}

}  // namespace onnxkit::tests::spec_op_table
