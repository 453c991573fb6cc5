#include "libonnxkit/spec/schema_pack.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "libonnxkit/spec/op_table.h"

namespace onnxkit::tests::spec_schema_pack {

using namespace spec;

namespace {

constexpr const char* example = R"yaml(
domain: com.example
source: the operators of our accelerator
operators:
  - name: Mix
    since_version: 2
    inputs:
      - {name: x, type: T}
      - {name: gain, type: tensor(float), optional: true}
      - {name: rest, type: Any, variadic: 0, heterogeneous: true}
    outputs:
      - {name: y, type: T}
    attributes:
      mode: {type: string, default: soft, values: [soft, hard]}
      weights: {type: floats, default: [1, 0.5]}
      axes: {type: ints, default: [-1]}
      body: {type: graph, required: true}
      label: {type: string, default: "7"}
    types:
      T: [tensor(float), tensor(float16)]
      Any: [tensor(float), seq(tensor(int64)), "map(int64, float)"]
  - name: Mix
    inputs: [{name: x, type: tensor(float)}]
    outputs: [{name: y, type: tensor(float)}]
    deprecated: true
)yaml";

SchemaPack pack_of(const char* text) {
  auto pack = SchemaPack::from_yaml(text, "pack.yaml");
  REQUIRE_MESSAGE(pack.ok(), (pack.ok() ? "" : pack.error().diagnostic.message));
  return std::move(*pack);
}

/// The message for a pack whose only operator has these lines (the first one is line 4).
std::string fault_of(const std::string& text) {
  const auto pack = SchemaPack::from_yaml(text, "pack.yaml");
  REQUIRE_FALSE(pack.ok());
  CHECK(pack.error().diagnostic.code == "schema-pack");
  CHECK(pack.error().diagnostic.location.file == "pack.yaml");
  return pack.error().diagnostic.message;
}

std::string fault_in_operator(const std::string& lines) {
  return fault_of("domain: d\noperators:\n- name: A\n" + lines);
}

bool same_parameters(const OpSchema& a, std::span<const FormalParameter> x, const OpSchema& b,
                     std::span<const FormalParameter> y) {
  return std::ranges::equal(x, y, [&](const FormalParameter& p, const FormalParameter& q) {
    return p.name == q.name && p.arity == q.arity && p.homogeneous == q.homogeneous && p.min_arity == q.min_arity &&
           a.type_name_of(p) == b.type_name_of(q) && a.types_of(p) == b.types_of(q);
  });
}

}  // namespace

TEST_CASE("a schema pack is read") {
  const SchemaPack pack = pack_of(example);
  CHECK(pack.domain() == "com.example");
  REQUIRE(pack.schemas().size() == 2);
  CHECK(pack.schemas()[0].since_version == 1);
  CHECK(pack.schemas()[0].deprecated);

  const OpSchema& mix = pack.schemas()[1];
  CHECK(mix.name == "Mix");
  CHECK(mix.since_version == 2);
  CHECK(mix.min_inputs == 2);
  CHECK(mix.max_inputs == no_limit);
  CHECK(mix.inputs[1].arity == Arity::optional);
  CHECK(mix.type_name_of(mix.inputs[1]) == "tensor(float)");
  CHECK_FALSE(mix.inputs[2].homogeneous);
  CHECK(contains_map(mix.types_of(mix.inputs[2]), ElementType::int64, ElementType::float32));
  CHECK(mix.has_subgraph);
  CHECK(mix.find_attribute("body")->required);
  CHECK(default_text(*mix.find_attribute("mode")) == "\"soft\"");
  CHECK(default_text(*mix.find_attribute("weights")) == "[1.0, 0.5]");
  CHECK(default_text(*mix.find_attribute("axes")) == "[-1]");
  CHECK(default_text(*mix.find_attribute("label")) == "\"7\"");
}

