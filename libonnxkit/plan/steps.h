#pragma once

#include <optional>
#include <vector>

#include "libonnxkit/plan/blocked_weights.h"
#include "libonnxkit/plan/plan.h"
#include "libonnxkit/spec/tree_ensemble.h"

// The kinds of steps that lowerings emit, and what each is told. A backend that has no kernel for a kind cannot run plans that hold it.
namespace onnxkit::plan {

/// output = expression(inputs), element by element. All views have the sizes of the output.
inline constexpr StepKind map_step{.name = "map",
                                   .reads = OperandTypes::any,
                                   .writes = OperandTypes::any,
                                   .order = OutputOrder::any,
                                   .narrowed_constants = 0};
struct MapParameters : Parameters {
  Expression expression;
  std::string text() const override { return expression.text(); }
  const Expression* elementwise() const override { return &expression; }
  std::shared_ptr<const Parameters> with_elementwise(Expression other) const override;
};

/// output = input, of the same sizes and the same stored type.
inline constexpr StepKind copy_step{.name = "copy", .order = OutputOrder::any};

/// output[..., m, n] = epilogue(sum over k of a[..., m, k] * b[..., k, n], rest of the inputs). All views have the output's leading sizes. Input 0 of
/// the epilogue is the sum, the rest are the inputs from the third on, of the sizes of the output. a, b and the output are all float32, but for
/// constants b of float16 and bfloat16, or all float64, or all int64 (sums wrap); there is no epilogue for the last two. Where `blocks` says how b is packed,
/// b is the constant of uint8 that holds the numbers, and there are no leading axes.
inline constexpr StepKind product_step{.name = "product",
                                       .reads = OperandTypes::converted,
                                       .writes = OperandTypes::any,
                                       .order = OutputOrder::any,
                                       .multiplies = true};
struct ProductParameters : Parameters {
  Expression epilogue;                           ///< empty: none
  std::shared_ptr<const BlockedWeights> blocks;  ///< null: b is a matrix of the elements that it is made of
  bool has_exact_sums = false;                   ///< as is_exact()
  std::string text() const override;
  const Expression* elementwise() const override { return &epilogue; }
  std::shared_ptr<const Parameters> with_elementwise(Expression other) const override;
  bool is_exact() const override { return has_exact_sums; }
};

/// Each row times the matrix that it chooses: output[i, j] = a[i, j] * b[choices[i, j]]. a [rows, times, k], the last axis side by side, with stride 0
/// along `times` where a row is multiplied by several matrices; b [groups, k, n]; choices [rows, times] of int64, of which one outside of the groups
/// ends the run with an error; output [rows, times, n], it and the choices in row-major order. a and the output are float32, b as that of a product.
/// Where `blocks` says how b is packed, b is the constant of uint8 that holds the numbers: n columns for each group, one group behind the other.
inline constexpr StepKind grouped_product_step{.name = "grouped_product",
                                               .reads = OperandTypes::any,
                                               .writes = OperandTypes::any,
                                               .first_exact_input = 2,
                                               .multiplies = true};
struct GroupedProductParameters : Parameters {
  std::shared_ptr<const BlockedWeights> blocks;  ///< null: b holds the matrices
  std::string text() const override;
};

/// How many matrices a grouped product has.
std::int64_t groups_of(const Step& grouped_product);

/// As ONNX's Conv on [n, c, h, w] with the weights [m, c / groups, kh, kw]; an epilogue as of a product over the inputs from the third on.
inline constexpr StepKind convolution_step{.name = "convolution",
                                           .reads = OperandTypes::converted,
                                           .writes = OperandTypes::converted,
                                           .order = OutputOrder::any,
                                           .wants_constants_early = true,
                                           .multiplies = true};
struct ConvolutionParameters : Parameters {
  std::int64_t groups = 1;
  Dims strides, dilations, pads;  ///< pads as in ONNX: begins, then ends
  Expression epilogue;
  bool has_exact_sums = false;  ///< as is_exact()
  std::string text() const override;
  const Expression* elementwise() const override { return &epilogue; }
  std::shared_ptr<const Parameters> with_elementwise(Expression other) const override;
  bool is_exact() const override { return has_exact_sums; }
};

/// Sums of products of integers of 8 bits: a convolution as above without an epilogue, exact in 32 bits, which wrap. Inputs: the image, int8 or uint8;
/// constant weights of either type; the zero point of the image, one number, which padding counts as; and perhaps a bias [m] of int32. The output holds the
/// sums as int32, or int8 or uint8 where they are requantized.
inline constexpr StepKind integer_convolution_step{.name = "integer_convolution", .multiplies = true};
struct IntegerConvolutionParameters : Parameters {
  std::int64_t groups = 1;
  Dims strides, dilations, pads;
  std::vector<std::int64_t> weight_zeros;  ///< one, or one for each filter; less them the weights fit int8
  /// round(sum * factor / divisor) + zero, in float64, kept from lower to upper.
  struct Requantization {
    std::vector<double> factors;  ///< one, or one for each filter
    double divisor = 1;
    std::int64_t zero = 0, lower = 0, upper = 0;
  };
  std::optional<Requantization> requantization;
  std::string text() const override;
};

/// MaxPool and AveragePool on [n, c, h, w].
inline constexpr StepKind pool_step{.name = "pool", .reads = OperandTypes::any, .writes = OperandTypes::any};
struct PoolParameters : Parameters {
  bool is_maximum = true, counts_padding = false;
  Dims kernel, strides, dilations, pads;
  std::string text() const override;
  bool is_choice() const override { return is_maximum; }
};

/// output = reduction over the axes of the input that lie behind those of the output. Both are float32, float64 or int64 (sums and products wrap).
/// The greatest and the least of numbers with a NaN is NaN.
inline constexpr StepKind reduce_step{.name = "reduce", .reads = OperandTypes::any, .writes = OperandTypes::any};
enum class Reduction : std::uint8_t { sum, mean, maximum, minimum, product };  ///< mean: not of int64
struct ReduceParameters : Parameters {
  Reduction reduction = Reduction::sum;
  std::string text() const override;
  bool is_choice() const override { return reduction == Reduction::maximum || reduction == Reduction::minimum; }
};

/// Softmax along the last axis, on views in row-major order.
inline constexpr StepKind softmax_step{.name = "softmax", .reads = OperandTypes::any, .writes = OperandTypes::any};
struct SoftmaxParameters : Parameters {
  bool is_log = false;
  std::string text() const override { return is_log ? "log" : ""; }
};

/// Inputs x [rows, n] in row-major order, scale [n], maybe bias [n].
inline constexpr StepKind normalize_step{.name = "normalize", .reads = OperandTypes::any, .writes = OperandTypes::any};
struct NormalizeParameters : Parameters {
  double epsilon = 1e-5;
  bool centers = true;  ///< subtracts the mean: LayerNormalization, not RMSNormalization
  std::string text() const override;
};

/// Rows rounded to float8e4m3fn. Input [..., n] of real numbers, the last axis side by side and rows evenly apart; outputs [..., n] of float8e4m3fn and
/// [...] of float32, both in row-major order: a power of two for each row, times which the numbers are what they were, the greatest between 224 and 448.
/// A row with an infinity or NaN has the power NaN.
inline constexpr StepKind quantize_rows_step{
    .name = "quantize_rows", .reads = OperandTypes::any, .writes = OperandTypes::any};

/// softmax(cap(q k^T * scale) + mask) v, where cap(x) is softcap * tanh(x / softcap), or x without one. q [batch, heads, rows, size], k and v [batch, heads, columns, size], mask of the scores' sizes. The innermost
/// axis of q, k and v has stride 1.
inline constexpr StepKind attention_step{.name = "attention",
                                         .order = OutputOrder::rows,
                                         .first_exact_input = 3,
                                         .wants_constants_early = true,
                                         .multiplies = true};
struct AttentionParameters : Parameters {
  double scale = 1;
  double softcap = 0;      ///< 0: none
  bool is_causal = false;  ///< row i sees columns up to i + causal_offset
  std::int64_t causal_offset = 0;
  bool mask_replaces = false;  ///< the mask is 0 or takes a score's place, in which a NaN is gone
  double blind = 0;            ///< what a query gets that sees no key: 0, or NaN as of a softmax of infinities
  bool leaves_blind = false;   ///< no query is without keys, or a step behind writes what it gets
  std::string text() const override;
};

/// output = data taken at integer positions along one axis: inputs data [outer, n, inner] and positions, either one list or a list for each of the
/// outer parts, [outer, positions]; negative ones count from the end. Output [outer, positions, inner].
inline constexpr StepKind gather_step{.name = "gather", .reads = OperandTypes::any, .writes = OperandTypes::any};

/// Sums of rows that the run chooses, times weights: output[i, p, j] = sum over t of weights[i, p, t] * data[i, positions[i, p, t], j], or the greatest
/// of these terms. A negative position is no row, one behind the last row ends the run with an error; a point without rows is 0. Inputs: data
/// [outer, rows, columns], positions of int64 and weights [outer, points, taps]; output [outer, points, columns]. Data, weights and output are all
/// float32 or all float64.
inline constexpr StepKind weighted_gather_step{
    .name = "weighted_gather", .reads = OperandTypes::any, .writes = OperandTypes::any, .first_exact_input = 1};
struct WeightedGatherParameters : Parameters {
  bool takes_greatest = false;
  std::string text() const override { return takes_greatest ? "greatest" : ""; }
};

/// output = data with updates at integer positions along its first axis: inputs data [n, inner], positions [count] of int64, updates [count, inner];
/// output as data. Updates come one after the other: the last one stays, or each is combined with what is there. A position outside the axis, of
/// which negative ones count from the end, ends the run with an error. All in row-major order; data, updates and output of one stored type.
inline constexpr StepKind scatter_step{.name = "scatter"};
enum class Combination : std::uint8_t { replace, add, multiply, maximum, minimum };
struct ScatterParameters : Parameters {
  Combination combination = Combination::replace;
  std::string text() const override;
};

/// Sums or products of all numbers up to each one along the middle axis, or of all behind: input and output [outer, n, inner] in row-major order, both
/// float32, float64 or int64, which wraps.
inline constexpr StepKind cumulative_step{.name = "cumulative"};
struct CumulativeParameters : Parameters {
  bool is_product = false;
  bool is_exclusive = false;  ///< without the number itself
  bool is_reverse = false;    ///< from the end
  std::string text() const override;
};

/// The k first elements along the last axis in falling or rising order, of equal ones those that come first; NaN is greater than all others. Input
/// [..., n] in row-major order, of float32, float64 or int64; outputs [..., k] of the same type and their positions, of int64.
inline constexpr StepKind top_k_step{.name = "top_k"};
struct TopKParameters : Parameters {
  bool is_largest = true;
  std::string text() const override { return is_largest ? "largest" : "smallest"; }
};

/// RNN, GRU or LSTM in one direction over time, float32; the products of its input come from a product step in front. Inputs: those products with the
/// biases [time, batch, gates * units] whose last axis has stride 1, the recurrent weights [gates * units, units], the first state [batch, units], and
/// as far as they are there: of LSTM the first cell state [batch, units]; the bias [units] of GRU's candidate that the reset gate scales; of LSTM the
/// peepholes [3 * units]; the lengths [batch], of int32. Outputs: the states [time, batch, units], 0 behind the end of a sequence, the last one
/// [batch, units], and of LSTM the last cell state. The last axis of outputs has stride 1. A length beyond `time` ends the run with an error.
inline constexpr StepKind recurrent_step{.name = "recurrent",
                                         .reads = OperandTypes::any,
                                         .writes = OperandTypes::any,
                                         .has_exact_outputs = true,
                                         .narrowed_constants = 0b10,
                                         .multiplies = true};
enum class Cell : std::uint8_t { rnn, gru, lstm };
struct Activation {
  enum class Function : std::uint8_t {
    sigmoid,
    tanh,
    relu,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus,
  };
  Function function = Function::tanh;
  float alpha = 0, beta = 0;
};
struct RecurrentParameters : Parameters {
  Cell cell = Cell::rnn;
  bool is_reverse = false;
  bool resets_behind = false;  ///< GRU's linear_before_reset: the reset gate scales the product, not the state
  bool couples = false;        ///< LSTM's input_forget
  bool has_peepholes = false, has_lengths = false;
  bool rounds_state = false;  ///< in front of products: all rows to uint8 by the range that they have, 0 in it
  std::vector<Activation> activations;  ///< one for RNN, two for GRU, three for LSTM
  std::optional<float> clip;            ///< of what activations get, but for that of LSTM's cell state
  std::string text() const override;
};

/// Linear attention: a state S [keys, values] of each head, which every point in time decays, writes to and reads from, one after the other.
/// S = exp(decay) S, then S = S + k (x) w, where w is v, or rate * (v - S^T k); the result is scale * S^T q. Inputs: q, k [batch, heads, time, keys],
/// v [batch, states, time, values], the first states [batch, states, keys, values], and as far as they are there the decay [batch, states, time, keys
/// or 1] and the rate [batch, states or 1, time, 1]. Outputs: the results [batch, heads, time, values] and the last states. q and k have as many heads
/// as the results and states, or a number that divides theirs: each then belongs to several that follow one another; the results have as many as q and
/// v at most. The last axis of all but decay and rate has stride 1.
inline constexpr StepKind linear_attention_step{.name = "linear_attention",
                                                .reads = OperandTypes::any,
                                                .writes = OperandTypes::any,
                                                .first_exact_input = 3,
                                                .has_exact_outputs = true,
                                                .narrowed_constants = 0,
                                                .multiplies = true};
struct LinearAttentionParameters : Parameters {
  double scale = 1;
  bool has_decay = false, has_rate = false;
  std::string text() const override;
};

/// Tree ensembles: output[i, target] combines the weights of that target in the leaves in which row i ends, one leaf of each tree; 0 where none of them
/// has the target. Inputs: rows [rows, features], the last axis side by side, of float32 or float64; constants: thresholds [nodes] of the same type,
/// nodes [nodes, 3] of int32, roots [trees] of int32, targets [weights] of int32 and weights [weights] of float64. Output [rows, targets] of float64.
/// A node is its kind (TreeKind) and where it goes on when the comparison of its feature with its threshold holds, and when not; a leaf is its kind,
/// its first weight, and the one behind its last. Paths end, and all indices are within what they count.
inline constexpr StepKind tree_ensemble_step{
    .name = "tree_ensemble", .first_exact_input = 0, .has_exact_outputs = true, .narrowed_constants = 0};
struct TreeEnsembleParameters : Parameters {
  Reduction reduction = Reduction::sum;  ///< not product; a mean is that over all trees
  std::int64_t deepest = 0;              ///< comparisons on the longest path of a tree
  std::string text() const override;
};
/// Of a node: feature * 16 + spec::TreeMode, not `member`, and 8 where a feature that is NaN goes on as if the comparison held.
struct TreeKind {
  static constexpr std::int32_t mode = 7, nan_holds = 8;
  static constexpr int feature_shift = 4;
  static constexpr std::int64_t most_features = std::int64_t{1} << 27;

