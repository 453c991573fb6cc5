#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::inputs {

/// Text or integers that nodes look up or compare with.
struct KnownElements {
  std::vector<std::string> words;  ///< for elements of every column
  /// For those at a position of the last axis, which a node takes out alone; may be shorter than the axis.
  std::vector<std::vector<std::string>> words_of_columns;
  std::vector<std::int64_t> numbers;
  bool are_compared = true;  ///< no node looks numbers up
  bool is_split = false;     ///< text is split into words before they are looked up
  bool has_others = true;    ///< elements that are not among them are no error
  std::string at;            ///< the first such node: "main / node 4 (OneHotEncoder)"

  /// Those of the column, or of all where it has none of its own.
  const std::vector<std::string>& words_of(std::size_t column) const {
    return column < words_of_columns.size() && !words_of_columns[column].empty() ? words_of_columns[column] : words;
  }
  bool has_words() const { return !words.empty() || !words_of_columns.empty(); }
};

/// What the nodes that a tensor input of the main graph reaches know: categories, keys, words of a vocabulary, integers of a comparison. The input is
/// followed through operators that only move it, normalize or split text. nullopt when there is nothing.
std::optional<KnownElements> known_elements(const ir::Model& model, const spec::OpTable& table, ir::ValueId input);

}  // namespace onnxkit::inputs
