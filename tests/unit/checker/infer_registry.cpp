#include "checker/infer/infer_registry.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "libonnxkit/spec/op_table.h"

namespace onnxkit::tests::checker_infer_registry {

TEST_CASE("every operator version of the official table has an inference function") {
  std::string missing;
  for (const spec::OpSchema& schema : spec::official_schemas()) {
    if (checker::infer_registry().find(schema.domain, schema.name, schema.since_version)) continue;
    missing += std::string(schema.name) + "-" + std::to_string(schema.since_version) + " ";
  }
  CHECK(missing == "");
}

namespace {

/// What schemas call the integer attributes that hold the number of an element type; they say it in prose only.
bool is_named_as_type(std::string_view name) {
  return name == "to" || name == "stash_type" || name == "output_datatype" || name.ends_with("dtype") ||
         name.ends_with("precision");
}

bool is_type_attribute(const checker::InferTraits& traits, std::string_view name) {
  return std::any_of(traits.type_attributes.begin(), traits.type_attributes.end(),
                     [name](const char* known) { return known && name == known; });
}

}  // namespace

TEST_CASE("attributes that hold an element type are known for every operator of ONNX") {
  for (const spec::OpSchema& schema : spec::official_schemas()) {
    const auto& traits = checker::infer_registry().traits(schema.domain, schema.name, schema.since_version);
    for (const spec::AttributeSchema& attribute : schema.attributes) {
      if (attribute.type != spec::AttributeType::integer) continue;
      CAPTURE(schema.name);
      CAPTURE(schema.since_version);
      CAPTURE(attribute.name);
      CHECK(is_named_as_type(attribute.name) == is_type_attribute(traits, attribute.name));
    }
  }
}

}  // namespace onnxkit::tests::checker_infer_registry
