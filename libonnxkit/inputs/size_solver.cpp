#include "libonnxkit/inputs/size_solver.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "libonnxkit/base/checked.h"

namespace onnxkit::inputs {
namespace {

using checker::SizeRelation;
using ir::Dim;

/// Sizes are tried one by one up to here, beyond in doubling steps.
constexpr std::int64_t tried_one_by_one = 2048;
constexpr std::int64_t greatest_tried = std::int64_t{1} << 24;
/// Bounds the time that a model with many odd demands costs: a second or so.
constexpr std::uint64_t most_evaluations = 3'000'000;
constexpr int most_rounds = 500;

/// From `size` upwards, then downwards, so that what is near comes first.
std::vector<std::int64_t> sizes_to_try(std::int64_t size) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t next = size + 1; next <= tried_one_by_one; ++next) sizes.push_back(next);
  for (std::int64_t next = std::max<std::int64_t>(size, tried_one_by_one) * 2; next <= greatest_tried; next *= 2)
    sizes.push_back(next);
  for (std::int64_t next = std::min(size, tried_one_by_one) - 1; next >= 1; --next) sizes.push_back(next);
  return sizes;
}

}  // namespace

bool holds(checker::SizeRelation relation, std::int64_t a, std::int64_t b) {
  switch (relation) {
    case SizeRelation::equal:
      return a == b;
    case SizeRelation::stretched:
      return a == b || a == 1;
    case SizeRelation::broadcast:
      return a == b || a == 1 || b == 1;
    case SizeRelation::at_most:
      return a <= b;
  }
  return true;
}

SizeSolver::SizeSolver(ir::DimPool& pool, std::vector<FreeSize> sizes, std::function<bool()> goes_on)
    : pool_(pool), free_(std::move(sizes)), goes_on_(std::move(goes_on)) {
  for (std::size_t i = 0; i < free_.size(); ++i) {
    index_.emplace(free_[i].name, i);
    group_.push_back(i);
    groups_.push_back({.size = free_[i].usual, .is_hinted = free_[i].is_hinted, .is_settled = false});
  }
}

void SizeSolver::demand(SizeRelation relation, Dim a, Dim b, Weight weight, std::size_t subject) {
  Demand added{relation, a, b, weight, subject, {}};
  std::set<std::size_t> sizes;
  for (const Dim side : {a, b}) {
    if (side.is_unknown()) return;
    for (const std::size_t symbol : pool_.symbols_in(side)) {
      const auto found = index_.find(pool_.symbol(symbol).name);
      if (found == index_.end()) return;
      sizes.insert(found->second);
    }
  }
  if (sizes.empty()) return;
  added.sizes.assign(sizes.begin(), sizes.end());
  demands_.push_back(std::move(added));
}

std::optional<std::int64_t> SizeSolver::value(Dim dim) const {
  if (dim.is_constant()) return dim.constant();
  ++evaluations_;
  return pool_.evaluate(dim, [&](std::string_view name) {
    const auto found = index_.find(std::string(name));
    return found == index_.end() ? std::nullopt : std::optional(groups_[group_[found->second]].size);
  });
}

bool SizeSolver::is_met(const Demand& demand) const {
  const auto a = value(demand.a), b = value(demand.b);
  return !a || !b || holds(demand.relation, *a, *b);
}

std::vector<std::size_t> SizeSolver::open_groups(const Demand& demand) const {
  std::set<std::size_t> groups;
  for (const std::size_t size : demand.sizes) {
    if (!groups_[group_[size]].is_settled) groups.insert(group_[size]);
  }
  return {groups.begin(), groups.end()};
}

/// Of a size that is nothing but one of the free ones.
std::optional<std::size_t> SizeSolver::group_of_symbol(Dim dim) const {
  const auto symbols = pool_.symbols_in(dim);
  if (symbols.size() != 1) return std::nullopt;
  const std::string& name = pool_.symbol(symbols.front()).name;
  return dim == pool_.named(name) ? std::optional(group_[index_.at(name)]) : std::nullopt;
}

bool SizeSolver::has_ended() {
  constexpr std::uint64_t between_questions = 1000;
  if (!has_ended_ && goes_on_ && evaluations_ >= next_question_) {
    has_ended_ = !goes_on_();
    next_question_ = evaluations_ + between_questions;
  }
  return has_ended_ || evaluations_ > most_evaluations;
}

