#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "converters/foreign/write_types.h"

// Where the elements of a resized image come from, along one axis.
namespace onnxkit::foreign {

/// Where an axis of the result looks in the image, as ONNX says.
struct Sampling {
  std::int64_t in = 1, out = 1;
  double scale = 1;  ///< out / in
  std::string_view mode;

  double position(std::int64_t x) const;
};

/// Of a spatial axis of Resize, whose channels are last; nullopt when its sizes are not known.
std::optional<Sampling> sampling_of(WriteCall& call, std::size_t axis, std::size_t rank);
/// Whether a Resize whose channels are last leaves them as many as they are.
bool keeps_channels(WriteCall& call);
/// How operators of channels-last frameworks resize images of open sizes, by scales that follow from the sizes.
struct OpenResize {
  bool aligned = false, centred = false;  ///< align_corners, half_pixel_centers
  Ints scales = {};  ///< of the spatial axes; empty: the sizes are input 3, in the order of channels first
};
/// Of a Resize over two axes with modes that such an operator has for all sizes; nullopt for others.
std::optional<OpenResize> open_resize(WriteCall& call, std::size_t rank);
/// The elements that an axis of the result takes.
Ints nearest_places(const Sampling& sampling, std::string_view mode);
/// The same of an axis whose first and last element are repeated so many times.
Ints repeated_ends(std::int64_t size, std::int64_t begin, std::int64_t end);
/// Whether operators of channels-last frameworks that look where `coordinates` says, and round so, take the same elements.
bool takes_same(const std::vector<Sampling>& axes, std::string_view mode, std::string_view coordinates,
                std::string_view rounding);
/// Whether linear interpolation looks where `coordinates` says along all axes, with scales that follow from the sizes.
bool looks_as(const std::vector<Sampling>& axes, std::string_view coordinates);
/// The weights of elements that an axis of the result is a mean of, [out, in].
std::vector<double> linear_weights(const Sampling& sampling);
std::vector<double> cubic_weights(const Sampling& sampling, double a, bool leaves_out);

}  // namespace onnxkit::foreign
