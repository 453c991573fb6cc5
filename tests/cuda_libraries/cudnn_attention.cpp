// Attention in the stand-in for libcudnn: a graph must be the one of cuDNN's fused engines, operation by operation.
#include <algorithm>
#include <cmath>

#include "tests/cuda_libraries/cudnn_nodes.h"

namespace onnxkit::cuda_libraries {
namespace {

/// Reads operations one after the other; the first that is not as it must be ends it.
class Reader {
 public:
  explicit Reader(const Node& graph) : operations_(graph.all<Descriptor>(Attribute::graph_operations)) {}

  std::optional<Attention> read() {
    Attention all;
    std::optional<Tensor> scores = product(&all.q, &all.k);
    if (!scores || !is_inner(*scores, ElementType::float32) || !fits_first(all, *scores)) return std::nullopt;
    scores_ = *scores;
    const auto scaled = pointwise(PointwiseMode::multiply, *scores);
    if (!scaled || !is_number(*scaled->b)) return std::nullopt;
    all.scale = *scaled->b;
    Tensor now = scaled->y;
    if (const auto added = pointwise(PointwiseMode::add, now)) {
      if (added->b->is_virtual || added->b->is_by_value) return std::nullopt;
      all.mask = added->b;
      now = added->y;
    }
    if (peek(PointwiseMode::index) && !read_causal(all, now)) return std::nullopt;
    const auto weights = softmax(now, all.q.type);
    if (!weights) return std::nullopt;
    Tensor a;
    const auto y = product(&a, &all.v);
    if (!y || a.id != weights->id || at_ != operations_.size() || !fits_second(all, *y)) return std::nullopt;
    all.y = *y;
    return all;
  }

 private:
  const Node* next(DescriptorType type) const {
    if (at_ == operations_.size()) return nullptr;
    const auto* operation = static_cast<const Node*>(operations_[at_]);
    return operation->type == type ? operation : nullptr;
  }
  bool peek(PointwiseMode mode) const {
    const Node* operation = next(DescriptorType::pointwise_operation);
    const auto read = operation ? pointwise_of(*operation) : std::nullopt;
    return read && read->mode == mode;
  }

  /// Each value is written once, and read only behind that.
  bool writes(const Tensor& tensor) { return written_.insert(tensor.id).second; }

  std::optional<Tensor> product(Tensor* a, Tensor* b) {
    const Node* operation = next(DescriptorType::product_operation);
    const Node* description = operation ? operation->node(Attribute::operation_product) : nullptr;
    if (!description || description->one<DataType>(Attribute::product_precision) != DataType::f32) return std::nullopt;
    const auto left = tensor_of(operation->node(Attribute::product_a)),
               right = tensor_of(operation->node(Attribute::product_b)),
               c = tensor_of(operation->node(Attribute::product_c));
    if (!left || !right || !c || left->dims[3] != right->dims[2] || !writes(*c)) return std::nullopt;
    *a = *left, *b = *right;
    ++at_;
    return c;
  }

  /// Of this mode on `x`, with a result between operations; nothing, and nothing read, otherwise.
  std::optional<Pointwise> pointwise(PointwiseMode mode, const Tensor& x, ElementType y = ElementType::float32,
                                     ElementType precision = ElementType::float32) {
    const Node* operation = next(DescriptorType::pointwise_operation);
    const auto read = operation ? pointwise_of(*operation) : std::nullopt;
    if (!read || read->mode != mode || read->x.id != x.id || !is_inner(read->y, y) || read->precision != precision ||
        !writes(read->y))
      return std::nullopt;
    ++at_;
    return read;
  }

  std::optional<Tensor> reduction(ReductionMode mode, const Tensor& x) {
    const Node* operation = next(DescriptorType::reduction_operation);
    const Node* description = operation ? operation->node(Attribute::operation_reduction) : nullptr;
    if (!description || description->one<ReductionMode>(Attribute::reduction_mode) != mode ||
        description->one<DataType>(Attribute::reduction_precision) != DataType::f32)
      return std::nullopt;
    const auto from = tensor_of(operation->node(Attribute::reduction_x)),
               to = tensor_of(operation->node(Attribute::reduction_y));
    const Dims rows = {x.dims[0], x.dims[1], x.dims[2], 1};
    if (!from || !to || from->id != x.id || to->dims != rows || !is_inner(*to, ElementType::float32) || !writes(*to))
      return std::nullopt;
    ++at_;
    return to;
  }

  bool read_causal(Attention& all, Tensor& now) {
    const auto row = pointwise(PointwiseMode::index, now, ElementType::int32),
               column = pointwise(PointwiseMode::index, now, ElementType::int32);
    if (!row || !column || row->axis != 2 || column->axis != 3) return false;
    const auto sees = pointwise(PointwiseMode::greater_or_equal, row->y, ElementType::boolean, ElementType::boolean);
    if (!sees || sees->b->id != column->y.id) return false;
    const auto chosen = pointwise(PointwiseMode::select, now);
    if (!chosen || !is_number(*chosen->b) || chosen->t->id != sees->y.id) return false;
    all.hidden = chosen->b;
    now = chosen->y;
    return true;
  }

