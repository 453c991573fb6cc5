#pragma once

#include <optional>
#include <vector>

#include "converters/foreign/write_types.h"

// Windows that move over the spatial axes of a value whose channels are last.
namespace onnxkit::foreign {

struct Windows {
  Ints kernel, strides, dilations;
  Ints begins, ends;     ///< pads, those of auto_pad and of ceil_mode included
  bool is_same = false;  ///< the pads are those of SAME

  bool has_pads() const;
};

/// From the attributes of Conv and the pooling operators. Refuses what sizes must be known for that are not.
Windows windows_of(WriteCall& call, Ints kernel);
/// Windows over [N, L, C] as those over [N, 1, L, C].
Windows with_two_spatial_axes(Windows windows);
/// The sizes of the windows of Conv or ConvTranspose, from its weights; refuses when they are not known.
std::optional<Ints> kernel_of(WriteCall& call, std::size_t spatial);

/// All that the windows of a transposed convolution reach, of which pads cut off a part.
struct Reach {
  Ints sizes, begins, ends;
};
/// nullopt where sizes are not known, or the result goes further than the operators of channels-last frameworks reach.
std::optional<Reach> reach_of(WriteCall& call, const Ints& kernel, const Ints& strides, const Windows& windows);

/// What a mean over windows of a padded value is multiplied with, for each place, where pads do not count: [1, spatial..., 1].
struct MeanFactors {
  Ints dims;
  std::vector<double> values;
  bool is_one() const;
};
/// Refuses, and gives none, where sizes are not known.
std::optional<MeanFactors> mean_factors(WriteCall& call, const Windows& windows, bool counts_pads);

}  // namespace onnxkit::foreign
