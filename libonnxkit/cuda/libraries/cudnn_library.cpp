#include "libonnxkit/cuda/libraries/cudnn_library.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/libraries/cudnn_attention.h"
#include "libonnxkit/cuda/libraries/cudnn_call.h"
#include "libonnxkit/cuda/libraries/cudnn_product.h"
#include "libonnxkit/cuda/libraries/epilogue.h"
#include "libonnxkit/cuda/stopwatch.h"

namespace onnxkit::cuda {
namespace {

using LinkKind = EpilogueLink::Kind;

/// Strides of [n, c, h, w] with channels side by side, those of axes of one element as if it were dense. Nothing for other orders.
std::optional<Dims> channels_last_strides(const View& view) {
  constexpr std::size_t order[] = {1, 3, 2, 0};
  Dims strides(view.rank(), 1);
  std::int64_t least = 1;
  for (const std::size_t axis : order) {
    strides[axis] = view.dims[axis] == 1 ? least : view.strides[axis];
    if (strides[axis] < least || (axis == 1 && strides[axis] != 1)) return std::nullopt;
    least = strides[axis] * view.dims[axis];
  }
  return strides;
}

/// A convolution and what of its epilogue goes with it.
struct ConvolutionPlan {
  const plan::Step& step;
  const Preparation& preparation;
  std::vector<EpilogueLink> links;  ///< in the order in which they are applied
};

/// Writes the operations of one convolution, and a description by which equal ones are found.
class ConvolutionWriter {
 public:
  ConvolutionWriter(const ConvolutionPlan& what, std::shared_ptr<CudnnSession> session)
      : what_(what), draft_(std::move(session), what.preparation.plan) {}

  Result<void> write();
  CudnnWritten take() { return draft_.take(); }

 private:
  Result<CudnnGraph::Tensor> addend(const EpilogueLink& link);
  CudnnGraph::Tensor between(bool is_last);
  Result<void> apply(std::size_t link);

