#include "libonnxkit/diff/correspondence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "libonnxkit/compare/metrics/elements.h"

namespace onnxkit::diffing {
namespace {

/// Contents as close as this are the same; the finer first, so that a value finds its equal before its like. Coarser than rounding they would
/// bring together a variance with and without its epsilon.
constexpr std::array exact_closeness = {1e-9, 1e-7}, rounded_closeness = {1e-7, 1e-5};
constexpr std::uint64_t least_elements = 4;   // fewer say too little
constexpr std::size_t widest_frontier = 32;   // of values that one lies behind
constexpr std::size_t unmatched = static_cast<std::size_t>(-1);

bool are_close(double a, double b, double scale, double tolerance) { return std::abs(a - b) <= tolerance * scale; }

bool are_alike(const ContentSummary& a, const ContentSummary& b) {
  return a.is_known && b.is_known && a.is_real == b.is_real && a.dims == b.dims;
}

/// Says enough to find the value again.
bool is_telling(const ContentSummary& content) {
  return content.is_known && content.finite >= least_elements && content.least < content.greatest;
}

bool has_same_content(const ContentSummary& a, const ContentSummary& b, double tolerance) {
  const double range = std::max({std::abs(a.least), std::abs(a.greatest), std::abs(b.least), std::abs(b.greatest)});
  return are_alike(a, b) && a.finite == b.finite &&
         are_close(a.sum, b.sum, std::max(a.magnitude, b.magnitude), tolerance) &&
         are_close(a.magnitude, b.magnitude, std::max(a.magnitude, b.magnitude), tolerance) &&
         are_close(a.squares, b.squares, std::max(a.squares, b.squares), 2 * tolerance) &&
         are_close(a.least, b.least, range, tolerance) && are_close(a.greatest, b.greatest, range, tolerance);
}

/// Operators of different frameworks that do the same have one of these in common: "aten.conv2d.default" and "Conv", "linear" and "Gemm".
std::string kind_of(std::string_view op) {
  std::string kind;
  if (op.starts_with("aten.")) op.remove_prefix(5);
  op = op.substr(0, op.find('.'));
  for (const char c : op) {
    if (c >= 'A' && c <= 'Z') kind += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') kind += c;
  }
  constexpr std::array<std::string_view, 9> products = {"linear", "addmm",  "mm",    "bmm",           "gemm",
                                                        "matmul", "einsum", "dense", "fullyconnected"};
  return std::find(products.begin(), products.end(), kind) == products.end() ? kind : "matmul";
}

bool is_contraction(std::string_view kind) { return kind == "matmul" || kind.starts_with("conv"); }

bool are_similar(std::string_view a, std::string_view b) {
  return !a.empty() && !b.empty() && (a.starts_with(b) || b.starts_with(a));
}

class Matching {
 public:
  Matching(const std::vector<InnerValue>& base, const std::vector<InnerValue>& side) {
    values_[0] = &base;
    values_[1] = &side;
    for (const std::size_t graph : {0, 1}) {
      partner_[graph].assign(values_[graph]->size(), unmatched);
      for (const InnerValue& value : *values_[graph]) kinds_[graph].push_back(kind_of(value.op));
    }
    how_.resize(base.size());
  }

  void given(const std::map<std::string, std::string>& same) {
    for (std::size_t i = 0; i < values_[0]->size(); ++i) {
      const auto name = same.find((*values_[0])[i].name);
      if (name == same.end()) continue;
      for (std::size_t k = 0; k < values_[1]->size(); ++k) {
        const bool is_free = partner_[0][i] == unmatched && partner_[1][k] == unmatched;
        if (is_free && (*values_[1])[k].name == name->second && are_alike(content(0, i), content(1, k)))
          match(i, k, MatchedBy::name);
      }
    }
  }

