// Fourier transforms of real numbers, and what becomes of their complex results.
#include "converters/foreign/complex_numbers.h"
#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

using foreign::Complex;
using foreign::FourierAxis;
using foreign::FourierScale;

/// Over the last two axes, of which the last gives the first half of its frequencies.
void map_fourier_of_planes(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x");
  const std::size_t rank = call.rank(x);
  const auto lengths = onnx.constant_integers(call.tensor("fft_length"));
  if (!lengths || lengths->empty()) return call.refuse("its lengths are not constant");
  std::vector<FourierAxis> axes = foreign::last_axes(call, rank, 2, *lengths);
  if (call.refused()) return;
  if (axes.front().length == 1 && onnx.size(x, rank - 2) == 1) axes.erase(axes.begin());  // signals, one on each plane
  call.result(fourier(call, {x, {}}, axes, false, true, FourierScale::one));
}

void map_absolute(Call& call) { call.result(absolute_value(call.onnx, call.complex("x"))); }
void map_real_part(Call& call) { call.result(call.complex("x").real); }
void map_imaginary_part(Call& call) { call.result(with_both_parts(call.onnx, call.complex("x")).imaginary); }

}  // namespace

void register_complex(Mappings& mappings);
void register_complex(Mappings& mappings) {
  mappings.add("RFFT2D", {"x", "fft_length"}, map_fourier_of_planes);
  mappings.add("COMPLEX_ABS", {"x"}, map_absolute);
  mappings.add("REAL", {"x"}, map_real_part);
  mappings.add("IMAG", {"x"}, map_imaginary_part);
  mappings.add_by_part({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"});
}

}  // namespace onnxkit::tflite
