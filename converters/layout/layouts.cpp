#include "converters/layout/layouts.h"

#include <algorithm>
#include <set>

#include "converters/layout/minimum_cut.h"

namespace onnxkit::layout {
namespace {

using Orders = std::vector<Permutation>;

class Chooser {
 public:
  explicit Chooser(const LayoutProblem& problem) : problem_(problem), values_of_(problem.ranks.size()) {
    for (std::size_t v = 0; v < problem.values.size(); ++v) {
      const LayoutValue& value = problem.values[v];
      if (value.producer) values_of_[value.producer->frame].push_back(v);
      for (const FlexibleUse& reader : value.readers) values_of_[reader.frame].push_back(v);
    }
    for (const std::size_t rank : problem.ranks) orders_.push_back(identity_of(rank));
  }

  /// Wishes of what is fixed are carried through the graph as far as frames reach; then each frame takes the wish or keeps what it has,
  /// whichever costs less together.
  Orders choose() {
    const std::vector<Orders> proposals = all_proposals();
    constexpr int most_rounds = 4;
    for (int round = 0; round < most_rounds; ++round) {
      bool improved = false;
      for (const Orders& proposal : proposals) improved = merge(proposal) || improved;
      if (!improved) break;
    }
    return orders_;
  }

 private:
  // ---- proposals: an empty order is no wish

  std::vector<Orders> all_proposals() {
    std::vector<Orders> proposals;
    for (std::size_t v = 0; v < problem_.values.size(); ++v) {
      const LayoutValue& value = problem_.values[v];
      if (!value.producer && value.readers.empty()) continue;
      std::set<Permutation> wishes(value.fixed_readers.begin(), value.fixed_readers.end());
      if (!value.producer && !value.is_stored && !value.readers.empty())
        wishes.insert(identity_of(value.readers.front().offset.size()));
      for (const Permutation& wish : wishes) add_proposal(v, wish, proposals);
    }
    return proposals;
  }

  void add_proposal(std::size_t start, const Permutation& wish, std::vector<Orders>& proposals) {
    const LayoutValue& value = problem_.values[start];
    const FlexibleUse& first = value.producer ? *value.producer : value.readers.front();
    const Permutation order = first.order(wish, problem_.ranks[first.frame]);
    for (const Orders& known : proposals)
      if (known[first.frame] == order) return;
    Orders wishes(problem_.ranks.size());
    std::vector<bool> seen(problem_.values.size(), false);
    std::vector<std::pair<std::size_t, Permutation>> queue = {{start, wish}};
    seen[start] = true;
    for (std::size_t q = 0; q < queue.size(); ++q) {
      const auto [v, layout] = queue[q];
      const LayoutValue& here = problem_.values[v];
      if (here.producer) spread(*here.producer, layout, wishes, seen, queue);
      for (const FlexibleUse& reader : here.readers) spread(reader, layout, wishes, seen, queue);
    }
    join(std::move(wishes), proposals);
  }

  /// Wishes about different frames are one proposal: there are as many proposals as a frame has wishes.
  static void join(Orders wishes, std::vector<Orders>& proposals) {
    for (Orders& known : proposals) {
      bool is_apart = true;
      for (std::size_t f = 0; f < wishes.size() && is_apart; ++f) is_apart = wishes[f].empty() || known[f].empty();
      if (!is_apart) continue;
      for (std::size_t f = 0; f < wishes.size(); ++f)
        if (!wishes[f].empty()) known[f] = std::move(wishes[f]);
      return;
    }
    constexpr std::size_t most_proposals = 16;
    if (proposals.size() < most_proposals) proposals.push_back(std::move(wishes));
  }

  void spread(const FlexibleUse& use, const Permutation& layout, Orders& wishes, std::vector<bool>& seen,
              std::vector<std::pair<std::size_t, Permutation>>& queue) {
    if (!wishes[use.frame].empty()) return;
    wishes[use.frame] = use.order(layout, problem_.ranks[use.frame]);
    for (const std::size_t v : values_of_[use.frame]) {
      if (seen[v] || problem_.values[v].is_stored) continue;
      seen[v] = true;
      queue.emplace_back(v, layout_at(v, use.frame, wishes[use.frame]));
    }
  }

  /// The layout of a value that a frame of some order writes or reads.
  Permutation layout_at(std::size_t v, std::size_t frame, const Permutation& order) const {
    const LayoutValue& value = problem_.values[v];
    if (value.producer && value.producer->frame == frame) return value.producer->layout(order);
    for (const FlexibleUse& reader : value.readers)
      if (reader.frame == frame) return reader.layout(order);
    return {};
  }

