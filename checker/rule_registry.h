#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checker/inference.h"
#include "checker/sink.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::checker {

/// One graph of a model with its surroundings: the main graph, a subgraph, a function body, a training graph.
struct GraphSite {
  const ir::Graph* graph = nullptr;
  const GraphSite* parent = nullptr;  ///< graph that holds the node whose attribute this is; null for outermost graphs
  std::size_t parent_node = 0;
  const ir::Function* function = nullptr;   ///< the function that this graph is or lies in
  std::span<const ir::OpsetImport> opsets;  ///< imports in force here
  std::vector<std::string> scope;           ///< as in Place
  bool is_training = false;
};

/// All graphs of a model, each before the graphs inside it. Sites point at one another, so the list does not move them.
std::vector<std::unique_ptr<GraphSite>> graph_sites(const ir::Model& model);

/// Opset of `domain` at a site, if imported.
std::optional<std::int64_t> opset_at(const GraphSite& site, std::string_view domain);

/// What a rule works with.
struct RuleContext {
  const ir::Model& model;
  const spec::OpTable& table;
  std::span<const std::unique_ptr<GraphSite>> sites;
  const InferredModel* inferred = nullptr;  ///< null for rules that run before inference
  const ExternalBytes& external_bytes;
  Sink& sink;

  Place at(const GraphSite& site) const;
  Place at(const GraphSite& site, std::size_t node) const;
  /// `item` is e.g. "input 1", "attribute", "initializer", "output"; `name` what it is called.
  Place at(const GraphSite& site, std::string item, std::string_view name) const;
  Place at(const GraphSite& site, std::size_t node, std::string item, std::string_view name = {}) const;
  Place at_model(std::string item = {}, std::string_view name = {}) const;
  Place at_function(const ir::Function& function, std::string item = {}, std::string_view name = {}) const;

  void error(std::string_view code, Place place, std::string message, std::string expected = {}, std::string found = {},
             std::string help = {});
  void warning(std::string_view code, Place place, std::string message, std::string expected = {},
               std::string found = {}, std::string help = {});
  void info(std::string_view code, Place place, std::string message, std::string expected = {}, std::string found = {},
            std::string help = {});
};

using RuleFunction = void (*)(RuleContext&);

/// When a rule runs. Inference runs between operators and facts.
enum class Stage : std::uint8_t {
  structure,  ///< needs nothing but the model
  operators,  ///< needs the spec table
  facts,      ///< needs what inference found
};

class RuleRegistry {
 public:
  void add(Stage stage, RuleFunction rule) { rules_.push_back({stage, rule}); }
  void run(Stage stage, RuleContext& context) const {
    for (const Row& row : rules_) {
      if (row.stage == stage) row.rule(context);
    }
  }

 private:
  struct Row {
    Stage stage;
    RuleFunction rule;
  };
  std::vector<Row> rules_;
};

/// All of checker/rules.
const RuleRegistry& rule_registry();

/// "main / node 3 / then_branch"
std::string scope_path(std::span<const std::string> scope);
/// "function pkg::Block"
std::string function_step(const ir::Function& function);
/// A node of a graph whose scope is known; without the file.
Place place_of_node(std::vector<std::string> scope, const ir::Graph& graph, std::size_t node);
/// Operator as messages name it: "Conv", "com.microsoft::Gelu".
std::string qualified_op(const ir::Node& node);

}  // namespace onnxkit::checker