TEST_CASE("a pack adds to the table and takes precedence, operator by operator") {
  OpTable table;
  table.add(pack_of(example));
  CHECK(table.knows_domain("com.example"));
  CHECK(table.find("com.example", "Mix", 5)->since_version == 2);
  CHECK(table.operators("com.example") == std::vector<std::string_view>{"Mix"});

  table.add(pack_of("domain: ai.onnx\noperators: [{name: Relu, since_version: 3}, {name: Mine}]"));
  CHECK(table.find("", "Relu", 13)->since_version == 3);
  CHECK(table.find("", "Relu", 2) == nullptr);
  CHECK(table.find("ai.onnx", "Mine", 13));
  CHECK(table.find("", "Add", 13)->since_version == 13);

  table.add(pack_of("domain: ''\noperators: [{name: Relu, since_version: 4}]"));
  CHECK(table.find("", "Relu", 13)->since_version == 4);
  const auto names = table.operators("");
  CHECK(std::ranges::count(names, "Relu") == 1);
  CHECK(std::ranges::count(names, "Mine") == 1);
}

TEST_CASE("the YAML of com.microsoft and its compiled-in table say the same") {
  const auto path = std::filesystem::path(ONNXKIT_TESTDATA) / "../libonnxkit/spec/schemas/com.microsoft.yaml";
  const auto pack = SchemaPack::from_file(path);
  REQUIRE_MESSAGE(pack.ok(), (pack.ok() ? "" : pack.error().diagnostic.message));
  const auto tables = builtin_domains();
  const auto table = std::ranges::find(tables, "com.microsoft", &DomainTable::domain);
  REQUIRE(table != tables.end());
  REQUIRE(pack->schemas().size() == table->schemas.size());
  for (std::size_t i = 0; i < table->schemas.size(); ++i) {
    const OpSchema &read = pack->schemas()[i], &compiled = table->schemas[i];
    CAPTURE(compiled.name);
    CHECK(read.name == compiled.name);
    CHECK(read.since_version == compiled.since_version);
    CHECK(read.deprecated == compiled.deprecated);
    CHECK(read.experimental == compiled.experimental);
    CHECK(read.has_subgraph == compiled.has_subgraph);
    CHECK(std::tie(read.min_inputs, read.max_inputs) == std::tie(compiled.min_inputs, compiled.max_inputs));
    CHECK(std::tie(read.min_outputs, read.max_outputs) == std::tie(compiled.min_outputs, compiled.max_outputs));
    CHECK(same_parameters(read, read.inputs, compiled, compiled.inputs));
    CHECK(same_parameters(read, read.outputs, compiled, compiled.outputs));
    CHECK(std::ranges::equal(read.attributes, compiled.attributes));
  }
}

TEST_CASE("what is wrong with a pack is told with its line") {
  CHECK(fault_of("") == "a schema pack must be a mapping with the keys domain, source, operators");
  CHECK(fault_of("domain: d\n") == "line 1: a schema pack requires the key 'operators'");
  CHECK(fault_of("domain: d\noperators: 3\n") == "line 2: 'operators' must be a list");
  CHECK(fault_of("domain: d\nopertors: []\n") ==
        "line 2: a schema pack has no key \"opertors\"; its keys are domain, source, operators");
  CHECK(fault_of("domain: [d]\noperators: []\n") == "line 1: a domain must be a string");
  CHECK(fault_of("domain: d\ndomain: e\noperators: []\n") == "line 2: the key 'domain' is given twice");
  CHECK(fault_of("domain: d\noperators: [\n").starts_with("line 3: not YAML: "));
  CHECK(fault_of("domain: d\noperators:\n- {}\n") == "line 3: an operator requires the key 'name'");
  CHECK(fault_of("domain: d\noperators:\n- name: ''\n") == "line 3: an operator's name must not be empty");
  CHECK(fault_of("domain: d\noperators:\n- name: A\n- name: A\n") == "line 4: version 1 of \"A\" is given twice");
  CHECK(fault_in_operator("  since_version: zero\n") == "line 4: expected a version, found \"zero\"");
  CHECK(fault_in_operator("  since_version: 0\n") == "line 4: versions start at 1");
  CHECK(fault_in_operator("  since_version: 99999999999\n") == "line 4: expected a version, found \"99999999999\"");
  CHECK(fault_in_operator("  deprecated: perhaps\n") == "line 4: expected true or false, found \"perhaps\"");
}

