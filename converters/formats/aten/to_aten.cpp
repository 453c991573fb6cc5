#include "converters/formats/aten/writers.h"
#include "converters/formats/pt2/program_writer.h"
#include "converters/formats/pt2/pt2.h"
#include "converters/legalize/legalize.h"

namespace onnxkit::aten {

void register_all_aten_writers(Writers& writers);

namespace {

/// Graph outputs of torch.export are results of nodes, each once; of bodies too.
void copy_outputs(foreign::Graph& graph) {
  std::vector<bool> is_taken(graph.values.size(), true);
  for (const foreign::Node& node : graph.nodes)
    for (const foreign::ValueId output : node.outputs)
      if (output != foreign::ValueId::none) is_taken[index_of(output)] = false;
  for (foreign::Output& output : graph.outputs) {
    if (!is_taken[index_of(output.value)]) {
      is_taken[index_of(output.value)] = true;
      continue;
    }
    const foreign::Value& source = graph.values[index_of(output.value)];
    const foreign::ValueId copy = graph.add_value(output.name, source.type);
    foreign::Node& node = graph.nodes.emplace_back();
    node.op = "aten.clone.default";
    foreign::Argument& self = node.arguments.emplace_back();
    self.name = "self";
    self.content = output.value;
    node.outputs = {copy};
    output.value = copy;
  }
  for (const foreign::Node& node : graph.nodes)
    for (const foreign::Argument& argument : node.arguments)
      if (const auto* body = argument.as<std::unique_ptr<foreign::Graph>>()) copy_outputs(**body);
}

}  // namespace

Result<foreign::Model> to_aten(ir::Model& model, std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  Writers writers;
  register_all_aten_writers(writers);
  const foreign::NodePlaces places(model);
  if (auto legal = legalize::bring_to(model, write_opset, writers, findings); !legal) return std::move(legal).error();
  legalize::compose(model, [&](std::string_view op) { return !writers.find(op) && !writers.refusal(op); });
  writers.refuse({"RoiAlign"},  // that could not be composed
                 {"the number of its samples depends on the size of each region", "set its sampling_ratio, to 2 say"});
  auto program = foreign::export_model(model, writers, "PyTorch", findings, &places, trace);
  if (program) copy_outputs(program->graph);
  if (program && trace) foreign::add_results(program->graph, *trace);
  return program;
}

foreign::WrittenOperators written_operators() {
  Writers writers;
  register_all_aten_writers(writers);
  return {"PyTorch", write_opset, writers.names()};
}

}  // namespace onnxkit::aten
