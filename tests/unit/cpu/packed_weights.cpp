#include <doctest/doctest.h>

#include "libonnxkit/cpu/step.h"

namespace onnxkit::tests::cpu_packed_weights {

TEST_CASE("packed weights are shared while a plan uses them, and packed anew afterwards") {
  cpu::PackedWeights packed;
  int packings = 0;
  const auto pack = [&] {
    ++packings;
    return std::make_shared<cpu::AlignedFloats>(4);
  };
  {
    const auto first = packed.get("at 1", pack);
    const auto second = packed.get("at 1", pack);
    CHECK(first == second);
    CHECK(packings == 1);
  }
  // The name may stand for other weights now, at the same address.
  const auto third = packed.get("at 1", pack);
  CHECK(packings == 2);
  CHECK(packed.get("at 2", pack) != third);
  // What a pass made has no name: its memory is free once it is packed, and holds other weights then.
  const auto unnamed = packed.get("", pack);
  CHECK(packed.get("", pack) != unnamed);
}

}  // namespace onnxkit::tests::cpu_packed_weights