  /// Numbered names of two exports meet by chance: with the same content, or else with like operators, they mean the same.
  enum class Alike : std::uint8_t { content, op };
  void by_name(Alike alike) {
    std::unordered_map<std::string_view, std::size_t> named;
    for (std::size_t i = 0; i < values_[1]->size(); ++i) named.emplace((*values_[1])[i].name, i);
    for (std::size_t i = 0; i < values_[0]->size(); ++i) {
      const auto found = named.find((*values_[0])[i].name);
      if (found == named.end() || partner_[0][i] != unmatched || partner_[1][found->second] != unmatched) continue;
      const bool means_the_same =
          alike == Alike::content
              ? has_same_content(content(0, i), content(1, found->second), exact_closeness.back())
              : are_similar(kinds_[0][i], kinds_[1][found->second]);
      if (means_the_same) match(i, found->second, MatchedBy::name);
    }
  }

  void by_content(std::span<const double> closeness) {
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> by_size;
    for (std::size_t i = 0; i < values_[1]->size(); ++i) {
      if (is_telling(content(1, i))) by_size[content(1, i).dims].push_back(i);
    }
    for (const double tolerance : closeness) {
      for (std::size_t i = 0; i < values_[0]->size(); ++i) {
        if (partner_[0][i] != unmatched || !is_telling(content(0, i))) continue;
        const auto candidates = by_size.find(content(0, i).dims);
        if (candidates == by_size.end()) continue;
        const auto found =
            std::find_if(candidates->second.begin(), candidates->second.end(), [&](std::size_t candidate) {
              return partner_[1][candidate] == unmatched &&
                     has_same_content(content(0, i), content(1, candidate), tolerance);
            });
        if (found != candidates->second.end()) match(i, *found, MatchedBy::content);
      }
    }
  }

  /// What lies behind the same matched values, with the same sizes, in order; each round shows more of what lies behind.
  void by_structure() {
    constexpr int most_rounds = 64;
    for (int round = 0; round < most_rounds && match_groups(); ++round) {
    }
  }

  std::vector<ValuePair> pairs() const {
    std::vector<ValuePair> all;
    for (std::size_t i = 0; i < partner_[0].size(); ++i) {
      if (partner_[0][i] != unmatched) all.push_back({i, partner_[0][i], how_[i]});
    }
    return all;
  }

 private:
  /// The matched values that a value is made from, by their number in the base; nothing where they are too many.
  using Frontier = std::optional<std::vector<std::size_t>>;
  using Members = std::array<std::vector<std::size_t>, 2>;
  using Couple = std::pair<std::size_t, std::size_t>;  ///< of the base and of the side

  const ContentSummary& content(std::size_t graph, std::size_t value) const {
    return (*values_[graph])[value].content;
  }

  void match(std::size_t base, std::size_t side, MatchedBy how) {
    partner_[0][base] = side;
    partner_[1][side] = base;
    how_[base] = how;
  }

  std::vector<Frontier> frontiers(std::size_t graph) const {
    std::vector<Frontier> all(values_[graph]->size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::vector<std::size_t> found;
      bool is_narrow = true;
      for (const std::size_t from : (*values_[graph])[i].from) {
        if (const std::size_t partner = partner_[graph][from]; partner != unmatched) {
          found.push_back(graph == 0 ? from : partner);
        } else if (all[from]) {
          found.insert(found.end(), all[from]->begin(), all[from]->end());
        } else {
          is_narrow = false;
        }
      }
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
      if (is_narrow && found.size() <= widest_frontier) all[i] = std::move(found);
    }
    return all;
  }

  bool match_groups() {
    std::map<std::pair<std::vector<std::size_t>, std::vector<std::int64_t>>, Members> groups;
    for (const std::size_t graph : {0, 1}) {
      const std::vector<Frontier> all = frontiers(graph);
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (partner_[graph][i] == unmatched && all[i] && !all[i]->empty() && content(graph, i).is_known)
          groups[{*all[i], content(graph, i).dims}][graph].push_back(i);
      }
    }
    bool any = false;
    for (const auto& [key, members] : groups) any |= match_group(members);
    return any;
  }

  bool match_group(const Members& members) {
    bool any = false;
    for (const auto& [one, other] : counterparts(members)) {
      if (content(0, one).is_real != content(1, other).is_real) continue;
      match(one, other, MatchedBy::structure);
      any = true;
    }
    return any;
  }

