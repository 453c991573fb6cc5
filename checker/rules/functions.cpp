// Model-local functions: distinct, not recursive, called with the attributes they declare; references only to those attributes.
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/core.h>

#include "checker/infer/attribute_values.h"
#include "checker/rule_registry.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {
namespace {

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

Key key_of(const ir::Function& function) {
  return {ir::canonical_domain(function.domain), function.name.view(), function.overload.view()};
}
Key key_of(const ir::Node& node) {
  return {ir::canonical_domain(node.domain), node.op_type.view(), node.overload.view()};
}

class FunctionRule {
 public:
  explicit FunctionRule(RuleContext& context) : context_(context) {}

  void run() {
    for (const ir::Function& function : context_.model.functions) check_definition(function);
    check_distinct();
    for (const auto& scope : context_.scopes) {
      for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) check_references(*scope, n);
    }
    find_needs();
    for (const auto& scope : context_.scopes) {
      for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) {
        const auto called = functions_.find(key_of(scope->graph->nodes[n]));
        if (called == functions_.end()) continue;
        const ir::Function& callee = *called->second.first;
        check_call(*scope, n, callee);
        if (scope->function) calls_[scope->function].push_back({&callee, scope.get(), n});
      }
    }
    for (const ir::Function& function : context_.model.functions) visit(&function);
  }

 private:
  /// The functions of one domain, name and overload.
  struct Defined {
    const ir::Function* first;
    std::size_t count = 0;
  };
  struct Call {
    const ir::Function* callee;
    const ir::GraphScope* scope;
    std::size_t node;
  };
  /// Where the body of a function uses one of its attributes.
  struct Reference {
    const ir::GraphScope* scope;
    std::size_t node;
    const ir::Attribute* attribute;
  };
  enum class Mark : std::uint8_t { fresh, open, done };

  void check_definition(const ir::Function& function) {
    if (function.name.empty()) context_.error("empty-name", context_.at_function(function), "a function has no name");
    ++functions_.try_emplace(key_of(function), Defined{&function}).first->second.count;
    std::set<std::string_view> names;
    const auto declare = [&](std::string_view name) {
      if (!names.insert(name).second) {
        context_.error("function-attribute", context_.at_function(function),
                       fmt::format("attribute {} is declared twice", quote(name)), "distinct attributes");
      }
    };
    for (const Text& name : function.attributes) declare(name);
    for (const ir::Attribute& attribute : function.attribute_protos) declare(attribute.name);
  }

  /// One finding for a name, however many functions have it.
  void check_distinct() {
    for (const auto& [key, defined] : functions_) {
      if (defined.count == 1) continue;
      const std::string number = defined.count == 2 ? "two" : std::to_string(defined.count);
      context_.error("function-duplicate", context_.at_function(*defined.first),
                     number + " functions have the same domain, name and overload", "distinct functions");
    }
  }

  void check_call(const ir::GraphScope& scope, std::size_t n, const ir::Function& function) {
    const ir::Node& node = scope.graph->nodes[n];
    if (node.inputs.size() > function.body.inputs.size()) {
      context_.error("input-count", context_.at(scope, n),
                     fmt::format("{} has fewer inputs", ir::function_step(function)),
                     fmt::format("at most {}", function.body.inputs.size()), std::to_string(node.inputs.size()));
    }
    if (node.outputs.size() > function.body.outputs.size()) {
      context_.error("output-count", context_.at(scope, n),
                     fmt::format("{} has fewer outputs", ir::function_step(function)),
                     fmt::format("at most {}", function.body.outputs.size()), std::to_string(node.outputs.size()));
    } else if (node.outputs.size() < function.body.outputs.size()) {
      context_.warning("output-count", context_.at(scope, n),
                       fmt::format("{} has more outputs; onnx.checker and ONNX Runtime reject a call that names fewer",
                                   ir::function_step(function)),
                       std::to_string(function.body.outputs.size()), std::to_string(node.outputs.size()),
                       "name every output, \"\" for an unused one");
    }
    for (const Text& name : function.attributes) {
      const auto need = needs_.find({&function, name.view()});
      if (need == needs_.end() || node.find_attribute(name)) continue;
      const Reference& reader = *need->second;
      context_.error("function-attribute", context_.at(scope, n),
                     fmt::format("{} requires attribute {}", ir::function_step(function), quote(name)),
                     fmt::format("{}, because {} requires attribute {}", name.view(),
                                 context_.at(*reader.scope, reader.node).path(), reader.attribute->name.view()),
                     "nothing");
    }
    for (const ir::Attribute& given : node.attributes) {
      if (!declares(function, given.name)) {
        context_.error("function-attribute", context_.at(scope, n, fmt::format("attribute {}", given.name.view())),
                       fmt::format("{} has no attribute {}", ir::function_step(function), quote(given.name)));
      } else {
        check_given_type(scope, n, function, given);
      }
    }
  }

  /// Attributes without a default that a call must give: an operator of the body requires what refers to them, or a call there must give it. What
  /// refers to an attribute that is not given is absent, too.
  void find_needs() {
    using Need = std::pair<const ir::Function*, std::string_view>;
    std::map<Need, std::vector<std::pair<const ir::Function*, const Reference*>>> passed_on;
    std::vector<Need> open;
    const auto add = [&](const ir::Function* function, const Reference& reference) {
      const Need need{function, reference.attribute->ref_attr_name.view()};
      if (!default_of(*function, need.second) && needs_.try_emplace(need, &reference).second) open.push_back(need);
    };
    for (const auto& [function, references] : references_) {
      for (const Reference& reference : references) {
        const std::string_view name = reference.attribute->name.view();
        const auto& [opset, callee, schema] = context_.resolution.of(*reference.scope->graph, reference.node);
        if (callee) passed_on[{callee, name}].emplace_back(function, &reference);
        const spec::AttributeSchema* declared = schema ? schema->find_attribute(name) : nullptr;
        if (declared && declared->required) add(function, reference);
      }
    }
    while (!open.empty()) {
      const Need need = open.back();
      open.pop_back();
      for (const auto& [function, reference] : passed_on[need]) add(function, *reference);
    }
  }

  /// The type that the function gives its attribute: its default's, or what the body refers to it as.
  void check_given_type(const ir::GraphScope& scope, std::size_t n, const ir::Function& function,
                        const ir::Attribute& given) {
    const std::int32_t found = effective_type(given);
    const auto report = [&](std::int32_t expected, const std::string& reason) {
      context_.error(
          "attribute-type", context_.at(scope, n, fmt::format("attribute {}", given.name.view())),
          fmt::format("{} requires a different type for attribute {}", ir::function_step(function), quote(given.name)),
          fmt::format("{}, because {}", attribute_type_name(expected), reason),
          std::string(attribute_type_name(found)));
    };
    if (found == 0) return;
    if (const ir::Attribute* fallback = default_of(function, given.name); fallback && effective_type(*fallback) != 0) {
      const std::int32_t expected = effective_type(*fallback);
      if (found != expected) report(expected, "its default is one");
      return;
    }
    for (const Reference& reference : references_[&function]) {
      const ir::Attribute& attribute = *reference.attribute;
      if (attribute.ref_attr_name.view() != given.name.view() || attribute.type.value_or(found) == found) continue;
      return report(*attribute.type, fmt::format("attribute {} of {} is one", attribute.name.view(),
                                                 context_.at(*reference.scope, reference.node).path()));
    }
  }

  static bool declares(const ir::Function& function, std::string_view name) {
    for (const Text& required : function.attributes) {
      if (required == name) return true;
    }
    return default_of(function, name) != nullptr;
  }

  static const ir::Attribute* default_of(const ir::Function& function, std::string_view name) {
    for (const ir::Attribute& attribute : function.attribute_protos) {
      if (attribute.name == name) return &attribute;
    }
    return nullptr;
  }

  void check_references(const ir::GraphScope& scope, std::size_t n) {
    for (const ir::Attribute& attribute : scope.graph->nodes[n].attributes) {
      if (attribute.ref_attr_name.empty()) continue;
      const std::string_view target = attribute.ref_attr_name;
      if (scope.function) references_[scope.function].push_back({&scope, n, &attribute});
      const auto location = [&] { return context_.at(scope, n, fmt::format("attribute {}", attribute.name.view())); };
      if (!scope.function) {
        context_.error("ref-attribute", location(),
                       fmt::format("the attribute refers to {}, but the node is not in a function", quote(target)),
                       "a value");
      } else if (!declares(*scope.function, target)) {
        context_.error("ref-attribute", location(),
                       fmt::format("{} has no attribute {}", ir::function_step(*scope.function), quote(target)));
      } else if (const ir::Attribute* fallback = default_of(*scope.function, target);
                 fallback && fallback->type && attribute.type && *fallback->type != *attribute.type) {
        context_.error("ref-attribute", location(),
                       fmt::format("attribute {} of the function has a different type", quote(target)));
      }
    }
  }

  void visit(const ir::Function* function) {
    if (!calls_.contains(function)) return;
    Mark& mark = marks_[function];
    if (mark != Mark::fresh) return;
    // An explicit stack: a chain of calls may be as long as the file has functions.
    std::vector<std::pair<const ir::Function*, std::size_t>> stack{{function, 0}};
    mark = Mark::open;
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      const std::vector<Call>& calls = calls_[at];
      if (next == calls.size()) {
        marks_[at] = Mark::done;
        stack.pop_back();
        continue;
      }
      const Call& call = calls[next++];
      if (!calls_.contains(call.callee)) continue;
      Mark& callee = marks_[call.callee];
      if (callee == Mark::open) {
        context_.error("function-recursive", context_.at(*call.scope, call.node),
                       "the function calls itself, directly or through other functions", "functions without recursion",
                       ir::function_step(*call.callee));
      } else if (callee == Mark::fresh) {
        callee = Mark::open;
        stack.emplace_back(call.callee, 0);
      }
    }
  }

  RuleContext& context_;
  std::map<Key, Defined> functions_;
  std::map<const ir::Function*, std::vector<Reference>> references_;
  /// What requires the attribute of a function that has no default.
  std::map<std::pair<const ir::Function*, std::string_view>, const Reference*> needs_;
  std::unordered_map<const ir::Function*, std::vector<Call>> calls_;
  std::unordered_map<const ir::Function*, Mark> marks_;
};

void check_functions(RuleContext& context) { FunctionRule(context).run(); }

}  // namespace

void register_functions(RuleRegistry& registry) { registry.add(Stage::structure, check_functions); }

}  // namespace onnxkit::checker
