#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/diff.h"
#include "onnxkit/value.h"

// Which values of two graphs are the same, where names do not say it: exporters, simplifiers and frameworks name values as they like, fuse nodes
// and move channels. First by name, then by content on the same inputs, then by where a value lies between others that are matched.
namespace onnxkit::diffing {

/// What a value holds, whatever the order of its axes.
struct ContentSummary {
  bool is_known = false;           ///< of a tensor of numbers
  bool is_real = false;            ///< of floating type
  std::vector<std::int64_t> dims;  ///< ascending, without those of 1
  std::uint64_t finite = 0;        ///< so many elements; the figures below are of these
  double sum = 0, magnitude = 0, squares = 0, least = 0, greatest = 0;
};
ContentSummary summarize(const Value& value);

/// A value that a node writes, or an input of the graph.
struct InnerValue {
  std::string name;
  std::string op;                 ///< that writes it, in its framework's terms; input_op for an input
  std::vector<std::size_t> from;  ///< what that reads, of the values before this one; weights and constants are none
  ContentSummary content;
};

struct ValuePair {
  std::size_t base, side;
  MatchedBy by;
};

inline constexpr std::string_view input_op = "input";

struct MatchOptions {
  bool rounded = false;  ///< one of them was computed in float32
  bool by_name = true;   ///< equal names may be the same value
  std::map<std::string, std::string> same = {};  ///< names of the base and of the side that mean the same
};

/// Pairs of values of two graphs, each listed in an order of execution; in the order of `base`.
std::vector<ValuePair> correspond(const std::vector<InnerValue>& base, const std::vector<InnerValue>& side,
                                  const MatchOptions& options);

}  // namespace onnxkit::diffing
