#include "libonnxkit/cuda/libraries/cudnn_graph.h"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

using cudnn::Attribute;
using cudnn::AttributeType;
using cudnn::Descriptor;
using cudnn::DescriptorType;

}  // namespace

CudnnSession::~CudnnSession() {
  if (device) functions.destroy_descriptor(device);
  if (handle) functions.destroy(handle);
}

CudnnGraph::~CudnnGraph() {
  for (std::size_t i = made_.size(); i-- > 0;) session_->functions.destroy_descriptor(made_[i]);
}

Descriptor CudnnGraph::make(DescriptorType type) {
  Descriptor descriptor = nullptr;
  if (status_ != cudnn::success) return nullptr;
  status_ = session_->functions.create_descriptor(type, &descriptor);
  if (status_ != cudnn::success) {
    complaint_ = cudnn::text_of(session_->functions, status_);
    return nullptr;
  }
  made_.push_back(descriptor);
  return descriptor;
}

template <class T>
void CudnnGraph::set(Descriptor descriptor, Attribute name, AttributeType type, std::span<const T> values) {
  if (status_ != cudnn::success) return;
  status_ = session_->functions.set_attribute(descriptor, name, type, static_cast<std::int64_t>(values.size()),
                                              values.data());
  if (status_ != cudnn::success) complaint_ = cudnn::text_of(session_->functions, status_);
}

void CudnnGraph::finalize(Descriptor descriptor) {
  if (status_ != cudnn::success) return;
  status_ = session_->functions.finalize(descriptor);
  if (status_ != cudnn::success) complaint_ = cudnn::text_of(session_->functions, status_);
}

Result<void> CudnnGraph::result(std::string_view what) const {
  if (status_ == cudnn::success) return {};
  return make_error("not-supported", fmt::format("cuDNN refuses {}: {}", what, complaint_));
}

CudnnGraph::Tensor CudnnGraph::add_tensor(cudnn::DataType type, const Dims& dims, const Dims& strides,
                                          std::int64_t alignment, bool is_virtual, bool is_by_value) {
  const Tensor tensor{.id = next_id_++, .descriptor = make(DescriptorType::tensor)};
  set(tensor.descriptor, Attribute::tensor_type, AttributeType::data_type, type);
  set(tensor.descriptor, Attribute::tensor_dimensions, AttributeType::int64, std::span<const std::int64_t>(dims));
  set(tensor.descriptor, Attribute::tensor_strides, AttributeType::int64, std::span<const std::int64_t>(strides));
  set(tensor.descriptor, Attribute::tensor_id, AttributeType::int64, tensor.id);
  set(tensor.descriptor, Attribute::tensor_alignment, AttributeType::int64, alignment);
  set(tensor.descriptor, Attribute::tensor_is_virtual, AttributeType::boolean, is_virtual);
  if (is_by_value) set(tensor.descriptor, Attribute::tensor_is_by_value, AttributeType::boolean, is_by_value);
  finalize(tensor.descriptor);
  return tensor;
}

CudnnGraph::Tensor CudnnGraph::tensor(cudnn::DataType type, const Dims& dims, const Dims& strides,
                                      std::int64_t alignment) {
  return add_tensor(type, dims, strides, alignment, false, false);
}

CudnnGraph::Tensor CudnnGraph::inner(cudnn::DataType type, const Dims& dims, const Dims& strides) {
  constexpr std::int64_t alignment = 16;
  return add_tensor(type, dims, strides, alignment, true, false);
}

CudnnGraph::Tensor CudnnGraph::number(std::size_t rank) {
  constexpr std::int64_t alignment = sizeof(float);
  return add_tensor(cudnn::DataType::f32, Dims(rank, 1), Dims(rank, 1), alignment, false, true);
}

void CudnnGraph::convolve(const Convolution& convolution, Tensor x, Tensor w, Tensor y) {
  const std::size_t axes = convolution.strides.size();
  const std::span<const std::int64_t> pads = convolution.pads;
  Descriptor description = make(DescriptorType::convolution);
  set(description, Attribute::convolution_axes, AttributeType::int64, static_cast<std::int64_t>(axes));
  set(description, Attribute::convolution_precision, AttributeType::data_type, convolution.precision);
  set(description, Attribute::convolution_mode, AttributeType::convolution_mode,
      cudnn::ConvolutionMode::cross_correlation);
  set(description, Attribute::convolution_pre_padding, AttributeType::int64, pads.first(axes));
  set(description, Attribute::convolution_post_padding, AttributeType::int64, pads.subspan(axes));
  set(description, Attribute::convolution_dilations, AttributeType::int64,
      std::span<const std::int64_t>(convolution.dilations));
  set(description, Attribute::convolution_strides, AttributeType::int64,
      std::span<const std::int64_t>(convolution.strides));
  finalize(description);
  Descriptor operation = make(DescriptorType::convolution_operation);
  set(operation, Attribute::forward_convolution, AttributeType::descriptor, description);
  set(operation, Attribute::forward_x, AttributeType::descriptor, x.descriptor);
  set(operation, Attribute::forward_w, AttributeType::descriptor, w.descriptor);
  set(operation, Attribute::forward_y, AttributeType::descriptor, y.descriptor);
  if (convolution.precision == cudnn::DataType::f64) {
    set(operation, Attribute::forward_alpha, AttributeType::f64, 1.0);
    set(operation, Attribute::forward_beta, AttributeType::f64, 0.0);
  } else {
    set(operation, Attribute::forward_alpha, AttributeType::f32, 1.0F);
    set(operation, Attribute::forward_beta, AttributeType::f32, 0.0F);
  }
  finalize(operation);
  operations_.push_back(operation);
}

