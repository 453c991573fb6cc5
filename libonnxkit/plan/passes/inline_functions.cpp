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
constexpr std::size_t ports_of_a_node = 16;          // one with more of them counts as several
constexpr int deepest_call = 64;

bool imports_the_same(const ir::Function& function, const ir::Model& model) {
  return std::all_of(function.opset_imports.begin(), function.opset_imports.end(), [&](const ir::OpsetImport& import) {
    return ir::opset_of(model.opset_imports, ir::canonical_domain(import.domain)) == import.version;
  });
}

/// Every node of the body may stand in another graph: it has no graphs of its own, and reads and writes only what the function does.
bool has_plain_body(const ir::Function& function, const ir::Model& model) {
  const ir::Graph& body = function.body;
  return body.initializers.empty() && body.sparse_initializers.empty() && imports_the_same(function, model) &&
         std::none_of(body.nodes.begin(), body.nodes.end(), has_body);
}

/// What all calls of a function have in common.
struct Callee {
  bool may_inline = false;
  std::vector<std::int32_t> input_of, output_of;  ///< by value of the body: which input or output it is; -1 for none
};

Callee callee_of(const ir::Function& function, const ir::Model& model) {
  Callee callee;
  if (!has_plain_body(function, model)) return callee;
  const ir::Graph& body = function.body;
  callee.input_of.assign(body.values.size(), -1);
  callee.output_of.assign(body.values.size(), -1);
  // A parameter that is an output as well, or an output twice, would need a copy.
  const auto note_ports = [&](const std::vector<ir::ValueInfo>& ports, std::vector<std::int32_t>& port_of) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].value == ir::ValueId::none) return false;
      const std::size_t at = ir::index_of(ports[i].value);
      if (callee.input_of[at] >= 0 || callee.output_of[at] >= 0) return false;
      port_of[at] = static_cast<std::int32_t>(i);
    }
    return true;
  };
  callee.may_inline = note_ports(body.inputs, callee.input_of) && note_ports(body.outputs, callee.output_of);
  return callee;
}

bool may_inline(const Callee& callee, const ir::Function& function, const ir::Node& call) {
  if (!callee.may_inline) return false;
  if (call.inputs.size() > function.body.inputs.size() || call.outputs.size() > function.body.outputs.size())
    return false;
  const spec::AttributeBindings bindings = spec::bind_attributes(function, call, nullptr);
  return std::none_of(bindings.begin(), bindings.end(), [](const auto& bound) { return bound.second->graph(); });
}

class Inlining {
 public:
  explicit Inlining(Subject& subject) : subject_(subject), functions_(subject.model()), patch_(subject.graph()) {}

  std::size_t run(std::size_t most_nodes) {
    const ir::Graph& graph = subject_.graph();
    for (std::size_t at = 0; at < graph.nodes.size() && inlined_ < most_nodes; ++at) {
      const ir::Function* function = functions_.find(graph.nodes[at]);
      if (!function) continue;
      const auto [known, is_new] = callees_.try_emplace(function);
      if (is_new) known->second = callee_of(*function, subject_.model());
      if (may_inline(known->second, *function, graph.nodes[at])) inline_call(at, *function, known->second);
    }
    if (!patch_.empty()) subject_.splice(std::move(patch_));
    return inlined_;
  }

 private:
  void inline_call(std::size_t at, const ir::Function& function, const Callee& callee) {
    const ir::Node& call = subject_.graph().nodes[at];
    const ir::Graph& body = function.body;
    const auto bindings = spec::bind_attributes(function, call, nullptr);
    std::unordered_map<std::uint32_t, ir::ValueId> inner;
    const auto here = [&](ir::ValueId id) {
      if (id == ir::ValueId::none) return id;
      const std::int32_t input = callee.input_of[ir::index_of(id)], output = callee.output_of[ir::index_of(id)];
      if (input >= 0) return plan::input_of(call, static_cast<std::size_t>(input));
      const auto result = static_cast<std::size_t>(output);
      if (output >= 0 && result < call.outputs.size() && call.outputs[result] != ir::ValueId::none)
        return call.outputs[result];
      const auto [known, is_new] = inner.try_emplace(ir::index_of(id), ir::ValueId::none);
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
      inlined_ += 1 + (copy.inputs.size() + copy.outputs.size()) / ports_of_a_node;
      patch_.insert_before(at, std::move(copy));
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
  std::unordered_map<const ir::Function*, Callee> callees_;
  ir::Patch patch_;
  std::size_t inlined_ = 0;  ///< nodes, those of many ports several times
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
  registry.add({.name = "inline_functions",
                .stage = Stage::calls,
                .run = inline_functions,
                .is_exact = true,
                .simplifies = Simplifies::on_request});
}

}  // namespace onnxkit::plan
