#include "tests/unit/cuda/random_steps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace onnxkit::tests {

std::int64_t place_of(const plan::View& view, const plan::Dims& at) {
  std::int64_t place = view.offset;
  for (std::size_t axis = 0; axis < view.rank(); ++axis) place += at[axis] * view.strides[axis];
  return place;
}

plan::View Random::view(std::uint32_t buffer, ElementType type, const plan::Dims& dims, bool repeats) {
  plan::View view{.buffer = buffer, .type = type, .dims = dims, .strides = plan::Dims(dims.size(), 0)};
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0U);
  const bool is_plain = one_in(3);
  if (!is_plain) std::shuffle(order.begin(), order.end(), engine_);
  std::int64_t stride = is_plain || !one_in(4) ? 1 : 2;
  view.offset = is_plain ? 0 : below(3);
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t axis = order[i];
    if (repeats && one_in(4)) continue;
    view.strides[axis] = stride;
    if (!is_plain && one_in(6)) {
      view.offset += stride * (dims[axis] - 1);
      view.strides[axis] = -stride;
    }
    stride *= dims[axis] + (is_plain ? 0 : below(2));
  }
  return view;
}

void Random::fill(HostStep& step, bool specials) {
  for (const plan::View& view : step.step.inputs) {
    auto& bytes = step.memory[view.buffer];
    const std::size_t count = bytes.size() * 8 / static_cast<std::size_t>(storage_bits(view.type));
    std::vector<double> reals(count);
    for (double& x : reals) {
      x = normal();
      if (specials && one_in(15)) {
        constexpr double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, 2, 1e-30, 70000, -3e9, 1e-6};
        x = special[below(std::size(special))];
      }
    }
    if (is_floating(view.type)) {
      encode(view.type, std::span<const double>(reals), bytes);
    } else if (view.type == ElementType::boolean) {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(below(2));
    } else {
      const bool is_small = !specials || one_in(2);
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t number = is_small ? below(20) - 5 : static_cast<std::int64_t>(engine_());
        const auto width = bytes.size() / count;
        std::memcpy(bytes.data() + i * width, &number, width);
      }
    }
  }
}

void check_steps(std::vector<HostStep>& steps, std::int64_t (*faults)(const HostStep& one)) {
  HostProgram program;
  std::vector<HostStep> numbered;  // a few, whose numbers are parameters, do the same
  for (HostStep& one : steps) {
    REQUIRE(one.error == "");
    program.add(one);
  }
  constexpr std::size_t few = 3;
  for (std::size_t i = 0; i < steps.size(); i += std::max<std::size_t>(steps.size() / few, 1)) {
    numbered.push_back(steps[i]);
    numbered.back().passes_numbers = true;
    program.add(numbered.back());
  }
  REQUIRE(program.compile() == "");
  for (HostStep& one : steps) {
    CAPTURE(one.launches[0].text);
    HostStep again = one;
    REQUIRE(program.run(one) == "");
    CHECK(faults(one) == 0);
    REQUIRE(program.run(again, true) == "");
    CHECK(again.memory == one.memory);
  }
  for (HostStep& one : numbered) {
    CAPTURE(one.launches[0].text);
    REQUIRE(program.run(one) == "");
    CHECK(faults(one) == 0);
  }
}

}  // namespace onnxkit::tests
