#include "checker/rule_registry.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {

void register_all_rules(RuleRegistry& registry);

namespace {

Diagnostic make(std::string_view code, Severity severity, Location location, std::string message, std::string expected,
                std::string found, std::string help) {
  return {.code = std::string(code),
          .severity = severity,
          .location = std::move(location),
          .message = std::move(message),
          .expected = std::move(expected),
          .found = std::move(found),
          .notes = {},
          .help = std::move(help)};
}

}  // namespace

Location RuleContext::at(const ir::GraphScope& scope) const {
  Location location = at_model();
  location.scope = scope.path;
  return location;
}

Location RuleContext::at(const ir::GraphScope& scope, std::size_t node) const {
  Location location = ir::location_of_node(scope.path, *scope.graph, node);
  location.file = model.path.string();
  return location;
}

Location RuleContext::at(const ir::GraphScope& scope, std::string item, std::string_view name) const {
  Location location = at(scope);
  location.item = std::move(item);
  location.item_name = name;
  return location;
}

Location RuleContext::at(const ir::GraphScope& scope, std::size_t node, std::string item, std::string_view name) const {
  Location location = at(scope, node);
  location.item = std::move(item);
  location.item_name = name;
  return location;
}

Location RuleContext::at_model(std::string item, std::string_view name) const {
  Location location;
  location.file = model.path.string();
  location.item = std::move(item);
  location.item_name = name;
  return location;
}

Location RuleContext::at_function(const ir::Function& function, std::string item, std::string_view name) const {
  Location location = at_model(std::move(item), name);
  location.scope = {ir::function_step(function)};
  return location;
}

void RuleContext::error(std::string_view code, Location location, std::string message, std::string expected,
                        std::string found, std::string help) {
  collector.add(make(code, Severity::error, std::move(location), std::move(message), std::move(expected),
                     std::move(found), std::move(help)));
}

void RuleContext::warning(std::string_view code, Location location, std::string message, std::string expected,
                          std::string found, std::string help) {
  collector.add(make(code, Severity::warning, std::move(location), std::move(message), std::move(expected),
                     std::move(found), std::move(help)));
}

void RuleContext::info(std::string_view code, Location location, std::string message, std::string expected,
                       std::string found, std::string help) {
  collector.add(make(code, Severity::info, std::move(location), std::move(message), std::move(expected),
                     std::move(found), std::move(help)));
}

const RuleRegistry& rule_registry() {
  static const RuleRegistry registry = [] {
    RuleRegistry all;
    register_all_rules(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::checker
