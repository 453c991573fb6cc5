#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "libonnxkit/base/system/shared_library.h"
#include "libonnxkit/cuda/step.h"

// One step on buffers in memory of the host, computed by a library and by plain loops.
namespace onnxkit::cuda_libraries {

using cuda::View;
using plan::Dims;

/// The folder with the stand-ins.
LibraryPlaces stand_ins();
/// Where NVIDIA's libraries may be.
LibraryPlaces installed();

class Scene {
 public:
  /// A buffer of its own with small random numbers.
  View make(ElementType type, const Dims& dims);
  void* place(const View& view);
  double at(const View& view, const Dims& index);

  plan::Plan plan;

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::uint32_t state_ = 12345;
};

/// What an expression gives for these inputs, in double.
double value_of(const plan::Expression& expression, const std::vector<double>& inputs);
/// Every index of a tensor of these sizes, in row-major order.
std::vector<Dims> indices(const Dims& dims);

/// Runs a map in place of the host.
void run_map(Scene& scene, const plan::Step& map);
/// Runs what a library made of a step, with a workspace of the size that it asks for.
void run(Scene& scene, const cuda::LibraryStep& step);

/// Largest distance of the output of a product step from plain loops, relative to the largest number.
double product_error(Scene& scene, const plan::Step& step, const std::vector<double>& expected);
std::vector<double> expected_product(Scene& scene, const plan::Step& step);
std::vector<double> expected_convolution(Scene& scene, const plan::Step& step);
std::vector<double> expected_attention(Scene& scene, const plan::Step& step);

}  // namespace onnxkit::cuda_libraries
