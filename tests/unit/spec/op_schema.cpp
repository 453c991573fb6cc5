#include "libonnxkit/spec/op_schema.h"

#include <doctest/doctest.h>

#include "libonnxkit/spec/op_table.h"

namespace onnxkit::tests::spec_op_schema {

using namespace spec;

TEST_CASE("types are spelled as ONNX spells them, and read back") {
  for (const OpSchema& schema : official_schemas())
    for (const TypeConstraint& constraint : schema.constraints) {
      TypeSet read_back;
      for (const std::string& text : type_strings(constraint.allowed)) {
        const auto one = type_named(text);
        REQUIRE_MESSAGE(one, text);
        CHECK(type_strings(*one) == std::vector{text});
        read_back = united(read_back, *one);
      }
      CHECK(read_back == constraint.allowed);
    }
}

TEST_CASE("type_named takes one type and nothing else") {
  const auto both = type_named("tensor(float)");
  REQUIRE(both);
  CHECK(contains(*both, TypeForm::tensor, ElementType::float32));
  CHECK(type_named("map(int64, float)") == type_named("map(int64,tensor(float))"));
  CHECK(type_strings(*type_named("seq(map(string, tensor(float)))")).front() == "seq(map(string,tensor(float)))");
  CHECK(contains(*type_named("optional(seq(tensor(bfloat16)))"), TypeForm::optional_sequence, ElementType::bfloat16));
  CHECK(contains(*type_named("sparse_tensor(double)"), TypeForm::sparse, ElementType::float64));
  for (const char* bad : {"", "float", "tensor", "tensor()", "tensor(float", "tensor(quaternion)", "seq(float)",
                          "map(float,int64)", "map(int64)", "map(,)", "seq(seq(tensor(float)))", "tensor(undefined)"})
    CHECK_MESSAGE(!type_named(bad), bad);
}

TEST_CASE("a type set tells what it holds") {
  const TypeSet set =
      united(united(*type_named("tensor(int4)"), *type_named("seq(tensor(string))")), *type_named("map(int64,string)"));
  CHECK(contains(set, TypeForm::tensor, ElementType::int4));
  CHECK_FALSE(contains(set, TypeForm::tensor, ElementType::string));
  CHECK(contains(set, TypeForm::sequence, ElementType::string));
  CHECK_FALSE(contains(set, TypeForm::optional, ElementType::string));
  CHECK(contains_map(set, ElementType::int64, ElementType::string));
  CHECK_FALSE(contains_map(set, ElementType::string, ElementType::string));
  CHECK_FALSE(contains_sequence_of_map(set, ElementType::int64, ElementType::string));
  CHECK_FALSE(contains(set, TypeForm::tensor, ElementType::undefined));
  CHECK_FALSE(contains(set, TypeForm::tensor, static_cast<ElementType>(77)));
  CHECK(without(set, *type_named("tensor(int4)")) ==
        united(*type_named("seq(tensor(string))"), *type_named("map(int64,string)")));
  CHECK(without(set, set).empty());
}

TEST_CASE("describe lists types and counts what it leaves out") {
  const OpTable table;
  const OpSchema& relu = *table.find("", "Relu", 14);
  const TypeSet& types = relu.types_of(relu.inputs[0]);
  CHECK(describe(types, 2) == "float, int8 and 6 more");
  CHECK(describe(types, 8) == describe(types));
  CHECK(describe(united(*type_named("tensor(int64)"), *type_named("seq(map(string,tensor(float)))"))) ==
        "int64, seq(map(string, float))");
  CHECK(describe(TypeSet{}) == "no type");
}

TEST_CASE("attribute types have the names of the ONNX text syntax") {
  for (int number = 1; number <= 14; ++number) {
    const auto type = static_cast<AttributeType>(number);
    CHECK(attribute_type_named(name_of(type)) == type);
  }
  CHECK(name_of(static_cast<AttributeType>(99)) == "undefined");
  CHECK_FALSE(attribute_type_named("undefined"));
  CHECK_FALSE(attribute_type_named("integer"));
}

TEST_CASE("defaults are printed as ONNX text writes them") {
  const OpTable table;
  const auto text = [&](const char* name, int opset, const char* attribute, const char* domain = "") {
    const AttributeSchema* found = table.find(domain, name, opset)->find_attribute(attribute);
    REQUIRE(found);
    return default_text(*found);
  };
  CHECK(text("BatchNormalization", 15, "epsilon") == "1e-05");
  CHECK(text("Elu", 6, "alpha") == "1.0");
  CHECK(text("Softmax", 13, "axis") == "-1");
  CHECK(text("Resize", 19, "mode") == "\"nearest\"");
  CHECK(text("MeanVarianceNormalization", 13, "axes") == "[0, 2, 3]");
  CHECK(text("RNN", 14, "activations") == "[\"Tanh\", \"Tanh\"]");
  CHECK(text("Conv", 11, "strides") == "");
  CHECK(text("Attention", 1, "unidirectional", "com.microsoft") == "0");
}

TEST_CASE("actual inputs find their formal parameter") {
  const OpTable table;
  const OpSchema& concat = *table.find("", "Concat", 13);
  CHECK(concat.min_inputs == 1);
  CHECK(concat.max_inputs == no_limit);
  CHECK(concat.input_at(500)->name == "inputs");
  CHECK(concat.output_at(1) == nullptr);

  const OpSchema& loop = *table.find("", "Loop", 16);
  CHECK(loop.min_inputs == 2);
  CHECK(loop.input_at(0)->arity == Arity::optional);
  CHECK(loop.input_at(7)->name == "v_initial");
  CHECK(loop.input_at(7)->min_arity == 0);
  CHECK_FALSE(loop.input_at(7)->homogeneous);

  const OpSchema& constant = *table.find("", "Constant", 13);
  CHECK(constant.max_inputs == 0);
  CHECK(constant.input_at(0) == nullptr);

  const OpSchema& conv = *table.find("", "Conv", 11);
  CHECK(conv.min_inputs == 2);
  CHECK(conv.max_inputs == 3);
  CHECK(conv.type_name_of(*conv.input_at(2)) == "T");
  CHECK(conv.input_at(3) == nullptr);
}

}  // namespace onnxkit::tests::spec_op_schema
