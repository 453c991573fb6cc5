#include "libonnxkit/ir/patch.h"

#include "libonnxkit/ir/builder.h"
#include "libonnxkit/wire/binary/writer.h"
#include "tests/unit/support/models.h"

namespace onnxkit::tests::ir_patch {

using ir::Patch;
using ir::ValueId;
using Names = std::vector<std::string>;

namespace {

constexpr const char* chain = R"(
g (float[2] x) => (float[2] y) <float[2] w = {1, 2}>
{ p = Relu (x)
  q = Relu (p)
  r = Add (q, w)
  y = Neg (r) })";

std::string fault(const Patch& patch, const Patch::Agree& agree = nullptr) {
  return patch.check(ir::Uses(patch.graph()), agree).value_or("");
}

/// The second of two equal operators in a row goes.
Patch without_second_relu(const ir::Graph& graph) {
  Patch patch(graph);
  patch.remove(1);
  patch.replace_value(graph.find("q"), graph.find("p"));
  return patch;
}

/// Neg becomes Sub from a constant.
Patch subtracting(ir::Model& model, ir::FreshNames& names) {
  ir::Graph& graph = *model.graph;
  Patch patch(graph);
  const ValueId zero = patch.value(names.make("y_zero"));
  patch.add_initializer(zero, ir::make_tensor(model, std::vector<float>{0, 0}));
  const ValueId shifted = patch.value(names.make("y_shifted"));
  patch.remove(3);
  patch.insert_before(3, ir::make_node(model, "Identity", {graph.find("r")}, {shifted}));
  patch.insert_behind(3, ir::make_node(model, "Sub", {zero, shifted}, {graph.find("y")}));
  return patch;
}

}  // namespace

TEST_CASE("patch: the graph is as it was until the patch is spliced in") {
  ir::Model model = parse_graph(chain);
  const std::string before = wire::to_bytes(model);
  const Patch patch = without_second_relu(*model.graph);
  CHECK(fault(patch).empty());
  CHECK_FALSE(patch.empty());
  CHECK(Patch(*model.graph).empty());
  CHECK(wire::to_bytes(model) == before);
}

TEST_CASE("patch: what read a replaced value reads the other") {
  ir::Model model = parse_graph(chain);
  ir::Graph& graph = *model.graph;
  const ir::Splice done = ir::splice(graph, without_second_relu(graph));
  CHECK(ops_of(graph) == Names{"Relu", "Add", "Neg"});
  CHECK(names_of(graph, graph.nodes[1].inputs) == Names{"p", "w"});
  CHECK(done.origin == std::vector<std::size_t>{0, 2, 3});
  CHECK(done.changed == std::vector<std::size_t>{1});
  REQUIRE(done.removed.size() == 1);
  CHECK(done.removed[0].outputs[0] == graph.find("q"));
}

TEST_CASE("patch: new nodes stand where they were put, and take over the name of the node that goes") {
  ir::Model model = parse_graph(chain);
  ir::Graph& graph = *model.graph;
  graph.nodes[3].name = "last";
  graph.nodes[3].doc_string = "what it is for";
  ir::FreshNames names(model);
  Patch patch = subtracting(model, names);
  CHECK(fault(patch).empty());
  const ir::Splice done = ir::splice(graph, std::move(patch));
  CHECK(ops_of(graph) == Names{"Relu", "Relu", "Add", "Identity", "Sub"});
  CHECK(graph.nodes[4].name == "last");
  CHECK(graph.nodes[4].doc_string == "what it is for");
  CHECK(names_of(graph, graph.nodes[4].inputs) == Names{"y_zero", "y_shifted"});
  CHECK(graph.initializers.back().name == "y_zero");
  CHECK(done.origin == std::vector<std::size_t>{0, 1, 2, 3, 3});
  CHECK(done.changed == std::vector<std::size_t>{3, 4});
}

TEST_CASE("patch: undo puts back nodes, initializers, declarations and names") {
  for (const bool replaces : {true, false}) {
    CAPTURE(replaces);
    ir::Model model = parse_graph(chain);
    ir::Graph& graph = *model.graph;
    ir::ValueInfo& info = graph.value_infos.emplace_back();
    info.value = graph.find("q");
    info.type.emplace().kind = ir::DeclaredType::Kind::tensor;
    const std::string before = wire::to_bytes(model);
    ir::FreshNames names(model);
    Patch patch = replaces ? without_second_relu(graph) : subtracting(model, names);
    if (!replaces) patch.drop_initializer(graph.find("w"));
    ir::Splice done = ir::splice(graph, std::move(patch), ir::Undoable::yes);
    CHECK(wire::to_bytes(model) != before);
    ir::undo(graph, std::move(done));
    CHECK(wire::to_bytes(model) == before);
    CHECK(graph.find("y_zero") == ValueId::none);
    CHECK(graph.find("q") != ValueId::none);
  }
}

