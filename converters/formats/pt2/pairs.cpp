#include "converters/formats/pt2/pairs.h"

namespace onnxkit::pt2 {

using foreign::Call;
using foreign::Val;

Pairs pairs_of_rows(Call& call, Val x, bool with_itself) {
  auto& onnx = call.onnx;
  const auto rows = onnx.size(x, 0);
  constexpr std::int64_t most = 1024;
  const std::int64_t next = with_itself ? 0 : 1;
  if (rows && *rows <= most) {
    std::vector<std::int64_t> first, second;
    for (std::int64_t i = 0; i < *rows; ++i)
      for (std::int64_t k = i + next; k < *rows; ++k) {
        first.push_back(i);
        second.push_back(k);
      }
    return {onnx.integers(first), onnx.integers(second)};
  }
  // The places above the diagonal of a square.
  const Val size = onnx.size_of(x, 0);
  const Val square = onnx.emit("Expand", {onnx.scalar(ElementType::int32, 1), onnx.joined({size, size})});
  const Val above = onnx.emit("Trilu", {square, onnx.scalar_integer(ElementType::int64, next)});
  const Val places = onnx.emit("NonZero", {above});
  const auto row = [&](std::int64_t at) {
    const Val index = onnx.scalar_integer(ElementType::int64, at);
    return onnx.emit("Gather", {places, index}, {{"axis", std::int64_t{0}}});
  };
  return {row(0), row(1)};
}

}  // namespace onnxkit::pt2
