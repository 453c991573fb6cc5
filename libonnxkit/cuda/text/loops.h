#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "libonnxkit/plan/view.h"

namespace onnxkit::cuda {

/// "c0 * 12 + c1", "0": coordinates times strides, axes of stride 0 left out. `names` are those of the coordinates.
std::string place_text(std::span<const std::string> names, std::span<const std::int64_t> strides);
/// `c` and a number, for each axis.
std::vector<std::string> axis_names(std::string_view prefix, std::size_t count);
/// Statements that take a linear index apart: "const unsigned c1 = rest % 12u;". The innermost axis is the last. `rest` must be a variable that may
/// change. A coordinate without a name is left out.
std::string split_index(std::string_view rest, std::span<const std::string> names, std::span<const std::int64_t> sizes,
                        std::string_view indent);

/// The same elements with stride 0 along axes of one element, whose coordinates texts leave out.
plan::View without_single_axes(const plan::View& view);

/// Whether the places of all elements of all views fit 31 bits: indices of 32 bits are several times faster on a GPU than those of 64.
bool fits_31_bits(std::span<const plan::View* const> views);

/// Text of a loop over a linear index `at` of the type Count, one turn or more for each thread.
class LinearLoop {
 public:
  explicit LinearLoop(std::int64_t count);

  const std::string& begin() const { return begin_; }
  std::string end() const { return "  }\n"; }
  std::uint32_t blocks() const { return blocks_; }
  std::uint32_t threads() const { return threads_; }

 private:
  std::string begin_;
  std::uint32_t blocks_ = 1, threads_ = 1;
};

/// Text that goes through all elements of views of the same sizes, one or more for each thread: a loop over a linear index, and where the element
/// of each view lies. Axes that all views run through in the same way are joined.
class ElementLoop {
 public:
  /// With `packs`, a turn of the loop takes pack() neighbours, where views and sizes allow it.
  explicit ElementLoop(std::span<const plan::View* const> views, bool packs = false);

  /// The head of the loop, and the coordinates c0, c1 ... of the element, of the first one of a pack.
  const std::string& begin() const { return begin_; }
  std::string end() const { return "  }\n"; }
  /// The place of the element in a view, relative to the view's first element: "c0 * 12 + c1".
  std::string place(std::size_t view) const;
  int pack() const { return pack_; }
  /// Neighbours along the loop are so in the view; otherwise, with packs, all elements of a pack are the same one.
  bool is_side_by_side(std::size_t view) const;
  std::uint32_t blocks() const { return linear_.blocks(); }
  std::uint32_t threads() const { return linear_.threads(); }

 private:
  plan::Loops loops_;
  std::vector<std::string> names_;
  std::string begin_;
  int pack_ = 1;
  LinearLoop linear_{1};
};

}  // namespace onnxkit::cuda
