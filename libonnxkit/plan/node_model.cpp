#include "libonnxkit/plan/node_model.h"

#include <algorithm>

namespace onnxkit::plan {

ir::Part part_of_node(const Subject& subject, std::size_t node) {
  ir::Part part;
  part.nodes = {node};
  part.reads.assign(subject.graph().values.size(), false);
  for (const ir::ValueId id : subject.uses().reads(node)) {
    part.reads[ir::index_of(id)] = true;
    if (!subject.is_constant(id)) part.inputs.push_back(id);
  }
  std::sort(part.inputs.begin(), part.inputs.end());
  part.inputs.erase(std::unique(part.inputs.begin(), part.inputs.end()), part.inputs.end());
  return part;
}

ir::Model part_model(const Subject& subject, const ir::Part& part, const std::vector<ir::ValueId>& outputs) {
  ir::Model model = ir::extract(subject.model(), part, outputs);
  const auto declare = [&](ir::ValueInfo& port) {
    const ir::ValueId id = subject.graph().find(model.graph->name_of(port.value));
    if (id == ir::ValueId::none) return;
    port.type = checker::to_declared(subject.info(id).type, subject.dim_pool(),
                                     [&](const std::string& text) { return model.keep(text); });
  };
  for (ir::ValueInfo& input : model.graph->inputs) declare(input);
  for (ir::ValueInfo& output : model.graph->outputs) declare(output);
  return model;
}

}  // namespace onnxkit::plan
