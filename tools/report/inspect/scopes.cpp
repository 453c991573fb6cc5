#include "tools/report/inspect/scopes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace onnxkit::tools {
namespace {

constexpr std::size_t most_scope_levels = 32;
constexpr int gentle_rounds = 16;
constexpr std::size_t no_scope = ScopeTree::none;

struct Arrow {
  std::size_t from, to;
};

/// The strongly connected components of a graph, by number for each vertex (Tarjan, without recursion).
class Components {
 public:
  Components(std::size_t count, const std::vector<Arrow>& arrows)
      : begin_(count + 1, 0), number_(count, no_scope), low_(count, 0), component(count, no_scope) {
    for (const Arrow& arrow : arrows) ++begin_[arrow.from + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    next_.resize(arrows.size());
    std::vector<std::size_t> at(begin_.begin(), begin_.end() - 1);
    for (const Arrow& arrow : arrows) next_[at[arrow.from]++] = arrow.to;
    for (std::size_t v = 0; v < count; ++v) {
      if (number_[v] == no_scope) visit(v);
    }
  }

 private:
  struct Frame {
    std::size_t vertex, edge;
  };

  void enter(std::size_t v) {
    number_[v] = low_[v] = numbered_++;
    open_.push_back(v);
    frames_.push_back({v, begin_[v]});
  }

  void visit(std::size_t root) {
    enter(root);
    while (!frames_.empty()) {
      const std::size_t v = frames_.back().vertex;
      if (frames_.back().edge < begin_[v + 1]) {
        const std::size_t to = next_[frames_.back().edge++];
        if (number_[to] == no_scope)
          enter(to);
        else if (component[to] == no_scope)
          low_[v] = std::min(low_[v], number_[to]);
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().vertex] = std::min(low_[frames_.back().vertex], low_[v]);
      if (low_[v] == number_[v]) close(v);
    }
  }

  void close(std::size_t v) {
    std::size_t member = no_scope;
    sizes.push_back(0);
    do {
      member = open_.back();
      open_.pop_back();
      component[member] = sizes.size() - 1;
      ++sizes.back();
    } while (member != v);
  }

  std::vector<std::size_t> begin_, next_, number_, low_, open_;
  std::vector<Frame> frames_;
  std::size_t numbered_ = 0;

 public:
  std::vector<std::size_t> component;  ///< of each vertex
  std::vector<std::size_t> sizes;      ///< of each component
};

/// "layers.11" and "layers.3" are alike: names but for their numbers.
std::string without_digits(std::string_view name) {
  std::string text;
  for (const char letter : name) {
    const bool is_digit = letter >= '0' && letter <= '9';
    if (!is_digit)
      text += letter;
    else if (text.empty() || text.back() != '#')
      text += '#';
  }
  return text;
}

/// "layers/0 … 11": the last name without what both begin with, cut at a separator.
std::string range_label(const std::string& first, const std::string& last) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < std::min(first.size(), last.size()) && first[i] == last[i]; ++i) {
    if (std::string_view("/._-").find(first[i]) != std::string_view::npos) same = i + 1;
  }
  return first + " … " + last.substr(same);
}

class TreeOfScopes {
 public:
  explicit TreeOfScopes(const GraphSummary& graph) : graph_(graph), scope_of_(graph.nodes.size(), root) {
    scopes_.emplace_back();
  }

  ScopeTree run() {
    fold_constants();
    add_arrows();
    add_scopes();
    simplify();
    sign();
    std::vector<std::pair<std::size_t, std::vector<Arrow>>> left;
    left.emplace_back(root, std::move(arrows_));
    while (!left.empty()) {
      auto [scope, arrows] = std::move(left.back());
      left.pop_back();
      settle(scope, arrows);
      for (auto& inner : arrows_inside(scope, arrows)) left.push_back(std::move(inner));
    }
    return result();
  }

 private:
  static constexpr std::size_t root = 0;
  struct Scope {
    std::string label;
    std::size_t parent = no_scope;
    bool repeats = false, gone = false;
    std::vector<std::size_t> nodes, scopes;
    std::size_t size = 0;   ///< nodes in it and in scopes inside
    std::size_t first = 0;  ///< node
    std::size_t signature = 0;
  };

  void fold_constants() {
    is_folded_.assign(graph_.nodes.size(), false);
    std::unordered_set<std::string_view> read, given;
    for (const ValueSummary& output : graph_.outputs) given.insert(output.name);
    for (const NodeSummary& node : graph_.nodes) {
      read.insert(node.inputs.begin(), node.inputs.end());
      read.insert(node.captures.begin(), node.captures.end());
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const NodeSummary& node = graph_.nodes[n];
      is_folded_[n] = node.constant && node.outputs.size() == 1 && read.contains(node.outputs[0]) &&
                      !given.contains(node.outputs[0]);
    }
  }

