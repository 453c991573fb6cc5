#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/diagnostic.h"

namespace onnxkit::foreign {

/// A node that has no counterpart on the other side.
struct Refusal {
  std::string op, reason, help;
  std::string node_name;
  std::string source;                    ///< lines of the user's program
  std::optional<std::size_t> index = 0;  ///< none: nobody knows the place
  std::size_t count = 1;
};

/// All of a model: those of one operator with one reason are one entry, with the first node.
class Refusals {
 public:
  void add(Refusal refusal);
  bool empty() const { return entries_.empty(); }
  std::vector<Diagnostic> findings() const;
  /// "an operator", "3 operators"
  std::string counted_operators() const;

 private:
  std::vector<Refusal> entries_;
};

}  // namespace onnxkit::foreign