  const ConvolutionPlan& what_;
  CudnnDraft draft_;
  CudnnGraph::Tensor now_;  ///< the last result
  Dims to_strides_;
};

Result<CudnnGraph::Tensor> ConvolutionWriter::addend(const EpilogueLink& link) {
  const View view = plan::without_repetition(what_.step.inputs[link.input + 1]);
  if (!cudnn_type_of(view.type)) return make_error("not-supported", "an operand of another type");
  const auto strides = channels_last_strides(view);
  if (!strides) return make_error("not-supported", "an operand in another order than channels last");
  return draft_.operand(view, view.dims, *strides);
}

/// The output, or what is between two operations.
CudnnGraph::Tensor ConvolutionWriter::between(bool is_last) {
  const View& to = what_.step.outputs[0];
  if (is_last) return draft_.operand(to, to.dims, to_strides_);
  Dims dense = {to.dims[1] * to.dims[2] * to.dims[3], 1, to.dims[1] * to.dims[3], to.dims[1]};
  return draft_.graph().inner(to.type == ElementType::float64 ? cudnn::DataType::f64 : cudnn::DataType::f32, to.dims,
                              dense);
}

Result<void> ConvolutionWriter::apply(std::size_t at) {
  const EpilogueLink& link = what_.links[at];
  CudnnGraph::Pointwise pointwise;
  if (what_.step.outputs[0].type == ElementType::float64) pointwise.precision = cudnn::DataType::f64;
  const auto mode = cudnn_mode_of(link.kind);
  if (!mode) return make_error("not-supported", "an epilogue that cuDNN has no operation for");
  pointwise.mode = *mode;
  std::optional<CudnnGraph::Tensor> b;
  if (link.kind == LinkKind::add) {
    auto made = addend(link);
    if (!made) return made.error();
    b = *made;
  }
  if (link.kind == LinkKind::scale || link.kind == LinkKind::minimum) {
    if (pointwise.precision == cudnn::DataType::f64) return make_error("not-supported", "constants of float64");
    b = draft_.number(link.factor, what_.step.outputs[0].rank());
  }
  draft_.describe(fmt::format("{} {}, ", static_cast<int>(pointwise.mode), link.factor));
  const auto y = between(at + 1 == what_.links.size());
  draft_.graph().apply(pointwise, now_, b ? &*b : nullptr, y);
  now_ = y;
  return {};
}

Result<void> ConvolutionWriter::write() {
  const auto& p = static_cast<const plan::ConvolutionParameters&>(*what_.step.parameters);
  const View &x = what_.step.inputs[0], &w = what_.step.inputs[1], &to = what_.step.outputs[0];
  const auto x_strides = channels_last_strides(x), w_strides = channels_last_strides(w),
             to_strides = channels_last_strides(to);
  if (!x_strides || !w_strides || !to_strides) return make_error("not-supported", "an order other than channels last");
  to_strides_ = *to_strides;
  CudnnGraph::Convolution convolution{.strides = p.strides, .dilations = p.dilations, .pads = p.pads};
  if (to.type == ElementType::float64) convolution.precision = cudnn::DataType::f64;
  draft_.describe(fmt::format("{} {} {} {}, ", what_.preparation.allows_tf32, fmt::join(p.strides, " "),
                              fmt::join(p.dilations, " "), fmt::join(p.pads, " ")));
  const auto image = draft_.operand(x, x.dims, *x_strides), filter = draft_.operand(w, w.dims, *w_strides);
  now_ = between(what_.links.empty());
  draft_.graph().convolve(convolution, image, filter, now_);
  for (std::size_t link = 0; link < what_.links.size(); ++link)
    if (auto applied = apply(link); !applied) return applied;
  return {};
}

/// The beginning of the links that the fused convolution of cuDNN's own kernels has: an addend of the output's sizes, then a bias, then relu. Both
/// sums are taken before anything else, so they may change places.
std::size_t order_for_fused(std::vector<EpilogueLink>& links, const plan::Step& step) {
  const auto is_bias = [&](const EpilogueLink& link) {
    const View& view = step.inputs[link.input + 1];
    return view.strides[0] == 0 && view.strides[2] == 0 && view.strides[3] == 0;
  };
  std::size_t adds = 0;
  while (adds < links.size() && links[adds].kind == LinkKind::add) ++adds;
  if (adds == 2 && is_bias(links[0]) && !is_bias(links[1])) {
    std::swap(links[0], links[1]);
    std::swap(links[0].end, links[1].end);
  }
  const bool fits =
      adds <= 2 && std::count_if(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(adds), is_bias) <= 1;
  const std::size_t sums = fits ? adds : std::min<std::size_t>(adds, 1);
  const bool has_relu = sums == adds && adds < links.size() && links[adds].kind == LinkKind::relu;
  return sums + (has_relu ? 1 : 0);
}

/// What an epilogue asks of cuDNN: rounding to the output's type is done by storing. A bound of float32 is left to a map: engines that have one take up
/// to ten times as long as those without, on an H100.
std::vector<EpilogueLink> links_for_cudnn(const plan::Expression& epilogue, const plan::Step& step) {
  std::vector<EpilogueLink> links;
  for (EpilogueLink link : links_of(epilogue)) {
    if (link.kind == LinkKind::minimum && step.inputs[0].type == ElementType::float32) break;
    if (link.kind == LinkKind::times || (link.kind == LinkKind::add && link.factor != 1)) break;
    if (link.kind == LinkKind::round_to && link.type != step.outputs[0].type) break;
    if (link.kind == LinkKind::round_to && !links.empty()) {
      links.back().end = link.end;
      continue;
    }
    if (link.kind == LinkKind::round_to) break;
    links.push_back(link);
  }
  return links;
}

class Cudnn : public Library {
 public:
  explicit Cudnn(std::shared_ptr<CudnnSession> session) : session_(std::move(session)) {}

