#include "libonnxkit/ir/builder.h"

#include "libonnxkit/ir/tensor/tensor_data.h"
#include "tests/unit/support/models.h"

namespace onnxkit::tests::ir_builder {

TEST_CASE("fresh names: new to every graph of the model, and to what was made before") {
  ir::Model model = parse_graph(R"(
g (float[2] x, bool c) => (float[2] y)
{ y = If (c) <then_branch = a () => (float[2] t) { t = Relu (x) }, else_branch = b () => (float[2] e) { e = Abs (x) }> })");
  model.functions.emplace_back().body.intern("inner");
  ir::FreshNames names(model);
  CHECK(names.make("new") == "new");
  CHECK(names.make("new") == "new_2");
  CHECK(names.make("x") == "x_2");
  CHECK(names.make("t") == "t_2");
  CHECK(names.make("inner") == "inner_2");
  CHECK(names.make("x") == "x_3");
}

TEST_CASE("builder: nodes with attributes of every kind") {
  ir::Model model;
  std::string op = "Made";
  ir::Node node = ir::make_node(model, op, {ir::ValueId{1}, ir::ValueId::none}, {ir::ValueId{2}},
                                {{"i", std::int64_t{3}},
                                 {"f", 0.5F},
                                 {"s", std::string("text")},
                                 {"is", std::vector<std::int64_t>{1, 2}},
                                 {"fs", std::vector<float>{1, 2}},
                                 {"ss", std::vector<std::string>{"a", "b"}}});
  node.attributes.push_back(ir::make_attribute(model, "t", ir::make_tensor(model, std::vector<std::int64_t>{7, 8})));
  node.attributes.push_back(ir::make_attribute(model, "g", std::make_unique<ir::Graph>()));
  op = "gone";
  CHECK(node.op_type == "Made");
  CHECK(node.inputs.size() == 2);
  std::vector<std::int32_t> types;
  for (const ir::Attribute& attribute : node.attributes) types.push_back(attribute.type.value_or(0));
  CHECK(types == std::vector<std::int32_t>{2, 1, 3, 7, 6, 8, 4, 5});
  CHECK(*node.find_attribute("s")->as<Text>() == "text");
  CHECK(node.find_attribute("ss")->as<std::vector<Text>>()->at(1) == "b");
  const ir::Tensor& tensor = *node.find_attribute("t")->tensor();
  CHECK(tensor.dims == std::vector<std::int64_t>{2});
  CHECK(ir::read_integers(tensor, 2) == std::vector<std::int64_t>{7, 8});
  CHECK(node.find_attribute("g")->graph() != nullptr);
}

TEST_CASE("builder: floats lie as in raw_data") {
  ir::Model model;
  const ir::Tensor tensor = ir::make_tensor(model, std::vector<float>{1.5F, -2});
  CHECK(ir::element_type_of(tensor) == ElementType::float32);
  CHECK(ir::read_reals(tensor, 2) == std::vector<double>{1.5, -2});
}

}  // namespace onnxkit::tests::ir_builder