  std::optional<Tensor> softmax(const Tensor& scores, ElementType type) {
    const auto most = reduction(ReductionMode::maximum, scores);
    const auto lower = most ? pointwise(PointwiseMode::subtract, scores) : std::nullopt;
    const auto power =
        lower && lower->b->id == most->id ? pointwise(PointwiseMode::exponential, lower->y) : std::nullopt;
    const auto sum = power ? reduction(ReductionMode::add, power->y) : std::nullopt;
    // cuDNN 9.26 takes a softmax for one of its fused engines by the logarithm of the sums, although nobody reads it.
    const auto logarithm = sum ? pointwise(PointwiseMode::logarithm, *sum) : std::nullopt;
    const auto statistics = logarithm ? pointwise(PointwiseMode::add, *most) : std::nullopt;
    if (!statistics || statistics->b->id != logarithm->y.id) return std::nullopt;
    const auto weights = pointwise(PointwiseMode::divide, power->y, type);
    if (!weights || weights->b->id != sum->id) return std::nullopt;
    return weights->y;
  }

  bool is_inner(const Tensor& tensor, ElementType type) const {
    return tensor.is_virtual && !tensor.is_by_value && tensor.type == type &&
           (scores_.dims.empty() || tensor.dims[3] == 1 || tensor.dims == scores_.dims);
  }
  static bool is_number(const Tensor& tensor) {
    return tensor.is_by_value && tensor.type == ElementType::float32 && tensor.dims == Dims{1, 1, 1, 1};
  }
  /// Of 16 bits, heads of 8 to 128 numbers, at multiples of 16 bytes.
  static bool is_operand(const Tensor& tensor, std::size_t head, ElementType type) {
    return !tensor.is_virtual && !tensor.is_by_value && tensor.type == type && tensor.strides[head] == 1 &&
           tensor.dims[head] % 8 == 0 && tensor.dims[head] <= 128 && tensor.alignment % 16 == 0;
  }
  static bool fits_first(const Attention& all, const Tensor& scores) {
    const bool is_narrow = all.q.type == ElementType::float16 || all.q.type == ElementType::bfloat16;
    const Dims wanted = {all.q.dims[0], all.q.dims[1], all.q.dims[2], all.k.dims[3]};
    return is_narrow && is_operand(all.q, 3, all.q.type) && is_operand(all.k, 2, all.q.type) &&
           all.k.dims[0] == all.q.dims[0] && all.q.dims[1] % all.k.dims[1] == 0 && scores.dims == wanted;
  }
  static bool fits_second(const Attention& all, const Tensor& y) {
    const Dims wanted = {all.q.dims[0], all.q.dims[1], all.q.dims[2], all.v.dims[3]};
    return is_operand(all.v, 3, all.q.type) && is_operand(y, 3, all.q.type) && all.v.dims[0] == all.q.dims[0] &&
           all.v.dims[1] == all.k.dims[1] && all.v.dims[2] == all.k.dims[3] && y.dims == wanted;
  }

  std::vector<Descriptor> operations_;
  std::size_t at_ = 0;
  std::set<std::int64_t> written_;
  Tensor scores_;
};

}  // namespace

std::optional<Attention> attention_of(const Node& graph) { return Reader(graph).read(); }

std::vector<const Tensor*> operands_of(const Attention& attention) {
  std::vector<const Tensor*> all = {&attention.q, &attention.k, &attention.v, &attention.y, &attention.scale};
  if (attention.mask) all.push_back(&*attention.mask);
  if (attention.hidden) all.push_back(&*attention.hidden);
  return all;
}

void compute(const Attention& of, const Pointers& pointers) {
  const Dims& y = of.y.dims;
  const std::int64_t columns = of.k.dims[3], sharing = of.q.dims[1] / of.k.dims[1];
  const double scale = read(of.scale, pointers, {0, 0, 0, 0});
  std::vector<double> weights(static_cast<std::size_t>(columns));
  for (std::int64_t row = 0; row < y[0] * y[1] * y[2]; ++row) {
    const std::int64_t image = row / (y[1] * y[2]), head = row / y[2] % y[1], query = row % y[2];
    double most = -INFINITY, total = 0;
    for (std::int64_t column = 0; column < columns; ++column) {
      double score = 0;
      for (std::int64_t i = 0; i < of.q.dims[3]; ++i)
        score +=
            read(of.q, pointers, {image, head, query, i}) * read(of.k, pointers, {image, head / sharing, i, column});
      score *= scale;
      if (of.mask) score += read(*of.mask, pointers, {image, head, query, column});
      if (of.hidden && column > query) score = read(*of.hidden, pointers, {0, 0, 0, 0});
      weights[static_cast<std::size_t>(column)] = score;
      most = std::max(most, score);
    }
    // As fused kernels do: powers of two of float32, in which the lowest scores overflow and rows without keys are NaN.
    constexpr float to_two = 1.442695F;
    const float greatest = static_cast<float>(most) * to_two;
    for (double& weight : weights) total += weight = std::exp2(static_cast<float>(weight) * to_two - greatest);
    for (std::int64_t i = 0; i < y[3]; ++i) {
      double sum = 0;
      for (std::int64_t column = 0; column < columns; ++column)
        sum += weights[static_cast<std::size_t>(column)] / total *
               read(of.v, pointers, {image, head / sharing, column, i});
      set_element(of.y.type, pointers.at(of.y.id),
                  image * of.y.strides[0] + head * of.y.strides[1] + query * of.y.strides[2] + i * of.y.strides[3],
                  sum);
    }
  }
}

}  // namespace onnxkit::cuda_libraries
