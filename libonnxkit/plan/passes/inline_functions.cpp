// Calls of model-local functions become the nodes of their bodies, so that other passes and lowerings see operators. A function stays a call where its
// body holds graphs of its own, or imports another version of a domain than the model.
#include <algorithm>
#include <unordered_map>

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"
#include "libonnxkit/spec/function_index.h"
#include "libonnxkit/spec/node_attributes.h"

namespace onnxkit::plan {
namespace {

constexpr std::size_t most_inlined_nodes = 100'000;  // calls may nest exponentially
constexpr int deepest_call = 64;

bool imports_the_same(const ir::Function& function, const ir::Model& model) {
  return std::all_of(function.opset_imports.begin(), function.opset_imports.end(), [&](const ir::OpsetImport& import) {
    return ir::opset_of(model.opset_imports, ir::canonical_domain(import.domain)) == import.version;
  });
}

/// Every node may stand in another graph: it has no graphs of its own, and reads and writes only what the function does.
bool may_inline(const ir::Function& function, const ir::Node& call, const ir::Model& model) {
  const ir::Graph& body = function.body;
  if (!body.initializers.empty() || !body.sparse_initializers.empty() || !imports_the_same(function, model))
    return false;
  if (call.inputs.size() > body.inputs.size() || call.outputs.size() > body.outputs.size()) return false;
  if (std::any_of(body.nodes.begin(), body.nodes.end(), has_body)) return false;
  const auto has_graphs = [](const spec::AttributeBindings& bindings) {
    return std::any_of(bindings.begin(), bindings.end(), [](const auto& bound) { return bound.second->graph(); });
  };
  if (has_graphs(spec::bind_attributes(function, call, nullptr))) return false;
  // A parameter that is an output as well, or an output twice, would need a copy.
  std::vector<ir::ValueId> seen;
  for (const auto* ports : {&body.inputs, &body.outputs}) {
    for (const ir::ValueInfo& port : *ports) {
      if (std::find(seen.begin(), seen.end(), port.value) != seen.end()) return false;
      seen.push_back(port.value);
    }
  }
  return true;
}

class Inlining {
 public:
  explicit Inlining(Subject& subject) : subject_(subject), functions_(subject.model()), patch_(subject.graph()) {}

  std::size_t run(std::size_t most_nodes) {
    const ir::Graph& graph = subject_.graph();
    for (std::size_t at = 0; at < graph.nodes.size() && inlined_ < most_nodes; ++at) {
      const ir::Function* function = functions_.find(graph.nodes[at]);
      if (function && may_inline(*function, graph.nodes[at], subject_.model())) inline_call(at, *function);
    }
    if (!patch_.empty()) subject_.splice(std::move(patch_));
    return inlined_;
  }

 private:
  void inline_call(std::size_t at, const ir::Function& function) {
    const ir::Node& call = subject_.graph().nodes[at];
    const ir::Graph& body = function.body;
    const auto bindings = spec::bind_attributes(function, call, nullptr);
    std::unordered_map<std::uint32_t, ir::ValueId> ids;
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      ids[ir::index_of(body.inputs[i].value)] = i < call.inputs.size() ? call.inputs[i] : ir::ValueId::none;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.outputs[i] != ir::ValueId::none) ids[ir::index_of(body.outputs[i].value)] = call.outputs[i];
    }
    const auto here = [&](ir::ValueId id) {
      if (id == ir::ValueId::none) return id;
      const auto [known, is_new] = ids.try_emplace(ir::index_of(id), ir::ValueId::none);
      if (is_new) known->second = patch_.value(subject_.fresh_name(body.name_of(id)));
      return known->second;
    };
    patch_.remove(at);
    for (const ir::Node& node : body.nodes) {
      ir::Node copy = ir::clone(node);
      std::transform(copy.inputs.begin(), copy.inputs.end(), copy.inputs.begin(), here);
      while (!copy.inputs.empty() && copy.inputs.back() == ir::ValueId::none) copy.inputs.pop_back();
      std::transform(copy.outputs.begin(), copy.outputs.end(), copy.outputs.begin(), here);
      copy.name = subject_.name_beside(at, patch_.first_name(copy));
      bind(copy, bindings);
      patch_.insert_before(at, std::move(copy));
      ++inlined_;
    }
  }

  static void bind(ir::Node& node, const spec::AttributeBindings& bindings) {
    std::erase_if(node.attributes, [&](ir::Attribute& attribute) {
      if (attribute.ref_attr_name.empty()) return false;
      const auto bound = bindings.find(attribute.ref_attr_name.view());
      if (bound == bindings.end()) return true;
      const Text name = attribute.name;
      attribute = ir::clone(*bound->second);
      attribute.name = name;
      attribute.ref_attr_name = {};
      return false;
    });
  }

  Subject& subject_;
  spec::FunctionIndex functions_;
  ir::Patch patch_;
  std::size_t inlined_ = 0;
};

Result<bool> inline_functions(Subject& subject) {
  std::size_t left = most_inlined_nodes;
  bool has_changed = false;
  for (int depth = 0; depth < deepest_call && left > 0 && !subject.model().functions.empty(); ++depth) {
    const std::size_t inlined = Inlining(subject).run(left);
    if (inlined == 0) break;
    has_changed = true;
    left -= std::min(left, inlined);
  }
  return has_changed;
}

}  // namespace

void register_inline_functions(PassRegistry& registry);
void register_inline_functions(PassRegistry& registry) {
  registry.add({.name = "inline_functions", .stage = Stage::calls, .run = inline_functions, .is_exact = true});
}

}  // namespace onnxkit::plan
