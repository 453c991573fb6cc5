#include "converters/formats/saved_model/variables.h"

#include <set>

namespace onnxkit::saved_model {
namespace {

/// Variables share what they hold by this name.
std::string_view name_of_variable(const NodeDef& variable) {
  const std::string_view shared = text_of_attribute(variable.attribute("shared_name"));
  return shared.empty() ? variable.name : shared;
}

bool is_assignment(std::string_view op) { return op == "AssignVariableOp" || op == "Assign"; }

/// Collects from the graph that restores which keys go into which variables.
class RestoreReader {
 public:
  explicit RestoreReader(Scopes& scopes) : scopes_(scopes) {}

  Result<std::map<std::string_view, std::string_view>> read(std::string_view node) {
    const auto start = scopes_.node(scopes_.main(), node.substr(0, node.find(':')));
    if (!start) return start.error();
    pending_ = {{&scopes_.main(), *start}};
    while (!pending_.empty()) {
      const auto [scope, at] = pending_.back();
      pending_.pop_back();
      if (!seen_.insert({scope, at}).second) continue;
      if (auto done = visit(*scope, *at); !done) return done.error();
    }
    return std::move(keys_);
  }

 private:
  Result<void> visit(Scope& scope, const NodeDef& node) {
    if (is_assignment(node.op)) return add_key(scope, node);
    if (const FunctionDef* function = scopes_.called(node)) {
      const auto inside = scopes_.called(scope, node, *function);
      if (!inside) return inside.error();
      for (const NodeDef& inner : function->table.nodes)
        if (is_assignment(inner.op) || scopes_.called(inner)) pending_.emplace_back(*inside, &inner);
      return {};
    }
    for (const std::string_view input : node.inputs) {
      const std::string_view name = is_control(input) ? input.substr(1) : input.substr(0, input.find(':'));
      if (const NodeDef* before = scope.table->find(name)) pending_.emplace_back(&scope, before);
    }
    return {};
  }

  /// Where a value comes from, behind nodes that only pass it on.
  Result<Place> origin(Scope& scope, std::string_view input) {
    auto place = scopes_.resolve(scope, input);
    for (int step = 0;
         step < 16 && place && place->node && place->node->op == "Identity" && !place->node->inputs.empty(); ++step)
      place = scopes_.resolve(*place->scope, place->node->inputs.front());
    return place;
  }

  Result<void> add_key(Scope& scope, const NodeDef& assignment) {
    if (assignment.inputs.size() < 2) return {};
    const auto variable = origin(scope, assignment.inputs[0]), value = origin(scope, assignment.inputs[1]);
    if (!variable) return variable.error();
    if (!value) return value.error();
    if (!variable->node || !is_variable(*variable->node) || !value->node || value->node->op != "RestoreV2" ||
        value->node->inputs.size() < 2)
      return {};
    const auto names = origin(*value->scope, value->node->inputs[1]);
    if (!names) return names.error();
    if (!names->node || names->node->op != "Const") return {};
    const auto keys = tensor_of_attribute(names->node->attribute("value"));
    if (!keys) return keys.error();
    if (value->index < keys->strings.size())
      keys_.emplace(name_of_variable(*variable->node), keys->strings[value->index]);
    return {};
  }

  Scopes& scopes_;
  std::vector<std::pair<Scope*, const NodeDef*>> pending_;
  std::set<std::pair<Scope*, const NodeDef*>> seen_;
  std::map<std::string_view, std::string_view> keys_;
};

}  // namespace

bool is_variable(const NodeDef& node) {
  return node.op == "VarHandleOp" || node.op == "VariableV2" || node.op == "Variable";
}

Result<Variables> Variables::find(Scopes& scopes, std::string_view restore_node, VariablesBundle* bundle) {
  Variables variables;
  variables.bundle_ = bundle;
  if (restore_node.empty() || !bundle) return variables;
  auto keys = RestoreReader(scopes).read(restore_node);
  if (!keys) return std::move(keys).error();
  variables.keys_ = *std::move(keys);
  return variables;
}

Result<std::optional<StoredTensor>> Variables::tensor(const NodeDef& variable) const {
  std::string_view key = name_of_variable(variable);
  if (const auto found = keys_.find(key); found != keys_.end()) key = found->second;
  if (!bundle_ || !bundle_->has(key)) return std::optional<StoredTensor>();
  auto stored = bundle_->tensor(key);
  if (!stored) return std::move(stored).error();
  return std::optional(*std::move(stored));
}

}  // namespace onnxkit::saved_model
