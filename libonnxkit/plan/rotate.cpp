#include "libonnxkit/plan/rotate.h"

namespace onnxkit::plan {

std::optional<Angles> angles_at(LowerCall& call, std::size_t cosine_cache, std::size_t sine_cache,
                                const View& positions) {
  const Dims dims = call.input_dims(cosine_cache);
  if (dims.size() != 2 || call.input_dims(sine_cache) != dims || element_count(dims) == 0 || positions.rank() != 2)
    return std::nullopt;
  Expression e;  // gathers count negative positions from the end
  const Expression::Number position = e.input(0, Lane::i64);
  e.apply(Operation::select, e.apply(Operation::less, position, e.integer(0)), e.integer(dims[0]), position);
  const View rows = mapped(call, e, {positions}, ElementType::int64, positions.dims);
  const auto taken_from = [&](std::size_t cache) {
    const View data = call.contiguous(call.as_real(call.input(cache)));
    const View at = call.make(ElementType::float32, {1, rows.size(), dims[1]});
    call.emit(gather_step, {reshaped(data, {1, dims[0], dims[1]}), reshaped(rows, {rows.size()})}, {at});
    return reshaped(at, {rows.dims[0], 1, rows.dims[1], dims[1]});
  };
  return Angles{taken_from(cosine_cache), taken_from(sine_cache)};
}

View turned(LowerCall& call, const View& x, const Angles& angles, bool is_interleaved) {
  const std::int64_t pairs = angles.cosines.dims[3];
  const View result = call.make_like(ElementType::float32, x.dims, x);
  const auto half = [&](const View& of, std::int64_t which) {
    return is_interleaved ? sliced(of, 3, which, 2, pairs) : sliced(of, 3, which * pairs, 1, pairs);
  };
  const View real = half(x, 0), imaginary = half(x, 1);
  for (const std::int64_t which : {0, 1}) {
    Expression e;
    const auto product = [&](std::size_t a, std::size_t b) {
      return e.apply(Operation::multiply, e.input(a, Lane::f32), e.input(b, Lane::f32));
    };
    const auto first = product(0, 2), second = product(1, 3);
    e.apply(which == 0 ? Operation::subtract : Operation::add, first, second);
    const View &with_first = which == 0 ? angles.cosines : angles.sines,
               &with_second = which == 0 ? angles.sines : angles.cosines;
    call.emit_map(e, {real, imaginary, with_first, with_second}, half(result, which));
  }
  const std::int64_t rest = x.dims[3] - 2 * pairs;
  if (rest > 0) call.emit_copy(sliced(x, 3, 2 * pairs, 1, rest), sliced(result, 3, 2 * pairs, 1, rest));
  return result;
}

}  // namespace onnxkit::plan
