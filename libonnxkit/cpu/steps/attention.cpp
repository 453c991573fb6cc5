#include <algorithm>
#include <memory>

#include "libonnxkit/cpu/kernels/kernels.h"
#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

/// One head of one image at a time, or some of its queries, divided among threads.
class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const plan::Step& step, const plan::AttentionParameters& parameters, int threads)
      : inputs_(step.inputs), to_(step.outputs[0]), threads_(threads) {
    const View &q = inputs_[0], &k = inputs_[1], &v = inputs_[2];
    attention_ = {.q_stride = q.strides[2],
                  .k_stride = k.strides[2],
                  .v_stride = v.strides[2],
                  .out_stride = to_.strides[2],
                  .queries = q.dims[2],
                  .keys = k.dims[2],
                  .depth = q.dims[3],
                  .value_depth = v.dims[3],
                  .scale = static_cast<float>(parameters.scale),
                  .mask_replaces = parameters.mask_replaces,
                  .softcap = static_cast<float>(parameters.softcap),
                  .causal = parameters.is_causal,
                  .causal_offset = parameters.causal_offset,
                  .blind = static_cast<float>(parameters.blind)};
    if (inputs_.size() > 3) attention_.mask_stride = inputs_[3].strides[2];
  }

  void run(RunState& state) override {
    const std::int64_t heads = to_.dims[1], all = to_.dims[0] * heads;
    const std::int64_t sharing = heads / inputs_[1].dims[1];  // heads with the same keys
    const std::int64_t rows = rows_of_part(all), parts = parts_of(rows);
    state.threads->for_range(all * parts, 1, [&](std::int64_t first, std::int64_t last) {
      const auto scratch = std::make_unique_for_overwrite<float[]>(scratch_floats());
      for (std::int64_t at = first; at < last; ++at) {
        const std::int64_t image = at / parts / heads, head = at / parts % heads, row = at % parts * rows;
        Attention one = attention_;
        one.q = place<const float>(state, inputs_[0], image, head) + row * one.q_stride;
        one.k = place<const float>(state, inputs_[1], image, head / sharing);
        one.v = place<const float>(state, inputs_[2], image, head / sharing);
        one.out = place<float>(state, to_, image, head) + row * one.out_stride;
        if (inputs_.size() > 3) one.mask = place<const float>(state, inputs_[3], image, head) + row * one.mask_stride;
        one.queries = at % parts + 1 == parts ? attention_.queries - row : rows;
        one.causal_offset += row;
        attend(one, scratch.get());
      }
    });
  }

  std::uint64_t scratch_bytes() const override {
    const std::int64_t heads = to_.dims[0] * to_.dims[1];
    const std::int64_t at_once = std::min<std::int64_t>(heads * parts_of(rows_of_part(heads)), threads_);
    return sizeof(float) * scratch_floats() * static_cast<std::uint64_t>(at_once);
  }

 private:
  std::size_t scratch_floats() const { return static_cast<std::size_t>(attention_scratch_floats(attention_)); }

  /// Queries of one piece of work: those of a head, but for few heads, which threads share, and long ones, between whose parts a run can end. Each
  /// part packs the keys and values anew, which is little beside its products.
  std::int64_t rows_of_part(std::int64_t heads) const {
    constexpr std::int64_t fewest_rows = 256, block = 32;
    constexpr double most_work = 1e10;
    const std::int64_t queries = attention_.queries;
    const double work = static_cast<double>(queries) * static_cast<double>(attention_.keys) *
                        static_cast<double>(attention_.depth + attention_.value_depth);
    const std::int64_t wanted =
        threads_ == 1 ? 1 : (4 * std::int64_t{threads_} - 1) / std::max<std::int64_t>(heads, 1) + 1;
    const auto parts = std::max(wanted, static_cast<std::int64_t>(std::min(work / most_work, 1e9)) + 1);
    const std::int64_t rows = std::max((queries - 1) / parts + 1, fewest_rows);
    return (rows + block - 1) / block * block;
  }
  /// Of so many queries; the last one has few more rather than being one of few, whose sums come in another order.
  std::int64_t parts_of(std::int64_t rows) const {
    return std::max<std::int64_t>(attention_.queries - few_queries - 1, 0) / rows + 1;
  }

  template <class T>
  static T* place(const RunState& state, const View& view, std::int64_t image, std::int64_t head) {
    return state.at<T>(view) + image * view.strides[0] + head * view.strides[1];
  }

  std::vector<View> inputs_;
  View to_;
  int threads_;
  Attention attention_;
};

Result<std::unique_ptr<Kernel>> make_attention(const plan::Step& step, Preparation& preparation) {
  const auto& parameters = static_cast<const plan::AttentionParameters&>(*step.parameters);
  return std::unique_ptr<Kernel>(std::make_unique<AttentionKernel>(step, parameters, preparation.threads.threads()));
}

}  // namespace

void register_attention(KernelRegistry& registry);
void register_attention(KernelRegistry& registry) { registry.add(plan::attention_step, make_attention); }

}  // namespace onnxkit::cpu
