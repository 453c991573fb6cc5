#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/cuda/libraries/cudnn_graph.h"
#include "libonnxkit/cuda/libraries/epilogue.h"

// What cuDNN makes of a step: a graph that steps of equal description share, with the operands of one.
namespace onnxkit::cuda {

/// A graph, and what its tensors are: views of the step, or numbers.
struct CudnnPrepared {
  std::unique_ptr<CudnnGraph> graph;
  std::vector<std::int64_t> ids;
  std::vector<float> numbers;  ///< behind the operands
  bool is_measured = false;    ///< the engine is the fastest of several
};

/// Before the engine is chosen.
struct CudnnWritten {
  CudnnPrepared prepared;
  std::vector<View> operands;  ///< the last one is written
  std::string key;             ///< equal for graphs that one plan computes
};

/// A graph while it is written.
class CudnnDraft {
 public:
  CudnnDraft(std::shared_ptr<CudnnSession> session, const plan::Plan& plan)
      : plan_(plan), graph_(std::make_unique<CudnnGraph>(std::move(session))) {}

  CudnnGraph& graph() { return *graph_; }
  /// What tells graphs apart beside their operands.
  void describe(std::string_view text) { key_ += text; }
  /// A view of the step under other sizes and strides, of a type that has a cudnn_type_of.
  CudnnGraph::Tensor operand(const View& view, const Dims& dims, const Dims& strides);
  CudnnGraph::Tensor number(double value, std::size_t rank);
  /// Nothing is written behind it.
  CudnnWritten take();

 private:
  const plan::Plan& plan_;
  std::unique_ptr<CudnnGraph> graph_;
  std::vector<View> operands_;
  std::vector<std::int64_t> ids_, number_ids_;
  std::vector<float> numbers_;
  std::string key_;
};

/// The handle is used by one thread at a time.
class CudnnCall : public LibraryCall {
 public:
  CudnnCall(std::shared_ptr<CudnnPrepared> prepared, std::vector<View> operands, bool is_tf32)
      : prepared_(std::move(prepared)), operands_(std::move(operands)), is_tf32_(is_tf32) {}

  const std::vector<View>& operands() const override { return operands_; }
  std::size_t result() const override { return operands_.size() - 1; }
  std::uint64_t workspace_bytes() const override { return prepared_->graph->workspace_bytes(); }
  std::string text() const override;
  Result<void> enqueue(void* stream, std::span<void* const> operands, void* workspace) override;

 private:
  std::shared_ptr<CudnnPrepared> prepared_;
  std::vector<View> operands_;
  bool is_tf32_;
};

/// Empty for types that cuDNN's graphs are not given.
std::optional<cudnn::DataType> cudnn_type_of(ElementType type);
/// Empty for links that no operation computes.
std::optional<cudnn::PointwiseMode> cudnn_mode_of(EpilogueLink::Kind kind);

}  // namespace onnxkit::cuda
