#include "checker/targets/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include "checker/targets/conditions.h"
#include "libonnxkit/ir/called_functions.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {
namespace {

using Answer = ConditionResult::Answer;

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// What a profile says of one node. A node is refused for its first refusal; else unknown for the first doubt.
struct Verdict {
  Standing standing = Standing::runs;
  std::string reason, item, expected, found;

  void lower(Standing to, std::string why, std::string at = {}, std::string want = {}, std::string is = {}) {
    const bool worse = (to == Standing::refused && standing != Standing::refused) ||
                       (to == Standing::unknown && standing == Standing::runs);
    if (worse)
      *this = {.standing = to,
               .reason = std::move(why),
               .item = std::move(at),
               .expected = std::move(want),
               .found = std::move(is)};
  }
};

class TargetCheck {
 public:
  TargetCheck(RuleContext& context, const TargetProfile& profile)
      : context_(context), profile_(profile), info_(context) {}

  void run() {
    check_header();
    if (profile_.limits.equal_names || profile_.limits.static_shapes) report_names();
    const std::vector<bool> runs = functions_that_run();
    const ir::Function* const first = context_.model.functions.data();
    for (const auto& scope : context_.scopes) {
      if (scope->is_training) continue;
      if (scope->function && !runs[static_cast<std::size_t>(scope->function - first)]) continue;
      check_opsets(*scope);
      if (!profile_.limits.sparse_initializers) check_sparse(*scope);
      for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) check_node(*scope, n);
    }
    report_unknowns();
    report_narrowed();
  }

 private:
  void report(Severity severity, std::string_view code, Location location, std::string message,
              std::string expected = {}, std::string found = {}, std::string help = {}) {
    context_.collector.add({.code = std::string(code),
                            .severity = severity,
                            .location = std::move(location),
                            .message = fmt::format("{}: {}", profile_.label(), message),
                            .expected = std::move(expected),
                            .found = std::move(found),
                            .notes = {fmt::format("{} {}: {}", profile_.measured ? "measured" : "published list, read",
                                                  profile_.date, profile_.source)},
                            .help = std::move(help)});
  }

  // ---- the model as a whole

  /// By function: whether the target runs it, as the graph calls it, near or far.
  std::vector<bool> functions_that_run() const {
    const ir::Model& model = context_.model;
    const bool runs_functions = profile_.limits.functions && model.graph;
    return runs_functions ? ir::called_functions(model, *model.graph) : std::vector<bool>(model.functions.size());
  }

  void check_header() {
    const auto& limit = profile_.limits.ir_version;
    const auto& stated = context_.model.ir_version;
    if (limit && stated && *stated > *limit) {
      report(Severity::error, "target-ir-version", context_.at_model("ir_version"),
             fmt::format("reads IR versions up to {}", *limit), fmt::format("{} or less", *limit),
             std::to_string(*stated), "write the model with a lower ir_version if it uses nothing newer");
    }
    if (profile_.limits.static_shapes && context_.model.graph) check_static_inputs(*context_.model.graph);
    if (profile_.limits.tensor_ports && context_.model.graph) check_ports(*context_.model.graph);
  }

  void check_ports(const ir::Graph& graph) {
    for (const auto& scope : context_.scopes) {
      if (scope->graph != &graph) continue;
      for (const auto* ports : {&graph.inputs, &graph.outputs}) {
        for (const ir::ValueInfo& port : *ports) {
          const Type* type = info_.type_of(*scope, port.value);
          if (!type || type->is_unknown() || type->is_tensor()) continue;
          report(Severity::error, "target-unsupported",
                 context_.at(*scope, ports == &graph.inputs ? "input" : "output", graph.name_of(port.value)),
                 "takes and gives tensors only", "a tensor", to_string(*type, context_.inferred->dims));
        }
      }
    }
  }

  void check_static_inputs(const ir::Graph& graph) {
    for (const auto& scope : context_.scopes) {
      if (scope->graph != &graph) continue;
      for (const ir::ValueInfo& input : graph.inputs) {
        const Type* type = info_.type_of(*scope, input.value);
        if (!type || !type->is_tensor()) continue;
        if (type->shape && std::ranges::all_of(*type->shape, [](Dim d) { return d.is_constant(); })) continue;
        report(Severity::error, "target-static-shapes", context_.at(*scope, "input", graph.name_of(input.value)),
               "requires inputs of fixed shape", "a fixed shape", to_string(*type, context_.inferred->dims),
               "--dim NAME=SIZE fixes a named dimension for this check");
      }
    }
  }

