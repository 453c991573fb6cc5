#pragma once

#include <memory>
#include <span>
#include <vector>

#include "libonnxkit/cuda/libraries/cudnn.h"
#include "libonnxkit/cuda/step.h"

namespace onnxkit::cuda {

/// cuDNN as it was opened, with its handle for a device, or with the description of a device that is not there.
struct CudnnSession {
  cudnn::Functions functions;
  cudnn::Handle handle = nullptr;
  cudnn::Descriptor device = nullptr;

  CudnnSession() = default;
  CudnnSession(const CudnnSession&) = delete;
  CudnnSession& operator=(const CudnnSession&) = delete;
  ~CudnnSession();
};

/// Which engines may compute.
struct EngineRules {
  std::vector<cudnn::NumericalNote> forbidden;
  std::uint64_t most_workspace = 0;
};

/// A graph of operations and, once it is chosen, the plan that executes it.
class CudnnGraph {
 public:
  explicit CudnnGraph(std::shared_ptr<CudnnSession> session) : session_(std::move(session)) {}
  CudnnGraph(const CudnnGraph&) = delete;
  CudnnGraph& operator=(const CudnnGraph&) = delete;
  ~CudnnGraph();

  struct Tensor {
    std::int64_t id = 0;
    cudnn::Descriptor descriptor = nullptr;
  };
  /// One that memory holds, one that is between two operations, and a number of the host.
  Tensor tensor(cudnn::DataType type, const Dims& dims, const Dims& strides, std::int64_t alignment);
  Tensor inner(cudnn::DataType type, const Dims& dims, const Dims& strides);
  Tensor number(std::size_t rank);

  struct Convolution {
    cudnn::DataType precision = cudnn::DataType::f32;
    Dims strides, dilations, pads;  ///< begins, then ends
  };
  void convolve(const Convolution& convolution, Tensor x, Tensor w, Tensor y);
  struct Pointwise {
    cudnn::PointwiseMode mode = cudnn::PointwiseMode::add;
    cudnn::DataType precision = cudnn::DataType::f32;
    std::int64_t axis = -1;  ///< of an index
  };
  /// `t`: of a select.
  void apply(const Pointwise& pointwise, Tensor x, const Tensor* b, Tensor y, const Tensor* t = nullptr);
  /// c = a b over the last two axes; sums in float32. Batches and heads of b may be shared.
  void multiply(Tensor a, Tensor b, Tensor c);
  /// Along the axes whose size in y is 1, in float32.
  void reduce(cudnn::ReductionMode mode, Tensor x, Tensor y);

  /// How many engines are looked for: `least`, and more up to `most` while their plans are made in `seconds`.
  struct Search {
    std::size_t least = 1, most = 1;
    double seconds = 0;
  };
  /// Finds engines that the rules allow and that make a plan, in the order of cuDNN's heuristics, and uses the first. Error not-supported, with the
  /// reason: there is none.
  Result<void> choose(const EngineRules& rules, const Search& search);
  std::size_t choices() const { return choices_.size(); }
  void use(std::size_t choice) { used_ = choice; }

  std::uint64_t workspace_bytes() const { return choices_[used_].workspace; }
  std::int64_t engine() const { return choices_[used_].engine; }
  /// Pointers to the tensors of these numbers.
  Result<void> execute(void* stream, std::span<const std::int64_t> ids, std::span<void* const> pointers,
                       void* workspace);

 private:
  cudnn::Descriptor make(cudnn::DescriptorType type);
  template <class T>
  void set(cudnn::Descriptor descriptor, cudnn::Attribute name, cudnn::AttributeType type, std::span<const T> values);
  template <class T>
  void set(cudnn::Descriptor descriptor, cudnn::Attribute name, cudnn::AttributeType type, const T& value) {
    set(descriptor, name, type, std::span<const T>(&value, 1));
  }
  void finalize(cudnn::Descriptor descriptor);
  Tensor add_tensor(cudnn::DataType type, const Dims& dims, const Dims& strides, std::int64_t alignment,
                    bool is_virtual, bool is_by_value);
  Result<void> result(std::string_view what) const;
  std::vector<cudnn::Descriptor> configurations(cudnn::Descriptor graph, cudnn::HeuristicMode mode);
  bool is_allowed(cudnn::Descriptor engine, const EngineRules& rules) const;
  bool take(cudnn::Descriptor configuration, const EngineRules& rules);

  /// A plan of one engine.
  struct Choice {
    cudnn::Descriptor plan = nullptr;
    std::int64_t engine = -1;
    std::uint64_t workspace = 0;
  };

  std::shared_ptr<CudnnSession> session_;
  std::vector<cudnn::Descriptor> made_;
  std::vector<cudnn::Descriptor> operations_;
  cudnn::Status status_ = cudnn::success;
  std::string complaint_;
  std::int64_t next_id_ = 1;
  std::vector<Choice> choices_;
  std::size_t used_ = 0;
};

}  // namespace onnxkit::cuda