/// Free sizes that must be equal become one group.
void SizeSolver::unite() {
  for (const Demand& demand : demands_) {
    if (demand.relation != SizeRelation::equal || demand.weight != Weight::must) continue;
    const auto a = group_of_symbol(demand.a), b = group_of_symbol(demand.b);
    if (!a || !b || *a == *b) continue;
    Group &kept = groups_[*a], &given_up = groups_[*b];
    if (kept.is_hinted == given_up.is_hinted) {
      kept.size = std::max(kept.size, given_up.size);
    } else if (given_up.is_hinted) {
      kept = given_up;
    }
    std::replace(group_.begin(), group_.end(), *b, *a);
  }
}

/// The one size with which an equality holds, where the difference of its sides grows evenly with that size.
std::optional<std::int64_t> SizeSolver::only_answer(const Demand& demand, std::size_t group) {
  const std::int64_t before = groups_[group].size;
  constexpr std::int64_t safe = std::int64_t{1} << 58;
  const auto difference = [&](std::int64_t size) -> std::optional<std::int64_t> {
    groups_[group].size = size;
    const auto a = value(demand.a), b = value(demand.b);
    const auto exact = a && b ? checked_sub(*a, *b) : std::nullopt;
    return exact && -safe < *exact && *exact < safe ? exact : std::nullopt;
  };
  const auto at_1 = difference(1), at_2 = difference(2), at_7 = difference(7);
  std::optional<std::int64_t> answer;
  if (at_1 && at_2 && at_7) {
    const std::int64_t slope = *at_2 - *at_1;
    const bool is_even = slope != 0 && std::abs(slope) < safe / 8 && *at_7 - *at_1 == 6 * slope && *at_1 % slope == 0;
    const std::int64_t size = is_even ? 1 - *at_1 / slope : 0;
    if (size >= 1 && difference(size) == 0) answer = size;
  }
  groups_[group].size = before;
  return answer;
}

/// Gives sizes that have one answer that answer; true when it found any.
bool SizeSolver::settle() {
  bool found = false;
  for (const Demand& demand : demands_) {
    if (demand.relation != SizeRelation::equal || demand.weight != Weight::must) continue;
    const auto open = open_groups(demand);
    if (open.size() != 1) continue;
    const auto size = only_answer(demand, open.front());
    if (!size) continue;
    groups_[open.front()].size = *size;
    groups_[open.front()].is_settled = true;
    found = true;
  }
  return found;
}

void SizeSolver::apply(const Change& change) {
  for (const auto& [group, size] : change) groups_[group].size = size;
}

std::vector<std::size_t> SizeSolver::touched_by(const Change& change) const {
  std::vector<std::size_t> touched;
  for (std::size_t i = 0; i < demands_.size(); ++i) {
    const auto is_in = [&](std::size_t size) {
      return std::any_of(change.begin(), change.end(), [&](const auto& part) { return part.first == group_[size]; });
    };
    if (std::any_of(demands_[i].sizes.begin(), demands_[i].sizes.end(), is_in)) touched.push_back(i);
  }
  return touched;
}

std::int64_t SizeSolver::missed_in(const std::vector<std::size_t>& demands) const {
  std::int64_t missed = 0;
  for (const std::size_t i : demands) {
    if (!is_met(demands_[i])) missed += static_cast<std::int64_t>(demands_[i].weight);
  }
  return missed;
}

/// By how much more the demands are missed with the change than without; negative where it helps.
std::int64_t SizeSolver::missed(const Change& change) {
  const auto touched = touched_by(change);
  Change back;
  for (const auto& [group, size] : change) back.emplace_back(group, groups_[group].size);
  const std::int64_t before = missed_in(touched);
  apply(change);
  const std::int64_t after = missed_in(touched);
  apply(back);
  return after - before;
}

/// The first size with which the demand holds, all groups having that size.
std::optional<SizeSolver::Change> SizeSolver::first_that_meets(const Demand& demand,
                                                               const std::vector<std::size_t>& groups) {
  Change back, change;
  for (const std::size_t group : groups) back.emplace_back(group, groups_[group].size);
  std::optional<Change> found;
  for (const std::int64_t size : sizes_to_try(groups_[groups.front()].size)) {
    change.clear();
    for (const std::size_t group : groups) change.emplace_back(group, size);
    apply(change);
    if (is_met(demand)) {
      found = change;
      break;
    }
    if (has_ended()) break;
  }
  apply(back);
  return found;
}

/// What may meet a demand: one size changed, or all in it or all but one made equal.
std::vector<SizeSolver::Change> SizeSolver::changes(const Demand& demand) {
  const auto open = open_groups(demand);
  std::vector<Change> changes;
  for (const std::size_t group : open) {
    if (demand.relation != SizeRelation::at_most) {
      if (const auto size = only_answer(demand, group)) changes.push_back({{group, *size}});
    }
    if (auto change = first_that_meets(demand, {group})) changes.push_back(*std::move(change));
    if (demand.relation == SizeRelation::stretched || demand.relation == SizeRelation::broadcast)
      changes.push_back({{group, 1}});
  }
  if (open.size() > 1) {
    if (auto change = first_that_meets(demand, open)) changes.push_back(*std::move(change));
  }
  // Height and width beside a batch.
  for (std::size_t left_out = 0; open.size() > 2 && left_out < open.size(); ++left_out) {
    std::vector<std::size_t> others = open;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    if (auto change = first_that_meets(demand, others)) changes.push_back(*std::move(change));
  }
  return changes;
}

