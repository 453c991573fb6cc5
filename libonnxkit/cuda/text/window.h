#pragma once

#include <string>

#include "libonnxkit/cuda/text/loops.h"

namespace onnxkit::cuda {

/// The window of a convolution or a pool over images [n, c, ...] of any number of axes. Coordinates of the output are c2, c3 ...
struct Window {
  plan::Dims kernel, strides, dilations, pads;  ///< pads: begins, then ends

  /// Where the window begins in the image: start0, start1 ...
  std::string starts(const plan::View& output, std::string_view indent) const;
  /// Loops over the window's elements within the image: i0, i1 ... in the image, t0, t1 ... in the window.
  std::string begin_taps(const plan::View& image, std::string_view indent) const;
  /// The same over all elements of the window, in the image or not.
  std::string begin_all_taps(std::string_view indent) const;
  std::string end_taps(std::string_view indent) const;
  /// The place of i0, i1 ... in an image.
  std::string place(const plan::View& image, const std::string& n, const std::string& c) const;
  /// Conditions that i0, i1 ... lie within the image; empty when they always do.
  std::string inside(const plan::View& image, const plan::View& output) const;

 private:
  std::string begin_loop(std::size_t axis, std::string_view indent) const;
};

/// A loop over all elements of a view with a coordinate for each axis of more than one, c0, c1 ...; neighbouring threads along the smallest stride.
class OrderedLoop {
 public:
  explicit OrderedLoop(const plan::View& view);

  const std::string& begin() const { return begin_; }
  std::string end() const { return "  }\n"; }
  std::string place(const plan::View& view) const { return place_text(names_, without_single_axes(view).strides); }
  std::uint32_t blocks() const { return linear_.blocks(); }
  std::uint32_t threads() const { return linear_.threads(); }

 private:
  std::vector<std::string> names_;
  std::string begin_;
  LinearLoop linear_;
};

}  // namespace onnxkit::cuda
