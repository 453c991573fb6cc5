#pragma once

#include <span>
#include <vector>

#include "libonnxkit/plan/steps.h"
#include "onnxkit/result.h"

namespace onnxkit::cuda {

/// A matrix as BLAS reads it: columns of `rows` numbers each, `leading` numbers from one to the next.
struct BlasMatrix {
  std::int64_t rows = 0, columns = 0, leading = 0;
  bool is_transposed = false;  ///< what is multiplied is its transpose
  std::int64_t stride = 0;     ///< from one matrix of a batch to the next
};

/// Products d = a b in column-major order. Where rows of the step's output lie side by side that is the transposed product, with the factors in
/// changed order.
struct ProductLayout {
  bool is_swapped = false;  ///< a is the step's second input
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batches = 1;
  BlasMatrix a, b, d;
  /// Leading axes that no single stride goes along: a call for each index of them. Sizes, then strides by view in the order of `views_of`.
  plan::Dims outer;
  std::vector<plan::Dims> outer_strides;

  std::int64_t calls() const { return plan::element_count(outer); }
  /// Where call number `call` begins in view number `view`, in elements.
  std::int64_t offset(std::size_t view, std::int64_t call) const;
  plan::Dims batch_strides;  ///< by view
};

/// The views of a product step: output, both factors, the rest of the inputs.
std::vector<const plan::View*> views_of(const plan::Step& step);

/// Error not-supported, with the reason.
Result<ProductLayout> layout_of(const plan::Step& step);

/// An operand of the output's sizes as an addend of column-major order.
enum class Addend : std::uint8_t { none, vector, matrix };
struct AddendLayout {
  Addend kind = Addend::none;  ///< a vector repeats along the columns of d
  BlasMatrix matrix;           ///< of a vector only the stride
};
AddendLayout addend_layout_of(const ProductLayout& layout, const plan::Step& step, std::size_t input);

}  // namespace onnxkit::cuda
