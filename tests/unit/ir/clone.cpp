#include "libonnxkit/ir/clone.h"

#include <doctest/doctest.h>

#include <optional>
#include <thread>

#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "onnx.pb.h"
#include "tests/unit/wire/fill.h"

namespace onnxkit::tests::ir_clone {
namespace {

ir::Model read(std::string bytes) {
  auto model = wire::read_binary(MappedFile::from_bytes(std::move(bytes)));
  REQUIRE(model.ok());
  return *std::move(model);
}

}  // namespace

TEST_CASE("clone: a model with every field of the schema set comes out byte by byte, the original being gone") {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    onnx::ModelProto proto;
    std::uint32_t state = seed;
    fill(proto, 5, state);
    const std::string expected = proto.SerializeAsString();
    std::optional<ir::Model> original = read(expected);
    original->path = "somewhere.onnx";
    original->producer_name = original->keep("kept in the pool");
    const std::string with_kept = wire::to_bytes(*original);
    REQUIRE(with_kept != expected);
    const ir::Model copy = ir::clone(*original);
    const ir::Model second = ir::clone(copy);
    original.reset();
    CHECK(wire::to_bytes(copy) == with_kept);
    CHECK(wire::to_bytes(second) == with_kept);
    CHECK(copy.path == "somewhere.onnx");
  }
}

TEST_CASE("clone: names are found in the copy, and changes of one do not show in the other") {
  ir::Model model;
  model.graph = std::make_unique<ir::Graph>();
  const ir::ValueId x = model.graph->intern(model.keep("x"));
  model.graph->nodes.emplace_back().inputs = {x};
  ir::Model copy = ir::clone(model);
  CHECK(copy.graph->find("x") == x);
  CHECK(copy.graph->rename(x, copy.keep("renamed")));
  copy.graph->nodes[0].inputs.clear();
  CHECK(model.graph->name_of(x) == "x");
  CHECK(model.graph->nodes[0].inputs.size() == 1);
  CHECK(copy.graph->find("x") == ir::ValueId::none);
  CHECK(copy.graph->find("renamed") == x);
}

TEST_CASE("clone: weights are shared, and kept alive by the copy") {
  onnx::ModelProto proto;
  auto* weight = proto.mutable_graph()->add_initializer();
  weight->set_raw_data(std::string(1 << 16, 'w'));
  std::optional<ir::Model> model = read(proto.SerializeAsString());
  const char* bytes = model->graph->initializers[0].raw_data.view().data();
  const ir::Model copy = ir::clone(*model);
  CHECK(copy.graph->initializers[0].raw_data.view().data() == bytes);
  model.reset();
  CHECK(copy.graph->initializers[0].raw_data.view() == std::string(1 << 16, 'w'));
}

TEST_CASE("clone: original and copies keep text in different threads") {
  ir::Model model;
  model.graph = std::make_unique<ir::Graph>();
  model.graph->name = model.keep("shared");
  constexpr int many = 20'000;
  const auto fill = [](ir::Model& own, const std::string& word) {
    for (int i = 0; i < many; ++i) own.graph->intern(own.keep(word + std::to_string(i)));
  };
  ir::Model copy = ir::clone(model);
  CHECK(copy.strings != model.strings);
  std::thread other(fill, std::ref(copy), "copy");
  fill(model, "own");
  other.join();
  CHECK(model.graph->values.size() == many);
  CHECK(copy.graph->name_of(ir::ValueId{many - 1}) == "copy" + std::to_string(many - 1));
  CHECK(model.graph->name_of(ir::ValueId{many - 1}) == "own" + std::to_string(many - 1));
  CHECK(copy.graph->name == "shared");
}

TEST_CASE("share_storage: parts of a model live on in another that has text of its own") {
  ir::Model model;
  model.doc_string = model.keep("own text");
  {
    ir::Model from;
    ir::Node node;
    node.name = from.keep("from elsewhere");
    model.graph = std::make_unique<ir::Graph>();
    model.graph->nodes.push_back(ir::clone(node));
    ir::share_storage(model, from);
  }
  CHECK(model.graph->nodes[0].name == "from elsewhere");
  CHECK(model.doc_string == "own text");
}

}  // namespace onnxkit::tests::ir_clone
