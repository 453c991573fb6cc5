// Operators that have no steps of their own become operators that have: those of com.microsoft by bodies in operators of ai.onnx, and some of ai.onnx by
// what the opset steps write for them where they are not there yet. Each node is rewritten as a model of its own, whose nodes then take its place.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>

#include "converters/legalize/contrib_bodies.h"
#include "converters/legalize/inline_functions.h"
#include "converters/legalize/legalize.h"
#include "converters/opset/model/change_opset.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/plan/lowering.h"
#include "libonnxkit/plan/node_model.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

/// An operator of ai.onnx without a lowering that others express.
bool is_composed(std::string_view op) { return lowering_registry().traits("", op, 1).is_composed; }

bool is_contrib(const ir::Node& node) { return node.domain == legalize::contrib_domain; }

class Expansion {
 public:
  explicit Expansion(Subject& subject) : subject_(subject), rewriting_(subject) {}

  Result<bool> run() {
    const ir::Graph& graph = subject_.graph();
    for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
      const ir::Node& node = graph.nodes[at];
      const bool is_one = is_contrib(node) || (ir::canonical_domain(node.domain).empty() && is_composed(node.op_type));
      if (!is_one || has_body(node) || (is_contrib(node) && has_lowering(at)) || waits_for_sizes(node)) continue;
      ir::Model model = model_of(at);
      std::set<std::string, std::less<>> outside;  // what is written may use names that the subject has for others
      for (const ir::Value& value : model.graph->values) outside.emplace(value.name.view());
      if ((is_contrib(node) ? write_contrib(at, model) : write_composed(at, model)) && put(at, model, outside)) {
        model.graph.reset();
        made_.push_back(std::move(model));
      }
    }
    keep_text();
    return rewriting_.finish();
  }

 private:
  ir::Model model_of(std::size_t at) const {
    std::vector<ir::ValueId> outputs;
    for (const ir::ValueId id : subject_.graph().nodes[at].outputs) {
      if (id != ir::ValueId::none) outputs.push_back(id);
    }
    return part_model(subject_, part_of_node(subject_, at), outputs);
  }

  /// Which operators express it best hangs on sizes that are not known yet.
  bool waits_for_sizes(const ir::Node& node) const {
    return subject_.is_generic() && !std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
             return id == ir::ValueId::none || subject_.dims(id);
           });
  }

  bool has_lowering(std::size_t at) const {
    const spec::OpSchema* schema = subject_.schema(subject_.graph().nodes[at]);
    return schema && lowering_registry().find(schema->domain, schema->name, schema->since_version);
  }

  bool write_contrib(std::size_t at, ir::Model& model) {
    // No node is of ai.onnx yet, so its opset may be that of the bodies.
    const std::int64_t newest = subject_.opset();
    std::erase_if(model.opset_imports,
                  [](const ir::OpsetImport& import) { return ir::canonical_domain(import.domain).empty(); });
    model.opset_imports.emplace_back().version = legalize::contrib_opset;
    bool is_known = false;
    const auto inlined = legalize::inline_bodies(model, [&](const ir::Node& node) {
      const ir::Function* body = is_contrib(node) ? bodies_.find(node) : nullptr;
      is_known = is_known || body;
      return body;
    });
    if (!is_known) {
      rewriting_.miss(at, "no body in operators of ai.onnx is known for this form of it");
      return false;
    }
    if (!inlined) return false;
    OpsetOptions options;
    options.opsets = {{"", newest}};
    auto changed = opset::change_opset(model, options);
    if (!changed || !changed->model) {
      rewriting_.miss(at, "its body cannot be brought to the newest opset");
      return false;
    }
    model = *std::move(changed->model);
    return true;
  }

  bool write_composed(std::size_t at, ir::Model& model) {
    if (legalize::compose(model, is_composed)) return true;
    rewriting_.miss(at, "older operators do not express it in this form");
    return false;
  }

  /// The nodes of the model in place of the node, whose text they share.
  bool put(std::size_t at, const ir::Model& model, const std::set<std::string, std::less<>>& outside) {
    const ir::Graph& graph = subject_.graph();
    const ir::Graph& made = *model.graph;
    if (std::any_of(made.nodes.begin(), made.nodes.end(), has_body)) {
      rewriting_.miss(at, "it would become a loop");
      return false;
    }
    std::unordered_map<std::uint32_t, ir::ValueId> ids;
    const auto here = [&](ir::ValueId id) {
      if (id == ir::ValueId::none) return id;
      const auto [known, is_new] = ids.try_emplace(ir::index_of(id), ir::ValueId::none);
      if (is_new) {
        const std::string_view name = made.name_of(id);
        known->second = outside.contains(name) ? graph.find(name) : rewriting_.patch().value(subject_.fresh_name(name));
      }
      return known->second;
    };
    for (const ir::Tensor& tensor : made.initializers) {
      const ir::ValueId id = made.find(tensor.name.view());
      if (id != ir::ValueId::none && !outside.contains(tensor.name.view()))
        rewriting_.patch().add_initializer(here(id), ir::clone(tensor));
    }
    rewriting_.patch().remove(at);
    for (const ir::Node& node : made.nodes) {
      ir::Node copy = ir::clone(node);
      std::transform(copy.inputs.begin(), copy.inputs.end(), copy.inputs.begin(), here);
      std::transform(copy.outputs.begin(), copy.outputs.end(), copy.outputs.begin(), here);
      copy.name = subject_.name_beside(at, rewriting_.patch().first_name(copy));
      rewriting_.patch().insert_before(at, std::move(copy));
    }
    rewriting_.took(at);
    return true;
  }

  void keep_text() {
    std::vector<const ir::Model*> all;
    for (const ir::Model& model : made_) all.push_back(&model);
    ir::share_storage(subject_.model(), all);
    bodies_.keep_text_in(subject_.model());
  }

  Subject& subject_;
  Rewriting rewriting_;
  legalize::ContribBodies bodies_;
  std::vector<ir::Model> made_;  ///< without their graphs, whose nodes the patch has
};

}  // namespace

void register_expand_operators(PassRegistry& registry);
void register_expand_operators(PassRegistry& registry) {
  registry.add({.name = "expand_operators", .stage = Stage::calls, .run = [](Subject& subject) -> Result<bool> {
                  return Expansion(subject).run();
                }});
}

}  // namespace onnxkit::plan
