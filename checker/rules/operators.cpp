// Nodes against the signatures of their operators: the operator exists in the imported opset, and takes and gives that many values.
#include <map>
#include <set>

#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "libonnxkit/base/text/nearest.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {
namespace {

constexpr std::uint16_t no_limit = 0xffff;

std::string domain_name(std::string_view domain) { return domain.empty() ? "ai.onnx" : std::string(domain); }

std::string count_text(std::size_t least, std::size_t most, std::string_view noun) {
  if (most == no_limit) return fmt::format("{} or more {}s", least, noun);
  if (least == most) return fmt::format("{} {}{}", least, noun, least == 1 ? "" : "s");
  return fmt::format("{} to {} {}s", least, most, noun);
}

class OperatorRule {
 public:
  explicit OperatorRule(RuleContext& context) : context_(context) {
    for (const ir::Function& function : context.model.functions)
      function_domains_.insert(ir::canonical_domain(function.domain));
    note_imports(context.model.opset_imports, nullptr);
    for (const ir::Function& function : context.model.functions) note_imports(function.opset_imports, &function);
  }

  void run() {
    for (const auto& scope : context_.scopes) {
      for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) check_node(*scope, n);
    }
  }

 private:
  struct Import {
    std::int64_t opset;
    const ir::Function* function;  ///< null for the model
  };

  void note_imports(std::span<const ir::OpsetImport> imports, const ir::Function* function) {
    for (const ir::OpsetImport& import : imports) {
      if (!import.version) continue;
      first_imports_.try_emplace(ir::canonical_domain(import.domain), Import{*import.version, function});
    }
  }

  void check_node(const ir::GraphScope& scope, std::size_t n) {
    const ir::Node& node = scope.graph->nodes[n];
    if (node.op_type.empty()) return;
    const std::string_view domain = ir::canonical_domain(node.domain);
    const auto& [opset, function, schema] = context_.resolution.of(*scope.graph, n);
    if (!opset) return report_missing_import(scope, n, domain);
    if (function) return;
    if (!schema || context_.table.is_removed(*schema)) return report_unknown(scope, n, domain, *opset, schema);
    if (!schema->added_by.empty() && !context_.accepts_additions) report_addition(scope, n, *opset, *schema);
    if (schema->deprecated) report_deprecated(scope, n, *schema);
    check_inputs(scope, n, *schema);
    check_outputs(scope, n, *schema);
    if (scope.function) check_import_agrees(scope, n, *opset, *schema);
  }

  /// A node of a function means one thing only, whichever import a runtime goes by: some put the body in place of the call.
  void check_import_agrees(const ir::GraphScope& scope, std::size_t n, std::int64_t opset,
                           const spec::OpSchema& schema) {
    const std::string_view domain = ir::canonical_domain(scope.graph->nodes[n].domain);
    const Import& first = first_imports_.at(domain);
    if (first.opset == opset) return;
    const spec::OpSchema* other = context_.table.find(domain, schema.name, first.opset);
    if (other && other->since_version == schema.since_version) return;
    const std::string has = !other ? "lacks this operator"
                            : context_.table.is_removed(*other)
                                ? "no longer has it"
                                : fmt::format("defines it as of opset {}", other->since_version);
    const std::string importer = first.function ? ir::function_step(*first.function) : "the model";
    context_.error("function-opset", context_.at(scope, n),
                   fmt::format("{} of {} differs in the opset that {} imports", ir::qualified_op(scope.graph->nodes[n]),
                               ir::function_step(*scope.function), importer),
                   fmt::format("opset {} of {}, or one with the same definition of {}", first.opset,
                               domain_name(domain), schema.name),
                   fmt::format("opset {}, with {} as of opset {}; opset {} {}", opset, schema.name,
                               schema.since_version, first.opset, has),
                   "import the same opset everywhere");
  }

  void report_missing_import(const ir::GraphScope& scope, std::size_t n, std::string_view domain) {
    if (scope.opsets.empty() && domain.empty() && !scope.function) return;  // the header rule says it once
    context_.error(scope.function ? "function-import" : "unknown-domain", context_.at(scope, n),
                   fmt::format("{} does not import domain {}", scope.function ? "the function" : "the model",
                               quote(domain_name(domain))),
                   fmt::format("an opset_import of {}", quote(domain_name(domain))));
  }

  void report_deprecated(const ir::GraphScope& scope, std::size_t n, const spec::OpSchema& schema) {
    const spec::OpSchema* const newest = context_.table.versions(schema.domain, schema.name).back();
    context_.warning("operator-deprecated", context_.at(scope, n),
                     fmt::format("{} (opset {}) is deprecated: opset {} redefines it; onnx.checker refuses it",
                                 ir::qualified_op(scope.graph->nodes[n]), schema.since_version, newest->since_version),
                     {}, {}, fmt::format("upgrade to opset {}", newest->since_version));
  }

