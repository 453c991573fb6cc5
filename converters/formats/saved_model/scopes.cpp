#include "converters/formats/saved_model/scopes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace onnxkit::saved_model {
namespace {

constexpr std::size_t most_depth = 64, most_scopes = 100'000, most_outputs = 4096;

Error malformed_graph(std::string what) { return make_error("malformed-model", std::move(what)); }

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size() || number >= most_outputs) return std::nullopt;
  return number;
}

}  // namespace

Scopes::Scopes(const GraphDef& graph, const Mappings& mappings) : graph_(graph), mappings_(mappings) {
  scopes_.push_back(std::make_unique<Scope>(Scope{.table = &graph.table}));
  main_ = scopes_.front().get();
}

const FunctionDef* Scopes::function(std::string_view name) const {
  const auto found = graph_.functions.find(name);
  return found == graph_.functions.end() ? nullptr : found->second.get();
}

Result<Scope*> Scopes::add(Scope scope) {
  if (scope.depth > most_depth)
    return malformed_graph(fmt::format("function {} calls itself", quote(scope.function->name)));
  if (scopes_.size() >= most_scopes)
    return make_error("not-supported", fmt::format("functions are called more than {} times", most_scopes));
  scopes_.push_back(std::make_unique<Scope>(std::move(scope)));
  return scopes_.back().get();
}

Result<Scope*> Scopes::body(const FunctionDef& function, const Scope& outside) {
  return add({.table = &function.table, .function = &function, .depth = outside.depth + 1});
}

const FunctionDef* Scopes::called(const NodeDef& node) {
  if (node.op != "PartitionedCall" && node.op != "StatefulPartitionedCall") return function(node.op);
  const auto [at, is_new] = called_.emplace(&node, nullptr);
  if (!is_new) return at->second;
  const auto names = functions_of_attribute(node.attribute("f"));
  return at->second = names.size() == 1 ? function(names.front()) : nullptr;
}

Result<Scope*> Scopes::called(Scope& scope, const NodeDef& call, const FunctionDef& function) {
  const auto known = scope.calls.find(&call);
  if (known != scope.calls.end()) return known->second;
  auto made =
      add({.table = &function.table, .function = &function, .caller = &scope, .call = &call, .depth = scope.depth + 1});
  if (made) scope.calls.emplace(&call, *made);
  return made;
}

Result<const NodeDef*> Scopes::node(const Scope& scope, std::string_view name) const {
  const NodeDef* found = scope.table->find(name);
  if (!found) return malformed_graph(fmt::format("node {} does not exist", quote(name)));
  return found;
}

Result<std::size_t> Scopes::output_index(const NodeDef& node, std::string_view rest, bool is_function) const {
  const std::size_t colon = is_function ? rest.rfind(':') : rest.npos;
  const std::string_view name = colon == rest.npos ? std::string_view() : rest.substr(0, colon);
  const auto number = number_in(colon == rest.npos ? rest : rest.substr(colon + 1));
  if (!number) return malformed_graph(fmt::format("{} is no output of node {}", quote(rest), quote(node.name)));
  const auto& names = mappings_.outputs_of(node.op);
  const auto at = std::find(names.begin(), names.end(), name);
  if (name.empty() || at == names.end()) return *number;
  return static_cast<std::size_t>(at - names.begin()) + *number;
}

Result<Place> Scopes::place_of(Scope& scope, std::string_view input) const {
  if (scope.function) {
    const auto& parameters = scope.function->parameter_places;
    if (const auto at = parameters.find(input); at != parameters.end()) return Place{&scope, nullptr, at->second};
  }
  const std::string_view name = input.substr(0, input.find(':'));
  const auto found = node(scope, name);
  if (!found) return found.error();
  if (name.size() == input.size()) return Place{&scope, *found, 0};
  const auto index = output_index(**found, input.substr(name.size() + 1), scope.function != nullptr);
  if (!index) return index.error();
  return Place{&scope, *found, *index};
}

Result<Place> Scopes::resolve(Scope& scope, std::string_view input) {
  constexpr std::size_t most_steps = 4 * most_depth;
  Scope* at = &scope;
  for (std::size_t step = 0; step < most_steps; ++step) {
    const auto place = place_of(*at, input);
    if (!place) return place.error();
    if (!place->node) {
      if (!at->caller) return place;  // a parameter of a body
      const auto& given = at->call->inputs;
      if (place->index >= given.size() || is_control(given[place->index]))
        return malformed_graph(fmt::format("node {} calls a function with too few inputs", quote(at->call->name)));
      input = given[place->index];
      at = at->caller;
      continue;
    }
    const FunctionDef* function = called(*place->node);
    if (!function) return place;
    if (place->index >= function->results.size())
      return malformed_graph(fmt::format("function {} has no result {}", quote(function->name), place->index));
    const auto inside = called(*place->scope, *place->node, *function);
    if (!inside) return inside.error();
    input = function->results[place->index];
    at = *inside;
  }
  return malformed_graph(fmt::format("the value {} depends on itself", quote(input)));
}

}  // namespace onnxkit::saved_model
