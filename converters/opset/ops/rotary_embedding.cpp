#include <limits>

#include <fmt/format.h>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {
namespace {

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

/// Both halves of an axis.
struct RotaryEmbeddingHalves {
  ValueId first, second;
};

RotaryEmbeddingHalves halves_rotary_embedding(Step& step, ValueId x, std::int64_t axis) {
  const RotaryEmbeddingHalves parts{step.value("first"), step.value("second")};
  step.emit("Split", {x}, {parts.first, parts.second}, {{"axis", axis}, {"num_outputs", std::int64_t{2}}});
  return parts;
}

ValueId product_of(Step& step, ValueId a, ValueId b) { return step.add("Mul", {a, b}, {}, "product"); }

/// Half precision is computed in single.
class Rotation {
 public:
  explicit Rotation(Step& step) : step_(step), own_(step.elem(step.input(0))) {
    const auto rank = step.rank(step.input(0));
    if (!rank && step.has("num_heads"))
      refuse_unknown(fmt::format("the rank of {} is unknown", quote(step.graph().name_of(step.input(0)))));
    packed_ = rank == 3;
    is_half_ = own_ == ElementType::float16 || own_ == ElementType::bfloat16;
  }

  void build() {
    const ValueId x = wide(step_.input(0));
    Size size = size_of(step_, step_.input(0), packed_ ? 2 : 3);
    const Size width = size;
    ValueId heads = x;
    if (packed_) {
      const std::int64_t count = step_.integer("num_heads");
      if (count < 1) refuse("num_heads is not a valid number of heads");
      size = quotient(step_, size, count);
      heads = reshape_to(step_, x, {0, 0, count, size});
    }
    const std::int64_t stated = step_.integer("rotary_embedding_dim");
    const bool is_whole = stated == 0 || size.known == stated;
    const Size turned_size = is_whole ? size : Size(stated);
    ValueId y = turned(is_whole ? heads : slice(step_, heads, 3, 0, stated, "turned"), turned_size);
    if (!is_whole) {
      const ValueId rest = slice(step_, heads, 3, stated, to_the_end, "rest");
      y = step_.add("Concat", {y, rest}, {{"axis", std::int64_t{3}}}, "heads");
    }
    if (packed_) y = reshape_to(step_, y, {0, 0, width});
    ir::Node& last = step_.emit(is_half_ ? "Cast" : "Identity", {y}, {step_.output(0)});
    if (is_half_) last.attributes.push_back(step_.attribute({"to", static_cast<std::int64_t>(own_)}));
    step_.replace();
  }

 private:
  ValueId wide(ValueId x) { return is_half_ ? cast(step_, x, ElementType::float32) : x; }

  /// Cosines or sines as they meet pairs, which are [.., size / 2, 1] when interleaved and [.., size / 2] else.
  ValueId angles(std::size_t input) {
    ValueId cache = step_.input(input);
    if (step_.has_input(3)) cache = step_.add("Gather", {cache, step_.input(3)}, {{"axis", std::int64_t{0}}}, "angles");
    std::vector<std::int64_t> axes = {packed_ ? 2 : 1};
    if (is_interleaved()) axes.push_back(4);
    return unsqueeze(step_, wide(cache), axes, "angles");
  }

  ValueId turned(ValueId x, const Size& size) {
    const std::int64_t axis = is_interleaved() ? 4 : 3;
    if (is_interleaved()) x = reshape_to(step_, x, {0, 0, 0, quotient(step_, size, 2), 2});
    const auto [first, second] = halves_rotary_embedding(step_, x, axis);
    const ValueId cosine = angles(1), sine = angles(2);
    const ValueId real =
        step_.add("Sub", {product_of(step_, cosine, first), product_of(step_, sine, second)}, {}, "real");
    const ValueId imaginary =
        step_.add("Add", {product_of(step_, sine, first), product_of(step_, cosine, second)}, {}, "imaginary");
    const ValueId y = step_.add("Concat", {real, imaginary}, {{"axis", axis}}, "turned");
    return is_interleaved() ? reshape_to(step_, y, {0, 0, 0, size}) : y;
  }

  bool is_interleaved() const { return step_.integer("interleaved") != 0; }

  Step& step_;
  const ElementType own_;
  bool packed_ = false, is_half_ = false;
};

}  // namespace

void register_rotary_embedding(StepRegistry& registry) {
  registry.introduced({"RotaryEmbedding"}, 23, adapt("rewritten as products with cosines and sines", [](Step& step) {
                        Rotation(step).build();
                      }));
}

}  // namespace onnxkit::opset
