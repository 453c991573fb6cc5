// Col2Im: columns of blocks put back into an image; where blocks overlap their elements add up. The sum of booleans is or.
#include "libonnxkit/base/checked.h"
#include "reference/kernels/axes.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

struct Col2imAxis {
  std::int64_t image, block, stride, dilation, pad;
  std::int64_t steps;  ///< positions of the block
};

constexpr std::int64_t far_col2im = std::int64_t{1} << 31;

std::vector<Col2imAxis> axes_of_col2im(const KernelContext& context) {
  const std::vector<std::int64_t> image = context.input(1).integers(), block = context.input(2).integers();
  const std::size_t rank = image.size();
  require(rank > 0 && block.size() == rank, "image and block have different ranks");
  const auto strides = context.integers("strides").value_or(Dims(rank, 1));
  const auto dilations = context.integers("dilations").value_or(Dims(rank, 1));
  const auto pads = context.integers("pads").value_or(Dims(2 * rank, 0));
  require(strides.size() == rank && dilations.size() == rank && pads.size() == 2 * rank,
          "an attribute must have one entry per axis");
  std::vector<Col2imAxis> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    for (const std::int64_t number : {image[i], block[i], strides[i], dilations[i]})
      require(0 < number && number < far_col2im, "a size, stride or dilation is out of range");
    require(0 <= pads[i] && pads[i] < far_col2im && 0 <= pads[i + rank] && pads[i + rank] < far_col2im,
            "a pad is out of range");
    const std::int64_t room = image[i] + pads[i] + pads[i + rank], reach = dilations[i] * (block[i] - 1) + 1;
    require(reach <= room, "the block is larger than the image");
    axes.push_back({image[i], block[i], strides[i], dilations[i], pads[i], (room - reach) / strides[i] + 1});
  }
  return axes;
}

template <class T>
void add_block(const T* columns, std::int64_t blocks, T* image, const std::vector<Col2imAxis>& axes,
               std::int64_t element) {
  for (std::int64_t b = 0; b < blocks; ++b) {
    std::int64_t in_block = element, step = b, offset = 0, stride = 1;
    bool inside = true;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const Col2imAxis& axis = axes[i];
      const std::int64_t at = step % axis.steps * axis.stride + in_block % axis.block * axis.dilation - axis.pad;
      inside = inside && 0 <= at && at < axis.image;
      offset += at * stride;
      stride *= axis.image;
      step /= axis.steps;
      in_block /= axis.block;
    }
    if (inside) image[offset] = add(image[offset], columns[b]);
  }
}

void col2im(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() == 3, "the input must have the axes batch, element of a block, block");
  const std::vector<Col2imAxis> axes = axes_of_col2im(context);
  std::optional<std::int64_t> elements = 1, blocks = 1;
  Dims dims = {x.dim(0), 0};
  for (const Col2imAxis& axis : axes) {
    elements = elements ? checked_mul(*elements, axis.block) : elements;
    blocks = blocks ? checked_mul(*blocks, axis.steps) : blocks;
    dims.push_back(axis.image);
  }
  require(elements && x.dim(1) % *elements == 0, "the columns are not divisible into blocks");
  require(blocks && x.dim(2) == *blocks, "the number of blocks does not match the image");
  dims[1] = x.dim(1) / *elements;
  const std::int64_t channels = dims[0] * dims[1], area = element_count(std::span(dims).subspan(2));
  Tensor y = context.make(x.type(), std::move(dims));
  if (x.domain() == Domain::string) throw Fault("undefined-for-type", "strings cannot be added");
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    const T* const from = x.as<T>().data();
    T* const to = y.write<T>().data();
    context.for_range(channels, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t channel = first; channel < last; ++channel) {
        for (std::int64_t element = 0; element < *elements; ++element)
          add_block(from + (channel * *elements + element) * *blocks, *blocks, to + channel * area, axes, element);
      }
    });
  });
  context.set_output(0, std::move(y));
}

}  // namespace

void register_col2im(KernelRegistry& registry) {
  registry.add("Col2Im", all_versions(), col2im, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