  /// Function bodies have imports of their own; a subgraph shares those around it.
  void check_opsets(const ir::GraphScope& scope) {
    if (scope.parent) return;
    for (std::size_t i = 0; i < scope.opsets.size(); ++i) {
      const ir::OpsetImport& import = scope.opsets[i];
      const auto limit = profile_.limits.opset.find(ir::canonical_domain(import.domain));
      if (limit == profile_.limits.opset.end() || !import.version) continue;
      const auto [oldest, newest] = limit->second;
      if (*import.version >= oldest && *import.version <= newest) continue;
      const std::string item = fmt::format("opset_import {}", i);
      report(Severity::error, "target-opset",
             scope.function ? context_.at_function(*scope.function, item) : context_.at_model(item),
             fmt::format("supports opsets {} to {} of {}", oldest, newest,
                         limit->first.empty() ? "ai.onnx" : limit->first),
             fmt::format("{} to {}", oldest, newest), std::to_string(*import.version),
             fmt::format("{} to opset {}", *import.version > newest ? "downgrade" : "upgrade",
                         *import.version > newest ? newest : oldest));
    }
  }

  void check_sparse(const ir::GraphScope& scope) {
    for (const ir::SparseTensor& sparse : scope.graph->sparse_initializers) {
      const std::string_view name = sparse.values ? sparse.values->name.view() : std::string_view();
      report(Severity::error, "target-unsupported", context_.at(scope, "sparse_initializer", name),
             "does not read sparse initializers", {}, {}, "store it as a dense initializer");
    }
  }

  /// What is a warning elsewhere: one name that stands for two sizes.
  void report_names() {
    std::vector<Diagnostic> conflicts;
    std::ranges::copy_if(context_.collector.diagnostics(), std::back_inserter(conflicts),
                         [](const Diagnostic& finding) { return finding.code == "dim-name-conflict"; });
    for (Diagnostic& conflict : conflicts) {
      report(Severity::error, "target-dim-names", std::move(conflict.location),
             fmt::format("takes sizes of one name for equal: {}", conflict.message), std::move(conflict.expected),
             std::move(conflict.found), std::move(conflict.help));
    }
  }

  void report_narrowed() {
    for (const auto& [wide, narrow] : profile_.limits.narrowed) {
      const ir::GraphScope* first = nullptr;
      std::string_view name;
      std::size_t count = 0;
      for (const auto& scope : context_.scopes) {
        for (const ir::Tensor& tensor : scope->graph->initializers) {
          if (!tensor.data_type || !is_known_element_type(*tensor.data_type)) continue;
          if (name_of(static_cast<ElementType>(*tensor.data_type)) != wide) continue;
          if (count++ == 0) std::tie(first, name) = std::pair(scope.get(), tensor.name.view());
        }
      }
      if (!first) continue;
      report(Severity::info, "target-narrowed", context_.at(*first, "initializer", name),
             fmt::format("computes {} as {}; {} initializer{} of that type", wide, narrow, count,
                         count == 1 ? " is" : "s are"));
    }
  }

  // ---- nodes

  void check_node(const ir::GraphScope& scope, std::size_t n) {
    const ir::Node& node = scope.graph->nodes[n];
    const auto& [opset, function, schema] = context_.resolution.of(*scope.graph, n);
    if (function && !profile_.limits.functions) {
      report(Severity::error, "target-unsupported", context_.at(scope, n), "does not run model-local functions", {}, {},
             "put the function's nodes in place of the call");
    }
    if (node.op_type.empty() || !opset || function) return;
    if (schema && context_.table.is_removed(*schema)) return;
    const Verdict verdict = verdict_of(scope, node, schema);
    if (verdict.standing == Standing::refused) {
      const std::string version = schema ? fmt::format(" (since opset {})", schema->since_version) : std::string();
      report(Severity::error, "target-unsupported", context_.at(scope, n, verdict.item),
             fmt::format("cannot run {}{}: {}", ir::qualified_op(node), version, verdict.reason), verdict.expected,
             verdict.found);
    } else if (verdict.standing != Standing::runs) {
      auto& unknown = unknowns_[{ir::qualified_op(node), schema ? schema->since_version : 0, verdict.reason}];
      if (unknown.count++ == 0) unknown.location = context_.at(scope, n, verdict.item);
    }
  }