TEST_CASE("patch: edits and other inputs and outputs of a node") {
  ir::Model model = parse_graph(chain);
  ir::Graph& graph = *model.graph;
  Patch patch(graph);
  const ValueId made = patch.value("r_before", ir::DeclaredType());
  patch.set_inputs(2, {graph.find("w"), graph.find("p")});
  patch.set_outputs(2, {made});
  patch.edit(2, [](ir::Node& node, std::vector<ir::Node>& inserted) {
    node.op_type = "Mul";
    inserted[0].name = "named by hand";
  });
  patch.insert_behind(2, ir::make_node(model, "Abs", {made}, {graph.find("r")}));
  CHECK(fault(patch).empty());
  ir::splice(graph, std::move(patch));
  CHECK(ops_of(graph) == Names{"Relu", "Relu", "Mul", "Abs", "Neg"});
  CHECK(names_of(graph, graph.nodes[2].inputs) == Names{"w", "p"});
  CHECK(graph.nodes[3].name == "named by hand");
  REQUIRE(graph.value_infos.size() == 1);
  CHECK(graph.name_of(graph.value_infos[0].value) == "r_before");
}

TEST_CASE("patch: nodes go to the end of a graph") {
  ir::Model model = parse_graph("g (float[2] x) => (float[2] x) {}");
  Patch patch(*model.graph);
  const ValueId made = patch.value("made");
  patch.insert_before(0, ir::make_node(model, "Relu", {model.graph->find("x")}, {made}));
  CHECK(fault(patch).empty());
  ir::splice(*model.graph, std::move(patch));
  CHECK(ops_of(*model.graph) == Names{"Relu"});
}

TEST_CASE("patch: what does not fit is refused") {
  ir::Model model = parse_graph(chain);
  ir::Graph& graph = *model.graph;
  SUBCASE("a name that is taken") {
    Patch patch(graph);
    (void)patch.value("q");
    CHECK(fault(patch) == "the name \"q\" is taken");
  }
  SUBCASE("one name for two new values") {
    Patch patch(graph);
    (void)patch.value("new");
    (void)patch.value("new");
    CHECK(fault(patch) == "the name \"new\" is taken");
  }
  SUBCASE("a value that is read still") {
    Patch patch(graph);
    patch.remove(1);
    CHECK(fault(patch) == "nothing writes \"q\"");
  }
  SUBCASE("an output that nothing writes") {
    Patch patch(graph);
    patch.remove(3);
    CHECK(fault(patch) == "nothing writes the output \"y\"");
  }
  SUBCASE("a new value without a producer") {
    Patch patch(graph);
    const ValueId made = patch.value("made");
    patch.insert_before(0, ir::make_node(model, "Relu", {made}, {}));
    CHECK(fault(patch) == "nothing writes \"made\"");
  }
  SUBCASE("a new value without a producer in place of another") {
    Patch patch(graph);
    patch.replace_value(graph.find("q"), patch.value("made"));
    CHECK(fault(patch) == "nothing writes \"made\"");
  }
  SUBCASE("a value that two nodes write") {
    Patch patch(graph);
    patch.insert_before(3, ir::make_node(model, "Relu", {graph.find("x")}, {graph.find("p")}));
    CHECK(fault(patch) == "\"p\" is written twice");
  }
  SUBCASE("an initializer that is read still") {
    Patch patch(graph);
    patch.drop_initializer(graph.find("w"));
    CHECK(fault(patch) == "nothing writes \"w\"");
  }
  SUBCASE("an output under another name") {
    Patch patch(graph);
    patch.replace_value(graph.find("y"), graph.find("r"));
    CHECK(fault(patch) == "\"y\" is an output of the graph");
  }
  SUBCASE("a value of another type") {
    Patch patch = without_second_relu(graph);
    const auto differs = [&](ValueId old, ValueId by, const ir::DeclaredType* made) -> std::optional<std::string> {
      CHECK(graph.name_of(old) == "q");
      CHECK(graph.name_of(by) == "p");
      CHECK(made == nullptr);
      return "float is not int64";
    };
    CHECK(fault(patch, differs) == "\"p\" cannot stand for \"q\": float is not int64");
  }
}

TEST_CASE("patch: values stand for each other in the order in which that was said") {
  ir::Model model = parse_graph(R"(
g (float[2] x, bool c) => (float[2] y)
{ p = Relu (x)
  q = Abs (p)
  r = Neg (q)
  s = Add (r, q)
  y = If (c) <then_branch = a () => (float[2] t) { t = Mul (r, s) },
              else_branch = b () => (float[2] v) { q = Exp (x)
                                                  v = Mul (q, r) }> })");
  ir::Graph& graph = *model.graph;
  Patch patch(graph);
  patch.replace_value(graph.find("r"), graph.find("q"));
  patch.replace_value(graph.find("q"), graph.find("p"));
  patch.replace_value(graph.find("p"), graph.find("x"));
  const ir::Splice done = ir::splice(graph, std::move(patch));
  CHECK(names_of(graph, graph.nodes[1].inputs) == Names{"x"});
  CHECK(names_of(graph, graph.nodes[3].inputs) == Names{"x", "x"});
  const ir::Graph* then_branch = graph.nodes[4].find_attribute("then_branch")->graph();
  const ir::Graph* else_branch = graph.nodes[4].find_attribute("else_branch")->graph();
  CHECK(names_of(*then_branch, then_branch->nodes[0].inputs) == Names{"x", "s"});
  CHECK(names_of(*else_branch, else_branch->nodes[1].inputs) == Names{"q", "x"});
  CHECK(done.changed == std::vector<std::size_t>{1, 2, 3, 4});
}