  /// The operator is not of the standard, or is not yet in this opset, but a runtime has it there.
  void report_addition(const ir::GraphScope& scope, std::size_t n, std::int64_t opset, const spec::OpSchema& schema) {
    const std::string op = ir::qualified_op(scope.graph->nodes[n]);
    const std::string domain = domain_name(schema.domain);
    const auto versions = context_.table.versions(schema.domain, schema.name);
    if (!versions.empty()) return report_too_new(scope, n, opset, *versions.front(), schema.added_by);
    context_.error("unknown-operator", context_.at(scope, n),
                   fmt::format("{} is an operator of {}, not of the standard's {}", op, schema.added_by, domain),
                   "an operator of the imported opset", op,
                   fmt::format("the model runs on {} only; ops {} shows the operator", schema.added_by, schema.name));
  }

  void report_too_new(const ir::GraphScope& scope, std::size_t n, std::int64_t opset, const spec::OpSchema& first,
                      std::string_view added_by) {
    const std::string op = ir::qualified_op(scope.graph->nodes[n]);
    const std::string only = added_by.empty() ? std::string() : fmt::format("; only {} has it there", added_by);
    context_.error("operator-too-new", context_.at(scope, n),
                   fmt::format("{} was added in opset {}, but the {} imports opset {}{}", op, first.since_version,
                               scope.function ? "function" : "model", opset, only),
                   fmt::format("an operator of opset {} of {}", opset, domain_name(first.domain)), op,
                   fmt::format("upgrade to opset {}", first.since_version));
  }

  void report_unknown(const ir::GraphScope& scope, std::size_t n, std::string_view domain, std::int64_t opset,
                      const spec::OpSchema* removed) {
    const ir::Node& node = scope.graph->nodes[n];
    const Location location = context_.at(scope, n);
    const std::string op = ir::qualified_op(node);
    const auto versions = context_.table.versions(domain, node.op_type);
    if (removed) {
      context_.error("operator-removed", location,
                     fmt::format("{} was removed in opset {}", op, removed->since_version),
                     fmt::format("an operator of opset {} of {}", opset, domain_name(domain)), op,
                     "an earlier opset, or the operator that replaced it");
      return;
    }
    if (!versions.empty()) return report_too_new(scope, n, opset, *versions.front(), {});
    if (function_domains_.contains(domain)) {
      context_.error("function-missing", location,
                     fmt::format("the model has functions of domain {}, but none with this name", quote(domain)),
                     "a function of the model", op);
      return;
    }
    if (spec::newest_opset(domain) == 0) {
      const std::string_view help = spec::help_for_domain(domain);
      context_.warning("unchecked-operator", location,
                       fmt::format("unknown operator {}: values that depend on it are not checked", op), {}, {},
                       help.empty() ? "--schemas FILE adds operators of other domains" : std::string(help));
      return;
    }
    const auto names = context_.table.operators(domain);
    const std::string_view close = nearest(node.op_type, names);
    context_.error("unknown-operator", location,
                   fmt::format("{} has no operator {}", domain_name(domain), quote(node.op_type)),
                   "an operator of the imported opset", op,
                   close.empty() ? std::string() : fmt::format("did you mean {}?", close));
  }

  void check_inputs(const ir::GraphScope& scope, std::size_t n, const spec::OpSchema& schema) {
    const ir::Node& node = scope.graph->nodes[n];
    if (node.inputs.size() < schema.min_inputs ||
        (schema.max_inputs != no_limit && node.inputs.size() > schema.max_inputs)) {
      context_.error("input-count", context_.at(scope, n),
                     fmt::format("{} (opset {}) takes {}", schema.name, schema.since_version,
                                 count_text(schema.min_inputs, schema.max_inputs, "input")),
                     count_text(schema.min_inputs, schema.max_inputs, "input"), std::to_string(node.inputs.size()));
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const spec::FormalParameter* formal = schema.input_at(i);
      if (node.inputs[i] != ir::ValueId::none || !formal || formal->arity == spec::Arity::optional) continue;
      context_.error("missing-input", context_.at(scope, n, fmt::format("input {}", i)),
                     fmt::format("input {} of {} is required", quote(formal->name), schema.name), "the name of a value",
                     "nothing");
    }
  }

  void check_outputs(const ir::GraphScope& scope, std::size_t n, const spec::OpSchema& schema) {
    const ir::Node& node = scope.graph->nodes[n];
    if (node.outputs.size() < schema.min_outputs ||
        (schema.max_outputs != no_limit && node.outputs.size() > schema.max_outputs)) {
      context_.error("output-count", context_.at(scope, n),
                     fmt::format("{} (opset {}) has {}", schema.name, schema.since_version,
                                 count_text(schema.min_outputs, schema.max_outputs, "output")),
                     count_text(schema.min_outputs, schema.max_outputs, "output"), std::to_string(node.outputs.size()));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const spec::FormalParameter* formal = schema.output_at(i);
      if (node.outputs[i] != ir::ValueId::none || !formal || formal->arity != spec::Arity::single) continue;
      context_.error("empty-name", context_.at(scope, n, fmt::format("output {}", i)),
                     fmt::format("output {} of {} is required", quote(formal->name), schema.name), "a name", "nothing");
    }
  }

  RuleContext& context_;
  std::set<std::string_view> function_domains_;
  std::map<std::string_view, Import> first_imports_;  ///< of each domain: the model's, else that of the first function
};

void check_operators(RuleContext& context) { OperatorRule(context).run(); }

}  // namespace

void register_operators(RuleRegistry& registry) { registry.add(Stage::operators, check_operators); }

}  // namespace onnxkit::checker
