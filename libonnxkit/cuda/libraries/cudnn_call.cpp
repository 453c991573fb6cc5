#include "libonnxkit/cuda/libraries/cudnn_call.h"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::cuda {

CudnnGraph::Tensor CudnnDraft::operand(const View& view, const Dims& dims, const Dims& strides) {
  constexpr std::uint32_t most_alignment = 16;
  const auto alignment = std::min(alignment_of(plan_, view), most_alignment);
  key_ += fmt::format("{} [{}; {}] {}, ", name_of(view.type), fmt::join(dims, " "), fmt::join(strides, " "), alignment);
  const CudnnGraph::Tensor made = graph_->tensor(*cudnn_type_of(view.type), dims, strides, alignment);
  operands_.push_back(view);
  ids_.push_back(made.id);
  return made;
}

CudnnGraph::Tensor CudnnDraft::number(double value, std::size_t rank) {
  const CudnnGraph::Tensor made = graph_->number(rank);
  number_ids_.push_back(made.id);
  numbers_.push_back(static_cast<float>(value));
  return made;
}

CudnnWritten CudnnDraft::take() {
  ids_.insert(ids_.end(), number_ids_.begin(), number_ids_.end());
  return {.prepared = {.graph = std::move(graph_), .ids = std::move(ids_), .numbers = std::move(numbers_)},
          .operands = std::move(operands_),
          .key = std::move(key_)};
}

std::string CudnnCall::text() const {
  const CudnnGraph& graph = *prepared_->graph;
  return fmt::format("cudnn engine {}{}{}", graph.engine(),
                     prepared_->is_measured ? fmt::format(", fastest of {}", graph.choices()) : "",
                     is_tf32_ ? ", tf32" : "");
}

Result<void> CudnnCall::enqueue(void* stream, std::span<void* const> operands, void* workspace) {
  std::vector<void*> pointers(operands.begin(), operands.end());
  for (float& number : prepared_->numbers) pointers.push_back(&number);
  return prepared_->graph->execute(stream, prepared_->ids, pointers, workspace);
}

std::optional<cudnn::DataType> cudnn_type_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return cudnn::DataType::f32;
    case ElementType::float64:
      return cudnn::DataType::f64;
    case ElementType::float16:
      return cudnn::DataType::f16;
    case ElementType::bfloat16:
      return cudnn::DataType::bf16;
    default:
      return std::nullopt;
  }
}

std::optional<cudnn::PointwiseMode> cudnn_mode_of(EpilogueLink::Kind kind) {
  using Link = EpilogueLink::Kind;
  switch (kind) {
    case Link::scale:
      return cudnn::PointwiseMode::multiply;
    case Link::add:
      return cudnn::PointwiseMode::add;
    case Link::relu:
      return cudnn::PointwiseMode::relu;
    case Link::minimum:
      return cudnn::PointwiseMode::minimum;
    case Link::sigmoid:
      return cudnn::PointwiseMode::sigmoid;
    case Link::tanh:
      return cudnn::PointwiseMode::tanh;
    case Link::swish:
      return cudnn::PointwiseMode::swish;
    case Link::gelu_erf:
      return cudnn::PointwiseMode::gelu;
    case Link::gelu_tanh:
      return cudnn::PointwiseMode::gelu_tanh;
    case Link::times:
    case Link::maximum:
    case Link::round_to:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace onnxkit::cuda