  static constexpr spec::TreeMode mode_of(std::int32_t kind) { return static_cast<spec::TreeMode>(kind & mode); }
};

class ControlFlow;

/// A node on the kernel of the reference. Outputs may be slots.
inline constexpr StepKind host_step{.name = "host",
                                    .first_exact_input = 0,
                                    .has_exact_outputs = true,
                                    .narrowed_constants = 0,
                                    .wants_constants_early = true};
struct HostParameters : Parameters {
  std::shared_ptr<const ir::Model> model;  ///< the node with its inputs and outputs, in the order of the step's
  std::string op, reason;
  std::shared_ptr<ControlFlow> control;  ///< runs the node in place of the reference, its bodies as plans
  /// Why it is not computed by steps; of a node with bodies that the last run gave to the reference as a whole, why that.
  std::string said() const;
  std::string text() const override { return op + ": " + said(); }
};

/// Operands of a map that are the same become one, so that one reader of a value is seen as one.
void merge_operands(Step& map);

/// By buffer: an operand of some step that keeps its type in every precision. Masks do, whose lowest numbers are infinite in float16, and states of
/// recurrences, which are rounded once for every point in time.
std::vector<bool> exact_buffers(const Plan& plan);

/// All results of the step have no elements: backends make no kernel for it, so kernels need not ask for that, nor for memory that is not there.
bool writes_nothing(const Plan& plan, const Step& step);

/// By buffer: a step reads it.
std::vector<bool> read_buffers(const Plan& plan);

}  // namespace onnxkit::plan