void CudnnGraph::multiply(Tensor a, Tensor b, Tensor c) {
  Descriptor description = make(DescriptorType::product);
  set(description, Attribute::product_precision, AttributeType::data_type, cudnn::DataType::f32);
  finalize(description);
  Descriptor operation = make(DescriptorType::product_operation);
  set(operation, Attribute::operation_product, AttributeType::descriptor, description);
  set(operation, Attribute::product_a, AttributeType::descriptor, a.descriptor);
  set(operation, Attribute::product_b, AttributeType::descriptor, b.descriptor);
  set(operation, Attribute::product_c, AttributeType::descriptor, c.descriptor);
  finalize(operation);
  operations_.push_back(operation);
}

void CudnnGraph::reduce(cudnn::ReductionMode mode, Tensor x, Tensor y) {
  Descriptor description = make(DescriptorType::reduction);
  set(description, Attribute::reduction_mode, AttributeType::reduction_mode, mode);
  set(description, Attribute::reduction_precision, AttributeType::data_type, cudnn::DataType::f32);
  finalize(description);
  Descriptor operation = make(DescriptorType::reduction_operation);
  set(operation, Attribute::operation_reduction, AttributeType::descriptor, description);
  set(operation, Attribute::reduction_x, AttributeType::descriptor, x.descriptor);
  set(operation, Attribute::reduction_y, AttributeType::descriptor, y.descriptor);
  finalize(operation);
  operations_.push_back(operation);
}

void CudnnGraph::apply(const Pointwise& pointwise, Tensor x, const Tensor* b, Tensor y, const Tensor* t) {
  Descriptor description = make(DescriptorType::pointwise);
  set(description, Attribute::pointwise_mode, AttributeType::pointwise_mode, pointwise.mode);
  set(description, Attribute::pointwise_precision, AttributeType::data_type, pointwise.precision);
  // Without it a relu hides NaN.
  if (pointwise.mode == cudnn::PointwiseMode::relu)
    set(description, Attribute::pointwise_nan_propagation, AttributeType::nan_propagation,
        cudnn::NanPropagation::propagates);
  if (pointwise.mode == cudnn::PointwiseMode::index)
    set(description, Attribute::pointwise_axis, AttributeType::int64, pointwise.axis);
  finalize(description);
  Descriptor operation = make(DescriptorType::pointwise_operation);
  set(operation, Attribute::operation_pointwise, AttributeType::descriptor, description);
  set(operation, Attribute::operation_pointwise_x, AttributeType::descriptor, x.descriptor);
  if (b) set(operation, Attribute::operation_pointwise_b, AttributeType::descriptor, b->descriptor);
  if (t) set(operation, Attribute::operation_pointwise_t, AttributeType::descriptor, t->descriptor);
  set(operation, Attribute::operation_pointwise_y, AttributeType::descriptor, y.descriptor);
  finalize(operation);
  operations_.push_back(operation);
}

std::vector<Descriptor> CudnnGraph::configurations(Descriptor graph, cudnn::HeuristicMode mode) {
  Descriptor heuristic = make(DescriptorType::heuristic);
  set(heuristic, Attribute::heuristic_graph, AttributeType::descriptor, graph);
  set(heuristic, Attribute::heuristic_mode, AttributeType::heuristic_mode, mode);
  if (session_->device) set(heuristic, Attribute::heuristic_device, AttributeType::descriptor, session_->device);
  finalize(heuristic);
  std::vector<Descriptor> all;
  std::int64_t count = 0;
  if (status_ == cudnn::success)
    status_ = session_->functions.get_attribute(heuristic, Attribute::heuristic_results, AttributeType::descriptor, 0,
                                                &count, nullptr);
  if (status_ != cudnn::success && complaint_.empty()) complaint_ = cudnn::text_of(session_->functions, status_);
  constexpr std::int64_t most = 256;
  for (std::int64_t i = 0; i < std::min(count, most); ++i)
    if (Descriptor one = make(DescriptorType::engine_configuration)) all.push_back(one);
  if (status_ != cudnn::success || all.empty()) return {};
  status_ = session_->functions.get_attribute(heuristic, Attribute::heuristic_results, AttributeType::descriptor,
                                              static_cast<std::int64_t>(all.size()), &count, all.data());
  all.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, static_cast<std::int64_t>(all.size()))));
  return all;
}

