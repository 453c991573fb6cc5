#include "converters/formats/tflite/pair_scales.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace onnxkit::tflite;

namespace {

/// What LiteRT gave, of scales as they are in networks.
struct Recorded {
  std::int64_t left, right, result;
};
struct Operator {
  PairOperator op;
  std::vector<Recorded> recorded;
};

std::vector<std::int64_t> all_integers() {
  std::vector<std::int64_t> integers(256);
  std::iota(integers.begin(), integers.end(), -128);
  return integers;
}

/// DequantizeLinear, the operator and QuantizeLinear in float32.
std::int64_t node_by_node(const PairOperator& op, const PairScales& scales, std::int64_t left, std::int64_t right) {
  const float x = static_cast<float>(left - op.left.zero_point) * scales.left;
  const float y = static_cast<float>(right - op.right.zero_point) * scales.right;
  const float real = op.kernel == PairKernel::multiply ? x * y : op.kernel == PairKernel::subtract ? x - y : x + y;
  return std::clamp<std::int64_t>(std::lrint(real / op.result.scale) + op.result.zero_point, op.least, op.greatest);
}

PairOperator operator_of(PairKernel kernel, Steps left, Steps right, Steps result) {
  return {kernel, left, right, result};
}

const std::vector<Operator>& operators() {
  static const std::vector<Operator> list = {
      {operator_of(PairKernel::add, {0.010211312212049961F, -128}, {0.01391045656055212F, -51},
                   {0.009693232364952564F, -128}),
       {{-59, 52, 93}, {28, -92, -22}}},
      {operator_of(PairKernel::add, {0.014523161575198174F, -12}, {0.007893174886703491F, -2},
                   {0.007938871160149574F, -128}),
       {{40, 107, 75}}},
      {operator_of(PairKernel::subtract, {0.013326938264071941F, 99}, {0.070465587079525F, 4},
                   {0.05955628678202629F, -21}),
       {{-30, 2, -47}, {55, 84, -125}}},
      {operator_of(PairKernel::multiply, {0.004449494648724794F, -7}, {0.00390625F, -128},
                   {0.0022884970530867577F, -41}),
       {{119, 23, 103}}},
  };
  return list;
}

}  // namespace

TEST_CASE("scales of TensorFlow Lite are moved until sums and products round as the kernel's") {
  for (const Operator& each : operators()) {
    REQUIRE(has_kernel(each.op));
    const PairScales scales = pair_scales(each.op, all_integers());
    const PairScales of_the_file{each.op.left.scale, each.op.right.scale};
    CHECK(scales.give_all);
    CHECK(std::abs(scales.left / each.op.left.scale - 1) < 4e-5F);
    CHECK(std::abs(scales.right / each.op.right.scale - 1) < 4e-5F);
    for (const Recorded& pair : each.recorded) {
      CHECK(node_by_node(each.op, scales, pair.left, pair.right) == pair.result);
      CHECK(node_by_node(each.op, of_the_file, pair.left, pair.right) != pair.result);
    }
  }
}

TEST_CASE("scales of TensorFlow Lite stay where no result lies next to a half") {
  const PairOperator op = operator_of(PairKernel::add, {0.5F, 0}, {0.25F, 0}, {0.3F, 0});
  const PairScales scales = pair_scales(op, {});
  CHECK(scales.give_all);
  CHECK(scales.left == 0.5F);
  CHECK(scales.right == 0.25F);
}

TEST_CASE("products of which odd multiples lie on both sides of halves have no scales") {
  const PairOperator op =
      operator_of(PairKernel::multiply, {0.009177163F, -98}, {0.00390625F, -128}, {0.0051592574F, -97});
  const PairScales scales = pair_scales(op, all_integers());
  CHECK(!scales.give_all);
  CHECK(scales.left == op.left.scale);
  CHECK(scales.right == op.right.scale);
}

TEST_CASE("what a file may hold as scales and zero points has no kernel") {
  const PairOperator sound = operator_of(PairKernel::add, {0.5F, 0}, {0.25F, 0}, {0.3F, 0});
  CHECK(has_kernel(sound));
  for (const float scale :
       {0.0F, -0.5F, 1e-40F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e6F}) {
    PairOperator op = sound;
    op.left.scale = scale;
    CHECK(!has_kernel(op));
    op.kernel = PairKernel::multiply;
    CHECK(!has_kernel(op));
  }
  PairOperator op = sound;
  op.result.zero_point = std::numeric_limits<std::int64_t>::min();
  CHECK(!has_kernel(op));
}
