#pragma once

#include "libonnxkit/plan/images.h"

// What Conv and ConvTranspose have in common: parts of their filters, and convolution steps over images and volumes.
namespace onnxkit::plan {

/// The filters of a node, input 1, of which convolution steps read parts.
class Filters {
 public:
  explicit Filters(LowerCall& call) : call_(call), all_(call.input(1)) {}
  /// All of them, to be sliced and permuted.
  const View& all() const { return all_; }
  /// A view of them under these sizes, as a step reads it: where it lies, else a constant of its own or a copy.
  View part(const View& view, const Dims& dims);
  bool are_constant() const { return call_.is_constant(1); }
  /// Constant numbers, of which none is an infinity or NaN.
  bool are_finite();

 private:
  /// Of constant filters, in row-major order.
  const std::optional<std::vector<double>>& numbers();

  LowerCall& call_;
  View all_;
  std::optional<std::vector<double>> numbers_;  ///< once they were asked for
};

/// output = image * filters + bias, as ONNX's Conv. Image and output are [n, c, h, w] or [n, c, d, h, w] with channels side by side.
struct Convolved {
  View filters;   ///< the filters of Filters::all(), in any number of axes, and behind them c / groups and the kernel
  Window window;  ///< pads may be negative: the image begins, or ends, before its border
  std::int64_t groups = 1;
  std::optional<View> bias = {};  ///< [m]
};
/// Input 2, which may be absent.
std::optional<View> bias_of(LowerCall& call);
void convolve_image(LowerCall& call, Filters& filters, View image, const Convolved& convolved, const View& output);

/// A volume with zeros in front of and behind its depth.
struct PaddedVolume {
  View view;
  std::int64_t front = 0;  ///< planes of zeros
};
/// Of [n, c, d, h, w] in any order.
PaddedVolume padded_volume(LowerCall& call, const View& volume, std::int64_t front, std::int64_t behind);
/// A node becomes at most so many convolutions: each of them is a step.
inline constexpr std::int64_t most_convolutions = 1024;
inline constexpr char many_convolutions[] = "it would take many convolutions";
/// A convolution of slices for each plane of the filters, added to those before. The volume has the planes of zeros that the window asks for.
void convolve_volume(LowerCall& call, Filters& filters, const PaddedVolume& volume, const Convolved& convolved,
                     const View& output);
/// A new float32 tensor [n, c, d, h, w] with channels side by side.
View make_volume(LowerCall& call, const Dims& dims);
/// A volume as images, each slice one. Precondition: the slices of all volumes are evenly apart.
View slices_of(View volume);

}  // namespace onnxkit::plan