  void add_arrows() {
    std::unordered_map<std::string_view, std::size_t> source;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const std::string& output : graph_.nodes[n].outputs) {
        if (!output.empty() && !is_folded_[n]) source.emplace(output, n);
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto add = [&](const std::string& name) {
        const auto from = source.find(name);
        if (from != source.end() && from->second != n) arrows_.push_back({from->second, n});
      };
      std::for_each(graph_.nodes[n].inputs.begin(), graph_.nodes[n].inputs.end(), add);
      std::for_each(graph_.nodes[n].captures.begin(), graph_.nodes[n].captures.end(), add);
    }
  }

  void add_scopes() {
    std::map<std::pair<std::size_t, std::string_view>, std::size_t> known;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_folded_[n]) continue;
      std::string_view rest = graph_.nodes[n].name;
      std::size_t at = root;
      for (std::size_t level = 0; level < most_scope_levels; ++level) {
        while (rest.starts_with('/')) rest.remove_prefix(1);
        const std::size_t slash = rest.find('/');
        if (slash == std::string_view::npos) break;
        const auto [found, is_new] = known.try_emplace({at, rest.substr(0, slash)}, scopes_.size());
        if (is_new) {
          scopes_[at].scopes.push_back(scopes_.size());
          scopes_.push_back(
              {.label = std::string(rest.substr(0, slash)), .parent = at, .nodes = {}, .scopes = {}, .first = n});
        }
        at = found->second;
        rest.remove_prefix(slash);
      }
      scopes_[at].nodes.push_back(n);
      scope_of_[n] = at;
      for (std::size_t s = at; s != no_scope; s = scopes_[s].parent) ++scopes_[s].size;
    }
  }

  /// Scopes directly in this one, without those that were dissolved or put into another.
  std::vector<std::size_t>& scopes_in(std::size_t scope) {
    std::erase_if(scopes_[scope].scopes, [&](std::size_t s) { return scopes_[s].gone || scopes_[s].parent != scope; });
    return scopes_[scope].scopes;
  }

  /// Puts what a scope holds into the one around it.
  void dissolve(std::size_t scope) {
    Scope& inner = scopes_[scope];
    Scope& outer = scopes_[inner.parent];
    for (const std::size_t node : inner.nodes) scope_of_[node] = inner.parent;
    for (const std::size_t child : inner.scopes) {
      scopes_[child].parent = inner.parent;
      if (!inner.repeats) scopes_[child].label = inner.label + "/" + scopes_[child].label;
    }
    outer.nodes.insert(outer.nodes.end(), inner.nodes.begin(), inner.nodes.end());
    outer.scopes.insert(outer.scopes.end(), inner.scopes.begin(), inner.scopes.end());
    inner.gone = true;
  }

  /// Scopes of one node, and those that hold one other scope and nothing else, are no boxes of their own.
  void simplify() {
    for (std::size_t s = scopes_.size(); s-- > 1;) {
      if (scopes_[s].size < 2 || (scopes_[s].nodes.empty() && scopes_in(s).size() == 1)) dissolve(s);
    }
  }

  /// Of what a scope holds: its operators in order, and the names and contents of the scopes inside.
  void sign() {
    for (std::size_t s = scopes_.size(); s-- > 1;) {
      Scope& scope = scopes_[s];
      if (scope.gone) continue;
      std::vector<std::pair<std::size_t, std::string>> parts;
      for (const std::size_t node : scope.nodes) parts.emplace_back(node, graph_.nodes[node].op);
      for (const std::size_t inner : scopes_in(s))
        parts.emplace_back(scopes_[inner].first, scopes_[inner].label + "/" + std::to_string(scopes_[inner].signature));
      std::sort(parts.begin(), parts.end());
      std::string all;
      for (const auto& [at, part] : parts) all += part + "\n";
      scope.signature = std::hash<std::string>()(all);
    }
  }

  /// The scope in `outer` that the node is in; no_scope for a node that lies in it directly.
  std::size_t inside(std::size_t outer, std::size_t node) const {
    std::size_t at = scope_of_[node];
    if (at == outer) return no_scope;
    while (scopes_[at].parent != outer) at = scopes_[at].parent;
    return at;
  }

  /// Scopes directly in `outer` that arrows from box to box lead back to, by cycle.
  std::vector<std::vector<std::size_t>> cycles(std::size_t outer, const std::vector<Arrow>& arrows) const {
    std::unordered_map<std::size_t, std::size_t> box_of_scope, box_of_node;
    std::vector<std::size_t> scope_of_box;
    const auto box_of = [&](std::size_t node) {
      const std::size_t scope = inside(outer, node);
      const auto [found, is_new] = scope == no_scope ? box_of_node.try_emplace(node, scope_of_box.size())
                                                     : box_of_scope.try_emplace(scope, scope_of_box.size());
      if (is_new) scope_of_box.push_back(scope);
      return found->second;
    };
    std::vector<Arrow> between;
    for (const Arrow& arrow : arrows) {
      const Arrow boxes{box_of(arrow.from), box_of(arrow.to)};
      if (boxes.from != boxes.to) between.push_back(boxes);
    }
    const Components components(scope_of_box.size(), between);
    std::map<std::size_t, std::vector<std::size_t>> found;
    for (std::size_t box = 0; box < scope_of_box.size(); ++box) {
      const std::size_t component = components.component[box];
      if (components.sizes[component] > 1 && scope_of_box[box] != no_scope)
        found[component].push_back(scope_of_box[box]);
    }
    std::vector<std::vector<std::size_t>> out;
    for (auto& [component, scopes] : found) out.push_back(std::move(scopes));
    return out;
  }

  /// Leaves those scopes in `outer` open that would make cycles, the smallest first; then folds repeated ones.
  void settle(std::size_t outer, const std::vector<Arrow>& arrows) {
    if (scopes_[outer].repeats) return;
    for (int round = 0;; ++round) {
      const auto found = cycles(outer, arrows);
      if (found.empty()) break;
      for (const auto& cycle : found) {
        const auto smallest = std::min_element(cycle.begin(), cycle.end(), [this](std::size_t a, std::size_t b) {
          return scopes_[a].size < scopes_[b].size;
        });
        if (round < gentle_rounds) {
          dissolve(*smallest);
        } else {
          for (const std::size_t scope : cycle) dissolve(scope);
        }
      }
    }
    fold_repeats(outer);
    for (auto found = cycles(outer, arrows); !found.empty(); found = cycles(outer, arrows)) {
      bool has_repeats = false;
      for (const auto& cycle : found) {
        for (const std::size_t scope : cycle) {
          if (!scopes_[scope].repeats) continue;
          dissolve(scope);
          has_repeats = true;
        }
      }
      if (!has_repeats) return;  // a cycle of the nodes themselves
    }
  }

  void fold_repeats(std::size_t outer) {
    std::vector<std::size_t> order = scopes_in(outer);
    std::sort(order.begin(), order.end(),
              [this](std::size_t a, std::size_t b) { return scopes_[a].first < scopes_[b].first; });
    const auto alike = [this](std::size_t a, std::size_t b) {
      return scopes_[a].signature == scopes_[b].signature && scopes_[a].label != scopes_[b].label &&
             without_digits(scopes_[a].label) == without_digits(scopes_[b].label);
    };
    for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
      for (end = i + 1; end < order.size() && alike(order[i], order[end]);) ++end;
      if (end - i < 2) continue;
      add_repeat(outer, std::vector<std::size_t>(order.begin() + static_cast<std::ptrdiff_t>(i),
                                                 order.begin() + static_cast<std::ptrdiff_t>(end)));
    }
    scopes_in(outer);  // those that repeat are no longer here, and come back when the repeat is dissolved
  }

  void add_repeat(std::size_t outer, std::vector<std::size_t> members) {
    const std::size_t made = scopes_.size();
    Scope repeat{.label = range_label(scopes_[members.front()].label, scopes_[members.back()].label),
                 .parent = outer,
                 .repeats = true,
                 .nodes = {},
                 .scopes = members,
                 .first = scopes_[members.front()].first};
    for (const std::size_t member : members) {
      scopes_[member].parent = made;
      repeat.size += scopes_[member].size;
    }
    scopes_[outer].scopes.push_back(made);
    scopes_.push_back(std::move(repeat));
  }

  /// For each scope in `outer`: the arrows that do not leave it.
  std::vector<std::pair<std::size_t, std::vector<Arrow>>> arrows_inside(std::size_t outer,
                                                                        const std::vector<Arrow>& arrows) {
    std::vector<std::pair<std::size_t, std::vector<Arrow>>> out;
    std::unordered_map<std::size_t, std::size_t> at;
    for (const std::size_t scope : scopes_in(outer)) {
      at.emplace(scope, out.size());
      out.emplace_back(scope, std::vector<Arrow>());
    }
    for (const Arrow& arrow : arrows) {
      const std::size_t scope = inside(outer, arrow.from);
      if (scope != no_scope && scope == inside(outer, arrow.to)) out[at.at(scope)].second.push_back(arrow);
    }
    return out;
  }

  ScopeTree result() {
    ScopeTree tree;
    std::vector<std::size_t> number(scopes_.size(), ScopeTree::none), left = {root};
    while (!left.empty()) {
      const std::size_t scope = left.back();
      left.pop_back();
      if (scope != root) {
        number[scope] = tree.scopes.size();
        tree.scopes.push_back({std::move(scopes_[scope].label), number[scopes_[scope].parent], scopes_[scope].repeats});
      }
      const auto& inner = scopes_in(scope);
      left.insert(left.end(), inner.rbegin(), inner.rend());
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      tree.scope_of.push_back(is_folded_[n] ? ScopeTree::none : number[scope_of_[n]]);
      if (is_folded_[n]) tree.folded_constants.push_back(n);
    }
    return tree;
  }

  const GraphSummary& graph_;
  std::vector<bool> is_folded_;
  std::vector<Arrow> arrows_;
  std::vector<Scope> scopes_;
  std::vector<std::size_t> scope_of_;
};

}  // namespace

ScopeTree scopes_of(const GraphSummary& graph) { return TreeOfScopes(graph).run(); }

}  // namespace onnxkit::tools
