#include "libonnxkit/cuda/libraries/cudnn_product.h"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/libraries/epilogue.h"

namespace onnxkit::cuda {
namespace {

using ProductLink = EpilogueLink::Kind;

/// What cuBLASLt leaves to a map behind the product.
bool is_beyond_cublaslt(const EpilogueLink& link) {
  constexpr ProductLink kinds[] = {ProductLink::gelu_erf, ProductLink::swish, ProductLink::sigmoid, ProductLink::tanh,
                                   ProductLink::minimum};
  return std::find(std::begin(kinds), std::end(kinds), link.kind) != std::end(kinds);
}

class ProductWriter {
 public:
  ProductWriter(const plan::Step& step, const Preparation& preparation, std::shared_ptr<CudnnSession> session)
      : step_(step),
        preparation_(preparation),
        epilogue_(static_cast<const plan::ProductParameters&>(*step.parameters).epilogue),
        links_(links_of(epilogue_)),
        draft_(std::move(session), preparation.plan) {}

  Result<CudnnWritten> write() {
    if (auto fault = refuse()) return make_error("not-supported", *fault);
    while (links_.back().kind == ProductLink::round_to) links_.pop_back();  // as storing does
    const CudnnGraph::Tensor a = operand(step_.inputs[0]), b = operand(step_.inputs[1]);
    CudnnGraph::Tensor now = between(links_.empty());
    draft_.describe("product ");
    draft_.graph().multiply(a, b, now);
    for (std::size_t at = 0; at < links_.size(); ++at) {
      const EpilogueLink& link = links_[at];
      std::optional<CudnnGraph::Tensor> other;
      if (link.kind == ProductLink::add) other = operand(addend_of(link));
      if (link.kind == ProductLink::scale || link.kind == ProductLink::minimum) other = draft_.number(link.factor, 3);
      const CudnnGraph::Tensor y = between(at + 1 == links_.size());
      draft_.graph().apply({.mode = *cudnn_mode_of(link.kind)}, now, other ? &*other : nullptr, y);
      draft_.describe(fmt::format("{} {}, ", static_cast<int>(*cudnn_mode_of(link.kind)), link.factor));
      now = y;
    }
    return draft_.take();
  }

 private:
  std::optional<std::string> refuse() const {
    const View &a = step_.inputs[0], &b = step_.inputs[1], &to = step_.outputs[0];
    if (to.type != ElementType::float16 && to.type != ElementType::bfloat16)
      return fmt::format("a product of {}", name_of(to.type));
    if (a.type != to.type || b.type != to.type) return "operands of two types";
    if (to.size() != to.dims[to.rank() - 2] * to.dims.back()) return "several products";
    if (std::none_of(links_.begin(), links_.end(), is_beyond_cublaslt)) return "an epilogue that cuBLASLt has";
    if (links_.back().end != epilogue_.last()) return "an epilogue that cuDNN has no operations for";
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const EpilogueLink& link = links_[i];
      const bool is_end =
          std::all_of(links_.begin() + static_cast<std::ptrdiff_t>(i), links_.end(),
                      [&](const auto& one) { return one.kind == ProductLink::round_to && one.type == to.type; });
      if (!is_end && !cudnn_mode_of(link.kind)) return "an epilogue that cuDNN has no operations for";
      if (link.kind == ProductLink::add && link.factor != 1) return "an addend with a factor";
      if (link.kind == ProductLink::add && addend_of(link).type != to.type) return "operands of two types";
    }
    for (const View& input : step_.inputs) {
      if (may_overlap(preparation_.plan, input, to)) return "an operand lies where the product is written";
      if (!is_matrix(input)) return "an operand that runs backwards, or whose numbers do not lie side by side";
    }
    return is_matrix(to) && to.strides.back() == 1 ? std::nullopt
                                                   : std::optional<std::string>("an output in another order than rows");
  }

  /// Rows or columns side by side; of an addend both may repeat.
  static bool is_matrix(const View& view) {
    const std::size_t rank = view.rank();
    const std::int64_t row = view.strides[rank - 2], column = view.strides[rank - 1];
    return row >= 0 && column >= 0 && (row <= 1 || column <= 1);
  }
  View addend_of(const EpilogueLink& link) const { return step_.inputs[link.input + 1]; }

  /// The last two axes behind one of one element; an axis along which a view repeats has one, too.
  CudnnGraph::Tensor operand(const View& view) {
    const std::size_t rank = view.rank();
    Dims dims = {1, view.dims[rank - 2], view.dims[rank - 1]},
         strides = {0, view.strides[rank - 2], view.strides[rank - 1]};
    for (std::size_t axis = 1; axis < 3; ++axis)
      if (strides[axis] == 0) dims[axis] = strides[axis] = 1;
    if (dims[1] == 1) strides[1] = dims[2] * strides[2];
    strides[0] = std::max(dims[1] * strides[1], dims[2] * strides[2]);
    return draft_.operand(view, dims, strides);
  }
  CudnnGraph::Tensor between(bool is_last) {
    const View& to = step_.outputs[0];
    if (is_last) return operand(to);
    const std::int64_t rows = to.dims[to.rank() - 2], columns = to.dims.back();
    return draft_.graph().inner(cudnn::DataType::f32, {1, rows, columns}, {rows * columns, columns, 1});
  }

  const plan::Step& step_;
  const Preparation& preparation_;
  const plan::Expression& epilogue_;
  std::vector<EpilogueLink> links_;
  CudnnDraft draft_;
};

}  // namespace

Result<CudnnWritten> write_product_graph(const plan::Step& step, const Preparation& preparation,
                                         std::shared_ptr<CudnnSession> session) {
  return ProductWriter(step, preparation, std::move(session)).write();
}

}  // namespace onnxkit::cuda
