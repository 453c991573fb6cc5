#pragma once

#include <limits>

#include "libonnxkit/plan/compose.h"

// What lowerings of attention have in common.
namespace onnxkit::plan {

inline constexpr std::int64_t heads_before_rows[] = {0, 2, 1, 3};
/// What hides a score.
inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// [batch, heads, rows, size] of [batch, rows, heads * size]; nothing where heads do not divide the last axis.
std::optional<View> split_heads(LowerCall& call, const View& view, std::int64_t heads);
/// With the numbers of a row side by side, as attention steps read them.
View with_side_by_side_rows(LowerCall& call, const View& view);
/// Past keys or values, then new ones, along the axis of rows: one copy of either.
View joined_rows(LowerCall& call, const View& past, const View& now);

/// The same integers as int64; one below `least` or above `greatest` ends the run with an error.
View checked_numbers(LowerCall& call, const View& view, std::int64_t least, std::int64_t greatest);

/// What is added to scores [batch, heads, rows, columns]: masks, and conditions on positions. It becomes one map, over the axes that its operands have.
class ScoreBias {
 public:
  using Number = Expression::Number;

  ScoreBias(LowerCall& call, Dims scores) : call_(call), scores_(std::move(scores)) {}

  Expression& expression() { return expression_; }
  /// An operand that broadcasts to the scores.
  Number operand(const View& view, Lane lane);
  /// The number of the row or the column, i64.
  Number row();
  Number column();
  void add(Number bias);
  /// A mask of numbers; as it is where it stays alone.
  void add(const View& bias);
  /// `hidden` is added to scores for which the condition, an i64, is 0.
  void require(Number condition, double hidden);
  /// Of the sizes of the scores; nothing when nothing is added.
  std::optional<View> made();

 private:
  LowerCall& call_;
  Dims scores_;
  Expression expression_;
  std::vector<View> inputs_;
  std::optional<Number> row_, column_, sum_;
  bool is_one_view_ = false;
};

/// The forms of mask_index and key_padding_mask of com.microsoft; what is masked gets mask_filter_value added. Scores are [batch, heads, rows, columns].
Unlowered add_padding_mask(LowerCall& call, std::size_t input, const Dims& scores, ScoreBias& bias);
/// attention_bias of com.microsoft, which may have more columns than there are keys.
Unlowered add_attention_bias(LowerCall& call, std::size_t input, const Dims& scores, ScoreBias& bias);
/// The attribute `scale` of com.microsoft, or one by the size of the heads.
double scale_or_usual(LowerCall& call, std::int64_t size);

struct Attending {
  View q, k, v;
  std::optional<View> bias = {};
  AttentionParameters parameters = {};
  bool joins_heads = false;  ///< the result is [batch, rows, heads * size]
};
/// The attention step; its result is output 0 of the call. Nothing where the sizes do not fit.
Unlowered attend(LowerCall& call, const Attending& attending);
/// q k^T * scale of the sizes of the scores.
View scores_of(LowerCall& call, const Attending& attending);

}  // namespace onnxkit::plan
