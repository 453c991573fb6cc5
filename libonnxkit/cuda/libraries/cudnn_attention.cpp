#include "libonnxkit/cuda/libraries/cudnn_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/libraries/epilogue.h"

namespace onnxkit::cuda {
namespace {

using Mode = cudnn::PointwiseMode;
using GraphTensor = CudnnGraph::Tensor;

// What the engines ask of operands: 16 bytes of the head's numbers at once.
constexpr std::int64_t numbers_at_once = 8, most_head = 128, least_alignment = 16;

/// Of axes of one element as if the rest were dense. Nothing where numbers are not side by side, or an axis repeats or runs backwards.
std::optional<Dims> strides_of(const View& view) {
  Dims strides(view.rank(), 1);
  std::int64_t dense = 1;
  for (std::size_t axis = view.rank(); axis-- > 0;) {
    strides[axis] = view.dims[axis] == 1 ? dense : view.strides[axis];
    if (strides[axis] < 1 || (axis + 1 == view.rank() && strides[axis] != 1)) return std::nullopt;
    dense = std::max(dense, strides[axis] * view.dims[axis]);
  }
  return strides;
}

/// Why the engines would not take an operand whose rows are heads; nothing when they would.
std::optional<std::string> fault_of(const plan::Plan& plan, const View& view) {
  const auto strides = strides_of(view);
  if (!strides) return "an operand that repeats, or whose heads do not lie side by side";
  if (view.dims[3] % numbers_at_once != 0 || view.dims[3] > most_head)
    return fmt::format("heads of {} numbers; engines take multiples of {} up to {}", view.dims[3], numbers_at_once,
                       most_head);
  const bool is_aligned =
      alignment_of(plan, view) % least_alignment == 0 &&
      std::all_of(strides->begin(), strides->end() - 1, [](auto stride) { return stride % numbers_at_once == 0; });
  return is_aligned ? std::nullopt
                    : std::optional<std::string>("an operand that does not lie at multiples of 16 bytes");
}

/// Whether each query sees a key: where it sees none, an attention gives 0 and cuDNN does not say what it gives.
bool sees_in_each_row(const plan::Plan& plan, const View& mask) {
  const onnxkit::Tensor& content = plan.constants[plan.buffers[mask.buffer].index];
  std::vector<double> all(static_cast<std::size_t>(content.size()));
  decode(content.type(), content.bytes(), std::span<double>(all));
  const auto& d = mask.dims;
  const auto& s = mask.strides;
  for (std::int64_t row = 0; row < d[0] * d[1] * d[2]; ++row) {
    const std::int64_t at = mask.offset + row / (d[1] * d[2]) * s[0] + row / d[2] % d[1] * s[1] + row % d[2] * s[2];
    bool sees = false;
    for (std::int64_t column = 0; column < d[3] && !sees; ++column)
      sees = std::isfinite(all[static_cast<std::size_t>(at + column * s[3])]);
    if (!sees) return false;
  }
  return true;
}

class AttentionWriter {
 public:
  AttentionWriter(const plan::Step& step, const Preparation& preparation, std::shared_ptr<CudnnSession> session)
      : step_(step),
        preparation_(preparation),
        of_(static_cast<const plan::AttentionParameters&>(*step.parameters)),
        is_new_(session->functions.version() >= first_with_infinity),
        draft_(std::move(session), preparation.plan) {}

  Result<CudnnWritten> write() {
    if (auto fault = refuse()) return make_error("not-supported", *fault);
    const View &q = step_.inputs[0], &k = step_.inputs[1], &to = step_.outputs[0];
    scores_ = {q.dims[0], q.dims[1], q.dims[2], k.dims[2]};
    View keys = k;  // the second factor of a product: [batch, heads, size, columns]
    std::swap(keys.dims[2], keys.dims[3]);
    Dims key_strides = *strides_of(k);
    std::swap(key_strides[2], key_strides[3]);
    const GraphTensor queries = operand(q, q.dims, *strides_of(q)), columns = operand(k, keys.dims, key_strides);
    GraphTensor now = between();
    draft_.graph().multiply(queries, columns, now);
    now = apply(Mode::multiply, now, number(of_.scale));
    if (step_.inputs.size() > 3) now = apply(Mode::add, now, mask());
    if (of_.is_causal) now = causal(now);
    now = softmax(now);
    const View& v = step_.inputs[2];
    const GraphTensor values = operand(v, v.dims, *strides_of(v)), result = operand(to, to.dims, *strides_of(to));
    draft_.graph().multiply(now, values, result);
    draft_.describe(fmt::format("attention {} {}", of_.scale, of_.is_causal));
    return draft_.take();
  }

 private:
  static constexpr std::size_t first_with_infinity = 91000;