  Verdict verdict_of(const ir::GraphScope& scope, const ir::Node& node, const spec::OpSchema* schema) {
    Verdict verdict;
    const TargetEntry* entry = profile_.find(node.domain, node.op_type, schema ? schema->since_version : 0);
    if (!entry) {
      verdict.lower(profile_.unlisted(node.domain), profile_.find_all(node.domain, node.op_type)
                                                        ? "this version of the operator is not listed"
                                                        : "not listed");
      return verdict;
    }
    if (entry->status == Standing::refused)
      verdict.lower(Standing::refused, entry->why.empty() ? "refused" : entry->why);
    if (!schema || verdict.standing == Standing::refused) return verdict;
    if (entry->status == Standing::loads)
      verdict.lower(Standing::unknown, entry->why.empty() ? "loads, but has not been observed to run" : entry->why);
    check_types(verdict, *entry, scope, node, *schema);
    for (const TargetCondition& condition : entry->when) {
      ConditionResult result = evaluate(condition, info_, scope, node, *schema);
      if (result.answer == Answer::holds) continue;
      verdict.lower(result.answer == Answer::fails ? Standing::refused : Standing::unknown, std::move(result.reason),
                    std::move(result.item), std::move(result.expected), std::move(result.found));
    }
    return verdict;
  }

  void check_types(Verdict& verdict, const TargetEntry& entry, const ir::GraphScope& scope, const ir::Node& node,
                   const spec::OpSchema& schema) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      check_type(verdict, entry, scope, node.inputs[i], schema, schema.input_at(i), fmt::format("input {}", i));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      check_type(verdict, entry, scope, node.outputs[i], schema, schema.output_at(i), fmt::format("output {}", i));
    }
  }

  void check_type(Verdict& verdict, const TargetEntry& entry, const ir::GraphScope& scope, ir::ValueId id,
                  const spec::OpSchema& schema, const spec::FormalParameter* formal, std::string item) {
    if (id == ir::ValueId::none || !formal) return;
    const std::string_view constraint = schema.constraints[formal->constraint].name;
    const TypeStanding* known = entry.types_of(constraint);
    const std::string type = info_.type_text(scope, id);
    if (type.empty()) {
      if (known) verdict.lower(Standing::unknown, fmt::format("the type of {} is unknown", item), item);
      return;
    }
    if (!profile_.limits.types.empty() && !contains(profile_.limits.types, type)) {
      verdict.lower(Standing::refused, fmt::format("no {} tensors", type), item, joined(profile_.limits.types), type);
      return;
    }
    if (!known || contains(known->runs, type)) return;
    const bool is_listed = contains(known->loads, type) || contains(known->refused, type);
    const auto narrow = profile_.limits.narrowed.find(type);
    if (!is_listed && narrow != profile_.limits.narrowed.end() && contains(known->runs, narrow->second)) return;
    if (contains(known->loads, type)) {
      verdict.lower(Standing::unknown,
                    fmt::format("loads with {} = {}, but has not been observed to run", constraint, type),
                    std::move(item));
    } else if (!profile_.measured || contains(known->refused, type)) {
      verdict.lower(Standing::refused,
                    fmt::format("{} = {}{}{}", constraint, type, entry.why.empty() ? "" : ": ", entry.why),
                    std::move(item), joined(known->runs), type);
    } else {
      verdict.lower(Standing::unknown, fmt::format("{} = {} was not tested", constraint, type), std::move(item));
    }
  }

  void report_unknowns() {
    for (auto& [key, unknown] : unknowns_) {
      const auto& [op, since, reason] = key;
      const std::string version = since ? fmt::format(" (since opset {})", since) : std::string();
      const std::string nodes =
          unknown.count == 1 ? std::string() : fmt::format("; {} nodes, of which this is the first", unknown.count);
      report(Severity::info, "target-unknown", std::move(unknown.location),
             fmt::format("unknown whether {}{} runs: {}{}", op, version, reason, nodes));
    }
  }

  struct Unknown {
    std::size_t count = 0;
    Location location;
  };

  RuleContext& context_;
  const TargetProfile& profile_;
  TargetInfo info_;
  std::map<std::tuple<std::string, std::int32_t, std::string>, Unknown> unknowns_;
};

}  // namespace

void check_target(RuleContext& context, const TargetProfile& profile) { TargetCheck(context, profile).run(); }

}  // namespace onnxkit::checker
