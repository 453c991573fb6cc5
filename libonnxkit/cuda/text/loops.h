#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "libonnxkit/plan/view.h"

namespace onnxkit::cuda {

/// Text that goes through all elements of views of the same sizes, one or more for each thread: a loop over a linear index `i`, and where element
/// i of each view lies. Axes that all views run through in the same way are joined.
class ElementLoop {
 public:
  explicit ElementLoop(std::span<const plan::View* const> views);

  /// The head of the loop, and the coordinates c0, c1 ... of element i.
  const std::string& begin() const { return begin_; }
  std::string end() const { return "  }\n"; }
  /// The place of the element in a view, relative to the view's first element: "c0 * 12 + c1".
  std::string place(std::size_t view) const;
  std::uint32_t blocks() const { return blocks_; }
  std::uint32_t threads() const { return threads_; }

 private:
  plan::Loops loops_;
  std::string begin_;
  std::uint32_t blocks_ = 1, threads_ = 1;
};

}  // namespace onnxkit::cuda
