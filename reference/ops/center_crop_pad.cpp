// CenterCropPad: crops or pads `axes`, or all axes, to the sizes of the second input, evenly at both ends. Of an odd number the smaller half is
// cropped or padded in front.
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

void center_crop_pad(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::vector<std::int64_t> sizes = context.input(1).integers();
  const std::vector<std::int64_t> axes = context.integers("axes").value_or(identity_index(x.rank()));
  normalize_axes(axes, x.rank());
  require(sizes.size() == axes.size(), "there must be one size per axis");
  Dims dims = x.dims();
  for (std::size_t i = 0; i < axes.size(); ++i)
    dims[static_cast<std::size_t>(normalize_axis(axes[i], x.rank()))] = sizes[i];
  context.set_output(0, select(context, x, dims, [&](std::int64_t axis, std::int64_t i) {
                       const std::int64_t excess = x.dim(axis) - dims[static_cast<std::size_t>(axis)];
                       const std::int64_t source = i + excess / 2;  // truncates towards the middle either way
                       return 0 <= source && source < x.dim(axis) ? source : no_source;
                     }));
}

}  // namespace

void register_center_crop_pad(KernelRegistry& registry) {
  registry.add("CenterCropPad", all_versions(), center_crop_pad, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