double SizeSolver::extent(const Change& change) const {
  double extent = 0;
  for (const auto& [group, size] : change) {
    const double ratio = static_cast<double>(size) / static_cast<double>(groups_[group].size);
    extent += std::abs(std::log2(ratio)) * (groups_[group].is_hinted ? 4 : 1);
  }
  return extent;
}

/// Makes the change that leaves the least unmet, of several the smallest.
bool SizeSolver::improve(const Demand& demand) {
  std::optional<Change> best;
  std::int64_t least = -1;
  for (Change& change : changes(demand)) {
    const std::int64_t more = missed(change);
    if (more > least || (best && more == least && extent(change) >= extent(*best))) continue;
    least = more;
    best = std::move(change);
  }
  if (best) apply(*best);
  return best.has_value();
}

void SizeSolver::solve() {
  unite();
  while (!has_ended() && settle()) {
  }
  // What speaks of one size leaves less choice than what speaks of several.
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (std::size_t i = 0; i < demands_.size(); ++i) order.emplace_back(open_groups(demands_[i]).size(), i);
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    const Weight of_a = demands_[a.second].weight, of_b = demands_[b.second].weight;
    return of_a != of_b ? of_a > of_b : a < b;
  });
  bool improved = true;
  for (int round = 0; improved && round < most_rounds; ++round) {
    improved = false;
    for (const auto& [open, i] : order) {
      if (has_ended()) return;
      if (!is_met(demands_[i]) && improve(demands_[i])) improved = true;
    }
  }
}

void SizeSolver::grow() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::int64_t size = groups_[group].size;
    if (groups_[group].is_settled || size < 2 || size > greatest_tried) continue;
    const Change doubled{{group, 2 * size}};
    if (missed(doubled) <= 0) apply(doubled);
  }
}

void SizeSolver::shrink(const std::vector<Dim>& work, double most) {
  const auto total = [&] {
    double sum = 0;
    for (const Dim part : work) {
      const auto known = value(part);
      // What overflows is too much; what hangs on data is left out.
      if (known) sum += static_cast<double>(*known);
    }
    return sum;
  };
  double now = total();
  for (int step = 0; now > most && step < most_rounds && !has_ended(); ++step) {
    std::optional<Change> best;
    double least = now;
    // Of those that save much the greatest, so that no axis is left with everything.
    std::int64_t greatest = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const std::int64_t size = groups_[group].size;
      if (groups_[group].is_settled || size < 2) continue;
      const Change halved{{group, size / 2}};
      if (missed(halved) > 0) continue;
      apply(halved);
      const double after = total();
      apply({{group, size}});
      const bool saves_much = after < 0.8 * now;
      if (saves_much ? size > greatest || (size == greatest && after < least) : greatest == 0 && after < least) {
        if (saves_much) greatest = size;
        least = after;
        best = halved;
      }
    }
    if (!best) return;
    apply(*best);
    now = least;
  }
}

std::map<std::string, std::int64_t> SizeSolver::sizes() const {
  std::map<std::string, std::int64_t> sizes;
  for (std::size_t i = 0; i < free_.size(); ++i) sizes.emplace(free_[i].name, groups_[group_[i]].size);
  return sizes;
}

std::map<std::string, std::int64_t> SizeSolver::settled() const {
  std::map<std::string, std::int64_t> sizes;
  for (std::size_t i = 0; i < free_.size(); ++i) {
    if (groups_[group_[i]].is_settled) sizes.emplace(free_[i].name, groups_[group_[i]].size);
  }
  return sizes;
}

std::vector<std::size_t> SizeSolver::contradicted() const {
  std::vector<std::size_t> subjects;
  for (const Demand& demand : demands_) {
    if (demand.weight == Weight::must && open_groups(demand).empty() && !is_met(demand))
      subjects.push_back(demand.subject);
  }
  return subjects;
}

std::vector<std::size_t> SizeSolver::unmet() const {
  std::vector<std::size_t> subjects;
  for (const Demand& demand : demands_) {
    if (demand.weight == Weight::must && !is_met(demand)) subjects.push_back(demand.subject);
  }
  return subjects;
}

}  // namespace onnxkit::inputs