  std::string_view name() const override { return "cudnn"; }
  bool takes(const plan::StepKind& kind) const override {
    return kind == plan::convolution_step || kind == plan::attention_step || kind == plan::product_step;
  }
  Result<LibraryStep> prepare(const plan::Step& step, const Preparation& preparation) override;

 private:
  Result<LibraryStep> attempt(const ConvolutionPlan& what);
  Result<LibraryStep> prepare_convolution(const plan::Step& step, const Preparation& preparation);
  /// With the engine chosen, or as it was chosen for an equal one.
  Result<LibraryStep> call_of(CudnnWritten written, const EngineRules& rules, const Preparation& preparation);

  std::shared_ptr<CudnnSession> session_;
  std::unordered_map<std::string, Result<std::shared_ptr<CudnnPrepared>>> by_description_;
};

EngineRules rules_of(const plan::Step& step, const Preparation& preparation) {
  using Note = cudnn::NumericalNote;
  EngineRules rules{.forbidden = {Note::down_convert_inputs, Note::reduced_precision_reduction, Note::fft,
                                  Note::winograd, Note::winograd_4x4, Note::winograd_6x6, Note::winograd_13x13},
                    .most_workspace = preparation.most_workspace};
  // On numbers of float32 a tensor core computes in TF32.
  if (step.inputs[0].type == ElementType::float32 && !preparation.allows_tf32)
    rules.forbidden.push_back(Note::tensor_core);
  return rules;
}

/// Uses the fastest engine of a graph.
void measure_engines(const std::shared_ptr<CudnnPrepared>& prepared, const CudnnWritten& written,
                     const Preparation& preparation) {
  CudnnGraph& graph = *prepared->graph;
  if (!preparation.stopwatch || graph.choices() < 2) return;
  CudnnCall call(prepared, written.operands, false);
  const auto use = [&graph](std::size_t choice) { graph.use(choice); };
  prepared->is_measured = preparation.stopwatch->fastest(call, preparation.plan, graph.choices(), use).has_value();
}

Result<LibraryStep> Cudnn::call_of(CudnnWritten written, const EngineRules& rules, const Preparation& preparation) {
  // Some engines are compiled when their plan is made, for 0.2 s each.
  constexpr CudnnGraph::Search several = {.least = 8, .most = 32, .seconds = 0.1};
  const bool is_tf32 = preparation.allows_tf32 && written.operands.front().type == ElementType::float32;
  auto found = by_description_.find(written.key);
  if (found == by_description_.end()) {
    auto made = std::make_shared<CudnnPrepared>(std::move(written.prepared));
    Result<std::shared_ptr<CudnnPrepared>> result(made);
    if (auto chosen = made->graph->choose(rules, preparation.stopwatch ? several : CudnnGraph::Search()); !chosen)
      result = chosen.error();
    else
      measure_engines(made, written, preparation);
    found = by_description_.emplace(written.key, result).first;
  }
  if (!found->second) return found->second.error();
  LibraryStep step;
  step.call = std::make_unique<CudnnCall>(*found->second, std::move(written.operands), is_tf32);
  return step;
}

Result<LibraryStep> Cudnn::attempt(const ConvolutionPlan& what) {
  const auto& epilogue = static_cast<const plan::ConvolutionParameters&>(*what.step.parameters).epilogue;
  LibraryStep result;
  const auto end = what.links.empty() ? sum_of(epilogue) : std::optional(what.links.back().end);
  if (!epilogue.empty() && end != epilogue.last()) {
    if (!end) return make_error("not-supported", "an epilogue that does not read the sum once");
    const View& w = what.step.inputs[1];
    // Tensor cores are so much faster that a pass more pays sooner.
    const std::int64_t least_sum = is_16_bit_real(w.type) ? 16 : 64;
    if (w.dims[1] * w.dims[2] * w.dims[3] < least_sum)
      return make_error("not-supported", "sums too short for a pass of its own over the epilogue");
    result.rest = rest_of(what.step, epilogue, *end, what.preparation.plan);
    if (!result.rest)
      return make_error("not-supported", "an operand of the epilogue lies where the convolution is written");
  }
  ConvolutionWriter writer(what, session_);
  if (auto written = writer.write(); !written) return written.error();
  auto made = call_of(writer.take(), rules_of(what.step, what.preparation), what.preparation);
  if (!made) return made.error();
  result.call = std::move(made->call);
  return result;
}

Result<LibraryStep> Cudnn::prepare(const plan::Step& step, const Preparation& preparation) {
  if (step.kind == plan::convolution_step) return prepare_convolution(step, preparation);
  // Beside cuBLASLt with a map behind it only measurements tell what it is good for.
  if (step.kind == plan::product_step && !preparation.stopwatch)
    return make_error("not-supported", "products, unless engines are measured");
  auto written = step.kind == plan::product_step ? write_product_graph(step, preparation, session_)
                                                 : write_attention(step, preparation, session_);
  if (!written) return written.error();
  return call_of(*std::move(written), rules_of(step, preparation), preparation);
}

Result<LibraryStep> Cudnn::prepare_convolution(const plan::Step& step, const Preparation& preparation) {
  const View &x = step.inputs[0], &w = step.inputs[1], &to = step.outputs[0];
  if (!cudnn_type_of(x.type) || x.type != w.type || !cudnn_type_of(to.type))
    return make_error("not-supported", "an image and weights of two types");
  for (const View& input : step.inputs) {
    if (may_overlap(preparation.plan, input, to))
      return make_error("not-supported", "an operand lies where the convolution is written");
  }
  ConvolutionPlan what{.step = step, .preparation = preparation, .links = {}};
  const auto& epilogue = static_cast<const plan::ConvolutionParameters&>(*step.parameters).epilogue;
  what.links = links_for_cudnn(epilogue, step);
  const std::size_t fused = order_for_fused(what.links, step);
  auto whole = attempt(what);
  std::size_t tried = what.links.size();
  // Engines for any epilogue are there only for some types and devices.
  for (const std::size_t count : {fused, std::size_t{0}}) {
    if (whole || count >= tried) continue;
    what.links.resize(count);
    tried = count;
    if (auto part = attempt(what)) return part;
  }
  return whole;
}

Result<std::shared_ptr<CudnnSession>> session_of(const LibraryPlaces& places) {
  auto functions = cudnn::open(places);
  if (!functions) return functions.error();
  auto session = std::make_shared<CudnnSession>();
  session->functions = *functions;
  return session;
}

}  // namespace

Result<std::unique_ptr<Library>> open_cudnn(const LibraryPlaces& places) {
  auto session = session_of(places);
  if (!session) return session.error();
  const cudnn::Functions& functions = (*session)->functions;
  if (const auto status = functions.create(&(*session)->handle); status != cudnn::success) {
    (*session)->handle = nullptr;
    return make_error("device-failed", fmt::format("cuDNN does not start: {}", cudnn::text_of(functions, status)));
  }
  return std::unique_ptr<Library>(std::make_unique<Cudnn>(*std::move(session)));
}

Result<std::unique_ptr<Library>> open_cudnn_for(const LibraryPlaces& places, std::string_view device) {
  auto session = session_of(places);
  if (!session) return session.error();
  const cudnn::Functions& functions = (*session)->functions;
  auto status = functions.create_descriptor(cudnn::DescriptorType::device, &(*session)->device);
  if (status == cudnn::success)
    status = functions.set_attribute((*session)->device, cudnn::Attribute::device_json, cudnn::AttributeType::character,
                                     static_cast<std::int64_t>(device.size()), device.data());
  if (status == cudnn::success) status = functions.finalize((*session)->device);
  if (status != cudnn::success)
    return make_error("not-supported",
                      fmt::format("cuDNN does not know the device: {}", cudnn::text_of(functions, status)));
  return std::unique_ptr<Library>(std::make_unique<Cudnn>(*std::move(session)));
}

}  // namespace onnxkit::cuda
