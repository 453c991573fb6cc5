#include <string_view>

#include "tests/unit/cpu/kernels_support.h"

namespace onnxkit::tests::cpu_isa {

TEST_CASE("instruction sets come best first, the last one runs everywhere, and one of them is chosen") {
  const auto usable = cpu::usable_isas();
  REQUIRE(!usable.empty());
  CHECK(std::string_view(cpu::isa_name(*usable.back())) == "baseline");
  bool chosen = false;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    chosen = chosen || usable[i] == &cpu::best_isa();
    if (i > 0) CHECK(cpu::isa_lanes(*usable[i]) < cpu::isa_lanes(*usable[i - 1]));
  }
  CHECK(chosen);
}

TEST_CASE("operands packed for an instruction set take whole vectors") {
  cpu_kernels::on_each_isa([](const cpu::Isa& isa) {
    const auto lanes = cpu::isa_lanes(isa);
    CHECK(cpu::packed_b_floats(3, 1, isa) == 3 * lanes);
    CHECK(cpu::packed_b_floats(3, lanes, isa) == 3 * lanes);
    CHECK(cpu::packed_b_floats(3, lanes + 1, isa) == 6 * lanes);
    CHECK(cpu::packed_b_floats(0, 5, isa) == 0);
  });
}

}  // namespace onnxkit::tests::cpu_isa