TEST_CASE("what is wrong with inputs, outputs and types of a pack") {
  const std::string inputs = "  inputs:\n  - ";
  CHECK(fault_in_operator(inputs + "{name: x}\n") == "line 5: an input or output requires the key 'type'");
  CHECK(fault_in_operator(inputs + "{name: x, type: T}\n") ==
        "line 5: \"T\" is neither a name under 'types' nor a type like tensor(float)");
  CHECK(fault_in_operator(inputs + "{name: x, type: tensor(float), optional: true, variadic: 1}\n") ==
        "line 5: an input or output is optional or variadic, not both");
  CHECK(fault_in_operator(inputs + "{name: x, type: tensor(float), variadic: -1}\n") ==
        "line 5: -1 is not a valid minimum number of values");
  CHECK(fault_in_operator(inputs + "{name: x, type: tensor(float), heterogeneous: true}\n") ==
        "line 5: only a variadic input or output can be heterogeneous");
  CHECK(
      fault_in_operator(inputs + "{name: x, type: tensor(float), variadic: 1}\n  - {name: y, type: tensor(float)}\n") ==
      "line 6: nothing can follow a variadic one in 'inputs'");
  CHECK(fault_in_operator("  types:\n    T: [tensor(float), float]\n") ==
        "line 5: \"float\" is not a type; write types like tensor(float)");
  CHECK(fault_in_operator("  types:\n    T: []\n") == "line 5: the type constraint \"T\" allows no types");
  CHECK(fault_in_operator("  types: [T]\n") == "line 4: 'types' must be a mapping from names to lists of types");
}

TEST_CASE("what is wrong with attributes of a pack") {
  const std::string attribute = "  attributes:\n    a: ";
  CHECK(fault_in_operator(attribute + "{type: integer}\n") ==
        "line 5: \"integer\" is not an attribute type; use float, int, string, tensor, graph, floats, ...");
  CHECK(fault_in_operator(attribute + "{type: int, required: true, default: 1}\n") ==
        "line 5: a required attribute has no default");
  CHECK(fault_in_operator(attribute + "{type: int, default: '1'}\n") == "line 5: expected an integer, found \"1\"");
  CHECK(fault_in_operator(attribute + "{type: int, default: 1.5}\n") == "line 5: expected an integer, found \"1.5\"");
  CHECK(fault_in_operator(attribute + "{type: floats, default: 1.5}\n") == "line 5: 'default' must be a list");
  CHECK(fault_in_operator(attribute + "{type: tensor, default: 1}\n") ==
        "line 5: an attribute of type tensor cannot have a default here");
  CHECK(fault_in_operator(attribute + "{type: string, default: a, values: [b]}\n") ==
        "line 5: the default \"a\" is not one of the values");
  CHECK(fault_in_operator(attribute + "{type: int, values: [b]}\n") ==
        "line 5: only an attribute of type string or strings can list its values");
  CHECK(fault_in_operator(attribute + "{type: int}\n    a: {type: int}\n") ==
        "line 5: the attribute \"a\" is given twice");
}

TEST_CASE("a hostile pack is refused in time") {
  CHECK(fault_of(std::string(40000, '[')).starts_with("line "));
  std::string aliases = "domain: d\noperators:\n- name: A\n  types:\n    T: &t [tensor(float)";
  for (int i = 0; i < 2000; ++i) aliases += ", tensor(float)";
  aliases += "]\n";
  for (int i = 0; i < 2000; ++i) aliases += "    T" + std::to_string(i) + ": *t\n";
  CHECK(fault_of(aliases).find("more than 1000000 entries") != std::string::npos);
  CHECK(fault_of(std::string((16u << 20) + 1, ' ')) == "more than 16 MiB");
  CHECK_FALSE(SchemaPack::from_file("no/such/file.yaml").ok());
  CHECK_FALSE(SchemaPack::from_file(std::filesystem::temp_directory_path()).ok());
}

}  // namespace onnxkit::tests::spec_schema_pack
