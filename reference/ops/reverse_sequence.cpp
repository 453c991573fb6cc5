// ReverseSequence: in each batch the first sequence_lens[batch] steps of time in reverse, the others as they are.
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void reverse_sequence(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() >= 2, "the input must have at least two axes");
  const std::int64_t batch_axis = normalize_axis(context.integer("batch_axis", 1), x.rank());
  const std::int64_t time_axis = normalize_axis(context.integer("time_axis", 0), x.rank());
  require(batch_axis != time_axis, "the batch and time axes must differ");
  const std::vector<std::int64_t> lengths = context.input(1).integers();
  const std::int64_t batches = x.dim(batch_axis), times = x.dim(time_axis);
  require(static_cast<std::int64_t>(lengths.size()) == batches, "there must be one length per batch entry");
  for (const std::int64_t length : lengths)
    require(0 <= length && length <= times, "a length is outside the time axis");
  const std::vector<std::int64_t> strides = strides_of(x.dims());
  const std::int64_t batch_stride = strides[static_cast<std::size_t>(batch_axis)];
  const std::int64_t time_stride = strides[static_cast<std::size_t>(time_axis)];
  context.set_output(0, pick(context, x, x.dims(), [&](std::int64_t i) {
                       const std::int64_t length = lengths[static_cast<std::size_t>(i / batch_stride % batches)];
                       const std::int64_t time = i / time_stride % times;
                       return time < length ? i + (length - 1 - 2 * time) * time_stride : i;
                     }));
}

}  // namespace

void register_reverse_sequence(KernelRegistry& registry) {
  registry.add("ReverseSequence", all_versions(), reverse_sequence, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
