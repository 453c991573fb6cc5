#include "converters/formats/saved_model/graph_writer.h"

#include <doctest/doctest.h>

#include <string>

#include "converters/containers/sorted_table.h"
#include "converters/containers/sorted_table_writer.h"
#include "converters/formats/saved_model/saved_model.h"
#include "converters/formats/saved_model/to_tensorflow.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "tests/unit/support/models.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::saved_model_writer {
namespace {

/// A product with a matrix of 32 by 32, whose elements count up.
std::string product_model() {
  std::string elements;
  for (int i = 0; i < 1024; ++i) elements += (i == 0 ? "" : ", ") + std::to_string(i) + ".5";
  return "<ir_version: 8, opset_import: [\"\" : 17]>\nmain (float[N, 32] x) => (float[N, 32] y) <\n  float[32, 32] w = "
         "{" +
         elements + "}, float[2] unused = {0, 1}\n> {\n  y = MatMul (x, w)\n}\n";
}

void write_files(const saved_model::ModelFiles& files, const TempFolder& folder) {
  put_file(folder / "saved_model.pb", files.model.bytes());
  if (files.index.empty()) return;
  put_file(folder / "variables/variables.index", files.index);
  std::string data;
  for (const auto& bytes : files.data) data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  put_file(folder / "variables/variables.data-00000-of-00001", data);
}

}  // namespace

TEST_CASE("saved_model: weights that one message cannot hold become variables, which are read again") {
  const TempFolder folder;
  ir::Model model = parse_ir(product_model());
  std::vector<Diagnostic> findings;
  const auto program = to_tensorflow::to_tensorflow(model, findings);
  REQUIRE(program.ok());
  constexpr std::uint64_t little = 2048;
  const auto inside = saved_model::model_files(*program), outside = saved_model::model_files(*program, little);
  REQUIRE(inside.ok());
  REQUIRE(outside.ok());
  CHECK(inside->index.empty());
  CHECK(inside->model.size() > 4096);
  CHECK(inside->model.bytes().size() == inside->model.size());
  REQUIRE(outside->data.size() == 1);
  CHECK(outside->data[0].size() == 4096);
  write_files(*outside, folder);
  const auto again = saved_model::read(folder.path(), {}, findings);
  REQUIRE_MESSAGE(again.ok(), (again ? "" : again.error().diagnostic.message));
  REQUIRE(again->graph->initializers.size() == 1);
  const ir::Tensor& weights = again->graph->initializers[0];
  CHECK(weights.dims == std::vector<std::int64_t>{32, 32});
  auto reader = ir::ElementReader::open(weights);
  REQUIRE(reader.has_value());
  std::vector<double> elements(reader->count());
  REQUIRE(reader->read(std::span(elements)) == 1024);
  CHECK(elements[1023] == 1023.5);
}

TEST_CASE("saved_model: names that nodes cannot have are changed, those of the signature stay") {
  const TempFolder folder;
  ir::Model model = parse_ir(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "main (float[2] \"in put:0\", float[2] \"in_put_0\") => (float[2] \"/out\", float[2] same) {\n"
      "  \"/out\" = Add (\"in put:0\", \"in_put_0\")\n  same = Identity (\"in put:0\")\n}\n");
  std::vector<Diagnostic> findings;
  const auto program = to_tensorflow::to_tensorflow(model, findings);
  REQUIRE(program.ok());
  const auto files = saved_model::model_files(*program);
  REQUIRE(files.ok());
  write_files(*files, folder);
  const auto again = saved_model::read(folder.path(), {}, findings);
  REQUIRE_MESSAGE(again.ok(), (again ? "" : again.error().diagnostic.message));
  const ir::Graph& graph = *again->graph;
  REQUIRE(graph.inputs.size() == 2);
  CHECK(graph.name_of(graph.inputs[0].value) == "in put:0");
  CHECK(graph.name_of(graph.inputs[1].value) == "in_put_0");
  REQUIRE(graph.outputs.size() == 2);
  CHECK(graph.name_of(graph.outputs[0].value) == "/out");
  CHECK(graph.name_of(graph.outputs[1].value) == "same");
}

TEST_CASE("sorted table: many entries are read as they were written") {
  containers::SortedTableWriter table;
  containers::SortedEntries expected;
  std::vector<std::string> values;
  for (int i = 0; i < 20000; ++i) values.push_back(std::string(40, static_cast<char>('a' + i % 26)));
  for (int i = 0; i < 20000; ++i) {
    const std::string digits = std::to_string(i), key = "layer/" + std::string(6 - digits.size(), '0') + digits;
    table.add(key, values[static_cast<std::size_t>(i)]);
    expected.emplace_back(key, values[static_cast<std::size_t>(i)]);
  }
  const std::string file = table.finish();
  const auto entries = containers::read_sorted_table(file);
  REQUIRE_MESSAGE(entries.ok(), (entries ? "" : entries.error().diagnostic.message));
  CHECK(*entries == expected);
  const std::string empty = containers::SortedTableWriter().finish();
  const auto none = containers::read_sorted_table(empty);
  REQUIRE(none.ok());
  CHECK(none->empty());
}

}  // namespace onnxkit::tests::saved_model_writer