  /// All in order where their operators are alike one by one. Else one side has fused some, and those that are as many on both sides are paired, but
  /// for contractions: what was fused into one, a bias or a scale, is in its value.
  std::vector<Couple> counterparts(const Members& members) const {
    const auto& [base, side] = members;
    std::vector<Couple> all;
    if (base.size() == side.size()) {
      for (std::size_t i = 0; i < base.size(); ++i) all.emplace_back(base[i], side[i]);
      if (all.size() == 1 || std::all_of(all.begin(), all.end(), [&](const Couple& couple) { return is_alike(couple); }))
        return all;
    }
    all.clear();
    std::set<std::string_view> kinds;
    for (const std::size_t value : base) kinds.insert(kinds_[0][value]);
    for (const std::string_view kind : kinds) {
      if (is_contraction(kind)) continue;
      std::vector<std::size_t> some, others;
      std::copy_if(base.begin(), base.end(), std::back_inserter(some),
                   [&](std::size_t value) { return are_similar(kind, kinds_[0][value]); });
      std::copy_if(side.begin(), side.end(), std::back_inserter(others),
                   [&](std::size_t value) { return are_similar(kind, kinds_[1][value]); });
      if (some.size() != others.size()) continue;
      for (std::size_t i = 0; i < some.size(); ++i) all.emplace_back(some[i], others[i]);
    }
    return without_shared(std::move(all));
  }

  bool is_alike(const Couple& couple) const { return are_similar(kinds_[0][couple.first], kinds_[1][couple.second]); }

  /// Kinds may overlap: each value is taken once.
  static std::vector<Couple> without_shared(std::vector<Couple> couples) {
    std::set<std::size_t> taken[2];
    std::erase_if(couples, [&](const Couple& couple) {
      if (taken[0].contains(couple.first) || taken[1].contains(couple.second)) return true;
      taken[0].insert(couple.first);
      taken[1].insert(couple.second);
      return false;
    });
    return couples;
  }

  std::array<const std::vector<InnerValue>*, 2> values_;
  std::array<std::vector<std::size_t>, 2> partner_;  ///< of each value the one in the other graph
  std::array<std::vector<std::string>, 2> kinds_;
  std::vector<MatchedBy> how_;  ///< by value of the base
};

}  // namespace

ContentSummary summarize(const Value& value) {
  ContentSummary content;
  if (!value.is_tensor() || !comparison::are_numbers(value.tensor.type())) return content;
  content.is_known = true;
  content.is_real = is_floating(value.tensor.type());
  for (const std::int64_t size : value.tensor.dims()) {
    if (size != 1) content.dims.push_back(size);
  }
  std::sort(content.dims.begin(), content.dims.end());
  const comparison::Elements elements(value.tensor);
  std::array<double, comparison::Elements::most> piece;
  const auto size = static_cast<std::size_t>(value.tensor.size());
  for (std::size_t first = 0; first < size; first += piece.size()) {
    const std::span<double> part(piece.data(), std::min(piece.size(), size - first));
    elements.read(first, part);
    for (const double x : part) {
      if (!std::isfinite(x)) continue;
      content.least = content.finite == 0 ? x : std::min(content.least, x);
      content.greatest = content.finite == 0 ? x : std::max(content.greatest, x);
      ++content.finite;
      content.sum += x;
      content.magnitude += std::abs(x);
      content.squares += x * x;
    }
  }
  return content;
}

std::vector<ValuePair> correspond(const std::vector<InnerValue>& base, const std::vector<InnerValue>& side,
                                  const MatchOptions& options) {
  Matching matching(base, side);
  matching.given(options.same);
  if (options.by_name) matching.by_name(Matching::Alike::content);
  if (options.rounded) {
    matching.by_content(rounded_closeness);
  } else {
    matching.by_content(exact_closeness);
  }
  if (options.by_name) matching.by_name(Matching::Alike::op);
  matching.by_structure();
  return matching.pairs();
}

}  // namespace onnxkit::diffing