TEST_CASE("patch: subgraphs read the other value, too, unless they have one of that name") {
  ir::Model model = parse_graph(R"(
g (float[2] x, bool c) => (float[2] y)
{ p = Relu (x)
  q = Relu (p)
  y = If (c) <then_branch = a () => (float[2] t) { t = Abs (q) },
              else_branch = b () => (float[2] q) { q = Neg (x) }> })");
  ir::Graph& graph = *model.graph;
  Patch patch = without_second_relu(graph);
  CHECK(fault(patch).empty());
  const ir::Graph* then_branch = graph.nodes[2].find_attribute("then_branch")->graph();
  const ir::Graph* else_branch = graph.nodes[2].find_attribute("else_branch")->graph();
  const ir::Splice done = ir::splice(graph, std::move(patch));
  CHECK(then_branch == graph.nodes[1].find_attribute("then_branch")->graph());
  CHECK(names_of(*then_branch, then_branch->nodes[0].inputs) == Names{"p"});
  CHECK(names_of(*else_branch, else_branch->nodes[0].outputs) == Names{"q"});
  CHECK(done.changed == std::vector<std::size_t>{1});
}

TEST_CASE("patch: other names, another order and declarations, and back") {
  ir::Model model = parse_graph(R"(
g (float[2] x, bool c) => (float[2] y)
{ y = If (c) <then_branch = a () => (float[2] t) { t = Abs (p) },
              else_branch = b () => (float[2] p) { p = Neg (x) }>
  p = Relu (x) })");
  ir::Graph& graph = *model.graph;
  ir::TensorAnnotation& annotation = graph.quantization_annotations.emplace_back();
  annotation.tensor_name = "p";
  annotation.quant_parameter_tensor_names.push_back({"SCALE_TENSOR", "p", {}});
  const std::string before = wire::to_bytes(model);
  ir::DeclaredType type;
  type.kind = ir::DeclaredType::Kind::tensor;
  type.elem_type = 1;
  Patch patch(graph);
  patch.rename(graph.find("p"), "positive");
  patch.reorder({1, 0});
  patch.declare(graph.find("p"), std::move(type));
  patch.declare_output(0, ir::DeclaredType());
  CHECK(fault(patch).empty());
  CHECK_FALSE(patch.empty());
  ir::Splice done = ir::splice(graph, std::move(patch), ir::Undoable::yes);
  CHECK(ops_of(graph) == Names{"Relu", "If"});
  CHECK(done.origin == std::vector<std::size_t>{1, 0});
  const ir::Graph* then_branch = graph.nodes[1].find_attribute("then_branch")->graph();
  const ir::Graph* else_branch = graph.nodes[1].find_attribute("else_branch")->graph();
  CHECK(names_of(graph, graph.nodes[0].outputs) == Names{"positive"});
  CHECK(names_of(*then_branch, then_branch->nodes[0].inputs) == Names{"positive"});
  CHECK(names_of(*else_branch, else_branch->nodes[0].outputs) == Names{"p"});
  REQUIRE(graph.value_infos.size() == 1);
  CHECK(graph.name_of(graph.value_infos[0].value) == "positive");
  CHECK(graph.outputs[0].type->kind == ir::DeclaredType::Kind::none);
  CHECK(graph.quantization_annotations[0].tensor_name == "positive");
  CHECK(graph.quantization_annotations[0].quant_parameter_tensor_names[0].value == "positive");
  ir::undo(graph, std::move(done));
  CHECK(wire::to_bytes(model) == before);
}

TEST_CASE("patch: an order that is none, and a name that is taken") {
  ir::Model model = parse_graph(chain);
  const ir::Graph& graph = *model.graph;
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0}, {0, 1, 2, 2}, {0, 1, 2, 7}, {3, 2, 1, 0}}) {
    Patch patch(graph);
    patch.reorder(order);
    CHECK(fault(patch).empty() == (order.front() == 3));
    patch.remove(3);
    CHECK_FALSE(fault(patch).empty());
  }
  Patch patch(graph);
  patch.rename(graph.find("p"), "q");
  CHECK(fault(patch) == "the name \"q\" is taken");
}

}  // namespace onnxkit::tests::ir_patch