bool CudnnGraph::is_allowed(Descriptor engine, const EngineRules& rules) const {
  constexpr std::size_t most = 32;
  cudnn::NumericalNote notes[most] = {};
  std::int64_t count = 0;
  if (session_->functions.get_attribute(engine, Attribute::engine_notes, AttributeType::numerical_note, most, &count,
                                        notes) != cudnn::success)
    return false;
  const auto last = notes + std::clamp<std::int64_t>(count, 0, most);
  return std::find_first_of(notes, last, rules.forbidden.begin(), rules.forbidden.end()) == last;
}

/// Makes a plan of a configuration. A fault here says something about this engine only.
bool CudnnGraph::take(Descriptor configuration, const EngineRules& rules) {
  const cudnn::Functions& functions = session_->functions;
  Descriptor engine = make(DescriptorType::engine);
  std::int64_t count = 0, workspace = 0;
  if (!engine || functions.get_attribute(configuration, Attribute::configuration_engine, AttributeType::descriptor, 1,
                                         &count, &engine) != cudnn::success)
    return false;
  if (!is_allowed(engine, rules)) return false;
  Descriptor plan = make(DescriptorType::execution_plan);
  set(plan, Attribute::plan_configuration, AttributeType::descriptor, configuration);
  if (session_->device) {
    set(plan, Attribute::plan_device, AttributeType::descriptor, session_->device);
  } else {
    set(plan, Attribute::plan_handle, AttributeType::handle, session_->handle);
  }
  finalize(plan);
  const bool is_made = status_ == cudnn::success;
  status_ = cudnn::success;
  if (!is_made || functions.get_attribute(plan, Attribute::plan_workspace, AttributeType::int64, 1, &count,
                                          &workspace) != cudnn::success)
    return false;
  if (workspace < 0 || static_cast<std::uint64_t>(workspace) > rules.most_workspace) return false;
  Choice choice{.plan = plan, .workspace = static_cast<std::uint64_t>(workspace)};
  functions.get_attribute(engine, Attribute::engine_number, AttributeType::int64, 1, &count, &choice.engine);
  choices_.push_back(choice);
  return true;
}

Result<void> CudnnGraph::choose(const EngineRules& rules, const Search& search) {
  const auto start = std::chrono::steady_clock::now();
  const auto is_enough = [&] {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return choices_.size() >= search.most || (choices_.size() >= search.least && seconds > search.seconds);
  };
  Descriptor graph = make(DescriptorType::operation_graph);
  if (!session_->device) set(graph, Attribute::graph_handle, AttributeType::handle, session_->handle);
  set(graph, Attribute::graph_operations, AttributeType::descriptor, std::span<const Descriptor>(operations_));
  finalize(graph);
  if (auto sound = result("the graph of operations"); !sound) return sound;
  std::size_t refused = 0;
  for (const auto mode : {cudnn::HeuristicMode::a, cudnn::HeuristicMode::fallback}) {
    for (Descriptor configuration : configurations(graph, mode)) {
      if (!take(configuration, rules)) ++refused;
      if (is_enough()) return {};
    }
    status_ = cudnn::success;
    // Those of last resort are not for comparing.
    if (!choices_.empty()) return {};
  }
  return make_error("not-supported", refused == 0 ? "cuDNN has no engine for it"
                                                  : fmt::format("none of cuDNN's {} engines is allowed", refused));
}

Result<void> CudnnGraph::execute(void* stream, std::span<const std::int64_t> ids, std::span<void* const> pointers,
                                 void* workspace) {
  const cudnn::Functions& functions = session_->functions;
  Descriptor pack = nullptr;
  cudnn::Status status = functions.create_descriptor(DescriptorType::variant_pack, &pack);
  const auto put = [&](Attribute name, AttributeType type, std::size_t count, const void* values) {
    if (status == cudnn::success)
      status = functions.set_attribute(pack, name, type, static_cast<std::int64_t>(count), values);
  };
  put(Attribute::pack_ids, AttributeType::int64, ids.size(), ids.data());
  put(Attribute::pack_pointers, AttributeType::pointer, pointers.size(), pointers.data());
  put(Attribute::pack_workspace, AttributeType::pointer, 1, &workspace);
  if (status == cudnn::success) status = functions.finalize(pack);
  if (status == cudnn::success) status = functions.set_stream(session_->handle, static_cast<DriverStream>(stream));
  if (status == cudnn::success) status = functions.execute(session_->handle, choices_[used_].plan, pack);
  Result<void> done;
  if (status != cudnn::success)
    done = make_error("device-failed", fmt::format("cuDNN does not compute: {}", cudnn::text_of(functions, status)));
  if (pack) functions.destroy_descriptor(pack);
  return done;
}

}  // namespace onnxkit::cuda
