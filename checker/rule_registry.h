#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/spec/resolution.h"

namespace onnxkit::checker {

/// What a rule works with.
struct RuleContext {
  const ir::Model& model;
  const spec::OpTable& table;
  const spec::Resolution& resolution;
  std::span<const std::unique_ptr<ir::GraphScope>> scopes;
  const InferredModel* inferred = nullptr;  ///< null for rules that run before inference
  const ExternalBytes& external_bytes;
  Collector& collector;
  /// Operators that a runtime adds to a domain of the standard (OpSchema::added_by) are none of the faults: for whatever runs the model.
  bool accepts_additions = false;

  Location at(const ir::GraphScope& scope) const;
  Location at(const ir::GraphScope& scope, std::size_t node) const;
  /// `item` is e.g. "input 1", "attribute", "initializer", "output"; `name` what it is called.
  Location at(const ir::GraphScope& scope, std::string item, std::string_view name) const;
  Location at(const ir::GraphScope& scope, std::size_t node, std::string item, std::string_view name = {}) const;
  Location at_model(std::string item = {}, std::string_view name = {}) const;
  Location at_function(const ir::Function& function, std::string item = {}, std::string_view name = {}) const;

  void error(std::string_view code, Location location, std::string message, std::string expected = {},
             std::string found = {}, std::string help = {});
  void warning(std::string_view code, Location location, std::string message, std::string expected = {},
               std::string found = {}, std::string help = {});
  void info(std::string_view code, Location location, std::string message, std::string expected = {},
            std::string found = {}, std::string help = {});
};

using RuleFunction = void (*)(RuleContext&);

/// When a rule runs. Inference runs between `operators` and `inferred`.
enum class Stage : std::uint8_t {
  structure,  ///< needs nothing but the model
  operators,  ///< needs the spec table
  inferred,   ///< needs what inference found
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

}  // namespace onnxkit::checker
