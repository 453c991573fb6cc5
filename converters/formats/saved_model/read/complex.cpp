// Complex numbers, as real and imaginary parts, and Fourier transforms.
#include "converters/foreign/complex_numbers.h"
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

using foreign::Complex;
using foreign::FourierAxis;
using foreign::FourierScale;

// ---- parts

void map_complex(Call& call) { call.result(of_parts(call.onnx, call.tensor("real"), call.tensor("imag"))); }
void map_real_part(Call& call) { call.result(call.complex("input").real); }

void map_imaginary_part(Call& call) {
  const Complex x = with_both_parts(call.onnx, call.complex("input"));
  call.result(x.imaginary);
}

void map_conjugate(Call& call) { call.result(conjugate(call.onnx, call.complex("input"))); }
void map_complex_absolute(Call& call) { call.result(absolute_value(call.onnx, call.complex("x"))); }

void map_angle(Call& call) {
  const Complex x = with_both_parts(call.onnx, call.complex("input"));
  call.result(angle_of(call.onnx, x.imaginary, x.real));
}

void map_complex_shape(Call& call) {
  auto& onnx = call.onnx;
  call.result(onnx.cast(onnx.emit("Shape", {call.complex("input").real}), call.elem("out_type", ElementType::int32)));
}

// ---- arithmetic

template <bool is_sum>
void map_complex_sum(Call& call) {
  call.result(sum_of(call.onnx, is_sum ? "Add" : "Sub", call.complex("x"), call.complex("y")));
}
void map_complex_product(Call& call) { call.result(product_of(call.onnx, call.complex("x"), call.complex("y"))); }
void map_complex_quotient(Call& call) { call.result(quotient_of(call.onnx, call.complex("x"), call.complex("y"))); }

void map_complex_square(Call& call) {
  const Complex x = call.complex("x");
  call.result(product_of(call.onnx, x, x));
}

void map_complex_exponential(Call& call) {
  const Complex x = call.complex("x");
  call.result(from_polar(call.onnx, call.onnx.emit("Exp", {x.real}), x.imaginary));
}

template <bool is_equal>
void map_complex_equal(Call& call) {
  const Val same = equality_of(call.onnx, call.complex("x"), call.complex("y"));
  call.result(is_equal ? same : call.onnx.emit("Not", {same}));
}

Complex transposed(Call& call, const Complex& x) {
  const auto swapped = [&](Val part) { return part ? foreign::with_last_axes_swapped(call, part) : Val{}; };
  return {swapped(x.real), swapped(x.imaginary)};
}

void map_complex_matmul(Call& call) {
  Complex a = call.complex("a"), b = call.complex("b");
  if (call.flag("transpose_a", false)) a = transposed(call, a);
  if (call.flag("transpose_b", false)) b = transposed(call, b);
  const Complex product = matrix_product_of(call.onnx, a, b);
  call.result(call.has("bias") ? sum_of(call.onnx, "Add", product, call.complex("bias")) : product);
}

void map_complex_batch_matmul(Call& call) {
  Complex x = call.complex("x"), y = call.complex("y");
  if (call.flag("adj_x", false)) x = conjugate(call.onnx, transposed(call, x));
  if (call.flag("adj_y", false)) y = conjugate(call.onnx, transposed(call, y));
  call.result(matrix_product_of(call.onnx, x, y));
}

// ---- Fourier transforms

/// The last `count` axes, with the lengths that the node states.
std::vector<FourierAxis> axes_of(Call& call, Val x, std::size_t count) {
  const std::vector<std::int64_t> lengths =
      call.has("fft_length") ? known_integers(call, "fft_length") : std::vector<std::int64_t>();
  return foreign::last_axes(call, call.rank(x), count, lengths);
}

template <std::size_t count, bool is_inverse>
void map_complex_transform(Call& call) {
  const Complex x = call.complex("input");
  const auto axes = axes_of(call, x.real, count);
  const FourierScale scale = is_inverse ? FourierScale::length : FourierScale::one;
  call.result(fourier(call, x, axes, is_inverse, false, scale));
}

/// The first half of the transform of real numbers.
template <std::size_t count>
void map_transform_of_real(Call& call) {
  const Val x = call.tensor("input");
  const auto axes = axes_of(call, x, count);
  call.result(fourier(call, {x, {}}, axes, false, true, FourierScale::one));
}

template <std::size_t count>
void map_transform_to_real(Call& call) {
  const Complex x = call.complex("input");
  const auto axes = axes_of(call, x.real, count);
  call.result(real_inverse_fourier(call, x, axes, FourierScale::length));
}

template <std::size_t count>
void add_transforms(Mappings& mappings, std::string_view forward, std::string_view inverse, std::string_view of_real,
                    std::string_view to_real) {
  mappings.add(forward, {"input"}, map_complex_transform<count, false>);
  mappings.add(inverse, {"input"}, map_complex_transform<count, true>);
  mappings.add(of_real, {"input", "fft_length"}, map_transform_of_real<count>);
  mappings.add(to_real, {"input", "fft_length"}, map_transform_to_real<count>);
}

}  // namespace

void register_complex(Mappings& mappings);
void register_complex(Mappings& mappings) {
  mappings.add("Complex", {"real", "imag"}, map_complex);
  mappings.add("Real", {"input"}, map_real_part);
  mappings.add("Imag", {"input"}, map_imaginary_part);
  mappings.add("Conj", {"input"}, map_conjugate);
  mappings.add("ComplexAbs", {"x"}, map_complex_absolute);
  mappings.add("Angle", {"input"}, map_angle);
  mappings.add_complex({"Add", "AddV2"}, map_complex_sum<true>);
  mappings.add_complex({"Sub"}, map_complex_sum<false>);
  mappings.add_complex({"Mul"}, map_complex_product);
  mappings.add_complex({"RealDiv", "Div"}, map_complex_quotient);
  mappings.add_complex({"Square"}, map_complex_square);
  mappings.add_complex({"Exp"}, map_complex_exponential);
  mappings.add_complex({"Equal"}, map_complex_equal<true>);
  mappings.add_complex({"NotEqual"}, map_complex_equal<false>);
  mappings.add_complex({"MatMul"}, map_complex_matmul);
  mappings.add_complex({"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}, map_complex_batch_matmul);
  mappings.add_complex({"Shape"}, map_complex_shape);
  mappings.add_by_part({"Neg", "AddN", "Sum", "Mean", "SelectV2", "Select", "ZerosLike"});
  mappings.add_by_part({"Reshape", "ExpandDims", "Squeeze", "Transpose", "Fill", "BroadcastTo", "Tile"});
  mappings.add_by_part({"StridedSlice", "Slice", "Split", "SplitV", "ConcatV2", "Concat", "Pack", "Unpack", "GatherV2",
                        "Gather", "GatherNd", "Pad", "PadV2", "MirrorPad", "ReverseV2", "ReverseSequence", "Roll"});
  add_transforms<1>(mappings, "FFT", "IFFT", "RFFT", "IRFFT");
  add_transforms<2>(mappings, "FFT2D", "IFFT2D", "RFFT2D", "IRFFT2D");
  add_transforms<3>(mappings, "FFT3D", "IFFT3D", "RFFT3D", "IRFFT3D");
}

}  // namespace onnxkit::saved_model
