// Fourier transforms. Complex numbers are pairs on a last axis in ONNX.
#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

ElementType complex_of(ElementType elem) {
  return elem == ElementType::float64 ? ElementType::complex128 : ElementType::complex64;
}

bool has_complex(WriteCall& call, ElementType elem) {
  const bool has = elem == ElementType::float32 || elem == ElementType::float64;
  if (!has) call.refuse("PyTorch's complex numbers are pairs of float or double", "cast its input to float");
  return has;
}

/// The numbers, complex where the last axis holds pairs.
ValueId without_pairs(WriteCall& call, ValueId x, bool is_complex) {
  const ValueId real = select(call, x, -1, 0);
  if (!is_complex) return real;
  const Type type = with_elem(call.type_of(real), complex_of(call.type_of(real).elem));
  return call.emit("aten.complex.default", {{"real", real}, {"imag", select(call, x, -1, 1)}}, type);
}

void give_pairs(WriteCall& call, ValueId complex) {
  call.result(call.emit("aten.view_as_real.default", {{"self", complex}}, call.output_type()));
}

ValueId transform(WriteCall& call, std::string_view op, ValueId x, const Given& length, Int axis, ElementType elem) {
  return call.emit(op, {{"self", x}, length, {"dim", axis}, {"norm", {}}}, Type::tensor(elem));
}

void map_dft(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const ElementType elem = call.elem(0);
  const auto parts = rank < 2 ? std::nullopt : call.size(0, rank - 1);
  if (!parts) return call.refuse("whether its numbers are complex is not known");
  if (!has_complex(call, elem)) return;
  const auto asked = call.has(2) ? call.known_integers(2) : std::optional(Ints{-2});
  if (!asked || asked->size() != 1) return call.refuse("its axis is computed while the model runs", "make it constant");
  const Int axis = WriteCall::from_start(*asked, rank).front();
  const bool is_inverse = call.integer("inverse", 0) != 0, is_half = call.integer("onesided", 0) != 0;
  const bool is_complex = *parts == 2;
  if (is_half && !is_inverse && is_complex) return call.refuse("half of a transform of complex numbers");
  Given length{"n", {}};
  if (call.has(1)) std::visit([&](auto value) { length.value = value; }, integer_argument(call, 1));
  const ValueId x = without_pairs(call, call.input(0), is_complex);
  if (is_inverse && is_half) {
    const ValueId real = transform(call, "aten.fft_irfft.default", x, length, axis, elem);
    return call.result(call.emit("aten.unsqueeze.default", {{"self", real}, {"dim", Int{-1}}}, call.output_type()));
  }
  const std::string_view op = is_inverse ? "aten.fft_ifft.default"
                              : is_half  ? "aten.fft_rfft.default"
                                         : "aten.fft_fft.default";
  give_pairs(call, transform(call, op, x, length, axis, complex_of(elem)));
}

/// The places of all elements of all frames: begin of the frame, plus place in it.
ValueId places_in_frames(WriteCall& call, Dim length) {
  const Type one = Type::tensor(ElementType::int64, {});
  const ValueId step = reshape(call, cast(call, call.input(1), ElementType::int64), {});
  const ValueId size = call.has(3) ? reshape(call, cast(call, call.input(3), ElementType::int64), {})
                                   : full(call, {}, (*call.shape(2))[0], ElementType::int64);
  const ValueId left = binary(call, "aten.sub.Tensor", full(call, {}, length, ElementType::int64), size, one);
  const ValueId hops =
      call.emit("aten.div.Tensor_mode", {{"self", left}, {"other", step}, {"rounding_mode", "floor"}}, one);
  const auto count_to = [&](ValueId count, const Ints& shape) {
    const ValueId places = call.emit(
        "aten.arange.start_step",
        {{"start", Int{0}}, {"end", item(call, count, Dim())}, {"step", Int{1}}, {"dtype", ElementType::int64}},
        Type::tensor(ElementType::int64, {Dim()}));
    return call.emit("aten.reshape.default", {{"self", places}, {"shape", shape}},
                     Type::tensor(ElementType::int64, Shape(shape.size())));
  };
  const Type table = Type::tensor(ElementType::int64, Shape(2));
  const ValueId begins = binary(call, "aten.mul.Tensor", count_to(add_number(call, hops, 1), {-1, 1}), step, table);
  return binary(call, "aten.add.Tensor", begins, count_to(size, {1, -1}), table);
}

void map_stft(WriteCall& call) {
  const ElementType elem = call.elem(0);
  const std::size_t rank = call.rank(0);
  if (call.refused() || !has_complex(call, elem)) return;
  const auto parts = rank == 3 ? call.size(0, 2) : std::nullopt;
  if (rank != 2 && !parts) return call.refuse("whether its signal is complex is not known");
  if (!call.has(3) && (!call.shape(2) || call.shape(2)->size() != 1))
    return call.refuse("it has neither a window nor the length of one");
  const bool is_half = call.integer("onesided", 1) != 0, is_complex = parts == 2;
  if (is_half && is_complex) return call.refuse("half of a transform of complex numbers");
  const ValueId signal = rank == 2 ? call.input(0) : without_pairs(call, call.input(0), is_complex);
  const ElementType inner = is_complex ? complex_of(elem) : elem;
  const ValueId places = places_in_frames(call, (*call.shape(0))[1]);
  ValueId frames =
      call.emit("aten.index.Tensor", {{"self", signal}, {"indices", std::vector<ValueId>{ValueId::none, places}}},
                Type::tensor(inner, Shape(3)));
  if (call.has(2)) frames = binary(call, "aten.mul.Tensor", frames, call.input(2), call.type_of(frames));
  const std::string_view op = is_half ? "aten.fft_rfft.default" : "aten.fft_fft.default";
  give_pairs(call, transform(call, op, frames, {"n", {}}, -1, complex_of(elem)));
}

}  // namespace

void register_spectral(Writers& writers);
void register_spectral(Writers& writers) {
  writers.add("DFT", map_dft);
  writers.add("STFT", map_stft);
}

}  // namespace onnxkit::aten