  std::optional<std::string> refuse() const {
    const View &q = step_.inputs[0], &k = step_.inputs[1], &v = step_.inputs[2], &to = step_.outputs[0];
    if (q.type != ElementType::float16 && q.type != ElementType::bfloat16)
      return fmt::format("fused attention of {}", name_of(q.type));
    if (k.type != q.type || v.type != q.type || to.type != q.type) return "operands of two types";
    if (of_.softcap != 0) return "scores that are capped";
    if (of_.is_causal && of_.causal_offset != 0) return "a causal mask that does not begin at the first key";
    for (const View* view : {&q, &k, &v, &to}) {
      if (may_overlap(preparation_.plan, *view, to) && view != &to)
        return "an operand lies where the result is written";
      if (auto fault = fault_of(preparation_.plan, *view)) return fault;
    }
    if (q.dims[1] % k.dims[1] != 0 || v.dims[1] != k.dims[1]) return "heads that keys and values do not share alike";
    if (step_.inputs.size() < 4) return std::nullopt;
    const View mask = plan::without_repetition(step_.inputs[3]);
    if (!cudnn_type_of(mask.type) || !strides_of(mask)) return "a mask whose rows are not side by side";
    if (of_.leaves_blind) return std::nullopt;
    if (!preparation_.is_constant(mask) ||
        preparation_.plan.constants[preparation_.plan.buffers[mask.buffer].index].size() == 0)
      return "a mask that only the run tells, which may hide all keys from a query";
    return sees_in_each_row(preparation_.plan, mask)
               ? std::nullopt
               : std::optional<std::string>("a mask that hides all keys from a query");
  }

  GraphTensor operand(const View& view, const Dims& dims, const Dims& strides) {
    return draft_.operand(view, dims, strides);
  }
  GraphTensor number(double value) { return draft_.number(value, scores_.size()); }
  GraphTensor mask() {
    const View view = plan::without_repetition(step_.inputs[3]);
    return operand(view, view.dims, *strides_of(view));
  }

  /// Of the scores' sizes, or with one element for each row.
  GraphTensor between(cudnn::DataType type = cudnn::DataType::f32) {
    return draft_.graph().inner(type, scores_, plan::row_major_strides(scores_));
  }
  GraphTensor of_rows() {
    const Dims rows = {scores_[0], scores_[1], scores_[2], 1};
    return draft_.graph().inner(cudnn::DataType::f32, rows, plan::row_major_strides(rows));
  }
  GraphTensor apply(Mode mode, GraphTensor x, std::optional<GraphTensor> b = std::nullopt) {
    const GraphTensor y = between();
    draft_.graph().apply({.mode = mode}, x, b ? &*b : nullptr, y);
    return y;
  }

  /// Row i sees columns up to i.
  GraphTensor causal(GraphTensor scores) {
    const GraphTensor row = between(cudnn::DataType::int32), column = between(cudnn::DataType::int32);
    draft_.graph().apply({.mode = Mode::index, .axis = 2}, scores, nullptr, row);
    draft_.graph().apply({.mode = Mode::index, .axis = 3}, scores, nullptr, column);
    const GraphTensor sees = between(cudnn::DataType::boolean);
    draft_.graph().apply({.mode = Mode::greater_or_equal, .precision = cudnn::DataType::boolean}, row, &column, sees);
    const GraphTensor hidden =
        number(is_new_ ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::lowest());
    const GraphTensor y = between();
    draft_.graph().apply({.mode = Mode::select}, scores, &hidden, y, &sees);
    return y;
  }

  /// The weights are of the operands' type, as the second product wants them.
  GraphTensor softmax(GraphTensor scores) {
    const GraphTensor most = of_rows(), sum = of_rows();
    draft_.graph().reduce(cudnn::ReductionMode::maximum, scores, most);
    const GraphTensor powers = apply(Mode::exponential, apply(Mode::subtract, scores, most));
    draft_.graph().reduce(cudnn::ReductionMode::add, powers, sum);
    // Nobody reads the logarithm of the sums; cuDNN 9.26 has no engine for the graph without it.
    const GraphTensor logarithm = of_rows(), statistics = of_rows();
    draft_.graph().apply({.mode = Mode::logarithm}, sum, nullptr, logarithm);
    draft_.graph().apply({.mode = Mode::add}, most, &logarithm, statistics);
    const GraphTensor weights = between(*cudnn_type_of(step_.inputs[0].type));
    draft_.graph().apply({.mode = Mode::divide}, powers, &sum, weights);
    return weights;
  }

  const plan::Step& step_;
  const Preparation& preparation_;
  const plan::AttentionParameters& of_;
  bool is_new_;
  CudnnDraft draft_;
  Dims scores_;
};

}  // namespace

Result<CudnnWritten> write_attention(const plan::Step& step, const Preparation& preparation,
                                     std::shared_ptr<CudnnSession> session) {
  return AttentionWriter(step, preparation, std::move(session)).write();
}

}  // namespace onnxkit::cuda
