#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace onnxkit::layout {

/// Chooses 0 or 1 for each of some variables so that a sum of costs of one or two variables is least, by a minimum cut.
class BinaryChoice {
 public:
  explicit BinaryChoice(std::size_t variables) : edges_of_(variables + 2) {}

  /// Costs of a variable being 0 and being 1, at least 0.
  void add_cost(std::size_t variable, std::int64_t zero, std::int64_t one);
  /// The cost of a being 0 while b is 1. At least 0.
  void add_cost_of_difference(std::size_t a, std::size_t b, std::int64_t cost);

  /// The choice, by variable.
  std::vector<bool> least();

 private:
  struct Edge {
    std::size_t to;
    std::int64_t capacity;
  };
  std::size_t source() const { return edges_of_.size() - 2; }
  std::size_t sink() const { return edges_of_.size() - 1; }
  void add_edge(std::size_t from, std::size_t to, std::int64_t capacity);
  bool find_levels();
  std::int64_t push(std::size_t at, std::int64_t most);

  std::vector<Edge> edges_;  ///< each followed by its reverse
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<std::int32_t> level_;
  std::vector<std::size_t> next_;
};

}  // namespace onnxkit::layout
