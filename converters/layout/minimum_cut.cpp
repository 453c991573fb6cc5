#include "converters/layout/minimum_cut.h"

#include <algorithm>
#include <limits>

namespace onnxkit::layout {

// Those on the side of the source are 0.
void BinaryChoice::add_cost(std::size_t variable, std::int64_t zero, std::int64_t one) {
  const std::int64_t shared = std::min(zero, one);
  if (one > shared) add_edge(source(), variable, one - shared);
  if (zero > shared) add_edge(variable, sink(), zero - shared);
}

void BinaryChoice::add_cost_of_difference(std::size_t a, std::size_t b, std::int64_t cost) {
  if (cost > 0) add_edge(a, b, cost);
}

void BinaryChoice::add_edge(std::size_t from, std::size_t to, std::int64_t capacity) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

bool BinaryChoice::find_levels() {
  level_.assign(edges_of_.size(), -1);
  level_[source()] = 0;
  std::vector<std::size_t> queue = {source()};
  for (std::size_t q = 0; q < queue.size(); ++q)
    for (const std::size_t e : edges_of_[queue[q]]) {
      if (edges_[e].capacity == 0 || level_[edges_[e].to] >= 0) continue;
      level_[edges_[e].to] = level_[queue[q]] + 1;
      queue.push_back(edges_[e].to);
    }
  return level_[sink()] >= 0;
}

/// Sends flow along one path of ascending levels. Paths are followed on a stack of our own, as graphs may be deep.
std::int64_t BinaryChoice::push(std::size_t start, std::int64_t most) {
  std::vector<std::size_t> path;  // edges
  std::size_t at = start;
  while (at != sink()) {
    bool goes_on = false;
    for (std::size_t& n = next_[at]; n < edges_of_[at].size(); ++n) {
      const Edge& edge = edges_[edges_of_[at][n]];
      if (edge.capacity == 0 || level_[edge.to] != level_[at] + 1) continue;
      path.push_back(edges_of_[at][n]);
      at = edge.to;
      goes_on = true;
      break;
    }
    if (goes_on) continue;
    if (path.empty()) return 0;
    at = edges_[path.back() ^ 1].to;  // a dead end
    path.pop_back();
    ++next_[at];
  }
  for (const std::size_t e : path) most = std::min(most, edges_[e].capacity);
  for (const std::size_t e : path) edges_[e].capacity -= most, edges_[e ^ 1].capacity += most;
  return most;
}

std::vector<bool> BinaryChoice::least() {
  while (find_levels()) {
    next_.assign(edges_of_.size(), 0);
    while (push(source(), std::numeric_limits<std::int64_t>::max()) > 0) {
    }
  }
  std::vector<bool> choice(edges_of_.size() - 2);
  for (std::size_t v = 0; v < choice.size(); ++v) choice[v] = level_[v] < 0;
  return choice;
}

}  // namespace onnxkit::layout