  // ---- costs

  bool takes_part(std::size_t frame, const Orders& proposal) const {
    return !proposal[frame].empty() && proposal[frame] != orders_[frame];
  }

  std::int64_t cost(const Orders& orders) const {
    std::int64_t sum = 0;
    for (const LayoutValue& value : problem_.values) {
      if (value.is_stored) continue;
      std::set<Permutation> wanted(value.fixed_readers.begin(), value.fixed_readers.end());
      for (const FlexibleUse& reader : value.readers) wanted.insert(reader.layout(orders[reader.frame]));
      Permutation written;
      if (value.producer)
        written = value.producer->layout(orders[value.producer->frame]);
      else if (!wanted.empty())
        written = identity_of(wanted.begin()->size());
      wanted.erase(written);
      sum += value.weight * static_cast<std::int64_t>(wanted.size());
    }
    return sum;
  }

  /// Takes from the proposal what lowers the cost.
  bool merge(const Orders& proposal) {
    std::vector<std::size_t> variable(orders_.size(), none), frames;
    for (std::size_t f = 0; f < orders_.size(); ++f)
      if (takes_part(f, proposal)) {
        variable[f] = frames.size();
        frames.push_back(f);
      }
    if (frames.empty()) return false;
    BinaryChoice choice(frames.size());
    for (const LayoutValue& value : problem_.values) add_costs(value, proposal, variable, choice);
    const std::vector<bool> takes = choice.least();
    Orders merged = orders_;
    for (std::size_t i = 0; i < frames.size(); ++i)
      if (takes[i]) merged[frames[i]] = proposal[frames[i]];
    Orders whole = orders_;
    for (const std::size_t f : frames) whole[f] = proposal[f];
    if (cost(whole) < cost(merged))
      merged = std::move(whole);  // readers of one value share its Transpose, which cuts do not see
    if (cost(merged) >= cost(orders_)) return false;
    orders_ = std::move(merged);
    return true;
  }

  /// One end of a pair of uses: a layout before and after, and the variable that decides.
  struct End {
    Permutation before, after;
    std::size_t variable;
  };

  End end_of(const FlexibleUse& use, const Orders& proposal, const std::vector<std::size_t>& variable) const {
    const bool decides = variable[use.frame] != none;
    Permutation before = use.layout(orders_[use.frame]);
    Permutation after = decides ? use.layout(proposal[use.frame]) : before;
    return {std::move(before), std::move(after), variable[use.frame]};
  }

  void add_costs(const LayoutValue& value, const Orders& proposal, const std::vector<std::size_t>& variable,
                 BinaryChoice& choice) const {
    if (value.is_stored) return;
    End written{{}, {}, none};
    if (value.producer) written = end_of(*value.producer, proposal, variable);
    const auto add = [&](const End& read) {
      if (!value.producer) written.before = written.after = identity_of(read.before.size());
      add_pair(written, read, value.weight, choice);
    };
    for (const FlexibleUse& reader : value.readers) add(end_of(reader, proposal, variable));
    for (const Permutation& fixed : value.fixed_readers) add({fixed, fixed, none});
  }

  static void add_pair(const End& a, const End& b, std::int64_t weight, BinaryChoice& choice) {
    const auto differs = [&](const Permutation& x, const Permutation& y) { return x == y ? std::int64_t{0} : weight; };
    if (a.variable == none && b.variable == none) return;
    const std::int64_t both_before = differs(a.before, b.before), both_after = differs(a.after, b.after);
    if (a.variable == none) return choice.add_cost(b.variable, both_before, differs(a.before, b.after));
    if (b.variable == none) return choice.add_cost(a.variable, both_before, differs(a.after, b.before));
    if (a.variable == b.variable) return choice.add_cost(a.variable, both_before, both_after);
    // Costs of the two alone, and of their difference in one direction; what a cut cannot say counts as nothing.
    const std::int64_t second_only = differs(a.before, b.after), first_only = differs(a.after, b.before);
    choice.add_cost(a.variable, 0, first_only - both_before);
    choice.add_cost(b.variable, 0, both_after - first_only);
    choice.add_cost_of_difference(a.variable, b.variable, second_only + first_only - both_before - both_after);
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  const LayoutProblem& problem_;
  std::vector<std::vector<std::size_t>> values_of_;  ///< by frame
  Orders orders_;
};

}  // namespace

std::vector<Permutation> choose_orders(const LayoutProblem& problem) { return Chooser(problem).choose(); }

}  // namespace onnxkit::layout
