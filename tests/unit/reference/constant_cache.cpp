// Constants that a session keeps from run to run (reference/executor/constant_cache.h).
#include "reference/executor/constant_cache.h"

#include <doctest/doctest.h>

#include "onnxkit/model.h"
#include "reference/executor/executor.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::reference_kept_constants {
namespace {

const std::string network =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[4] x, float[4] z, int64[1] n) => (float[m] y, float[4] r) "
    "<float[4] w = {0.1, 0.2, 0.3, 0.4}, float[4] z = {1, 2, 3, 4}, int64[1] n = {4}> {"
    "  c = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()"
    "  f = ConstantOfShape <value = float[1] {0.5}> (n)"
    "  a = Add (x, w) b = Mul (a, c) d = Sub (b, f) e = Add (d, z) y = Concat <axis = 0> (e, f)"
    "  s = Shape (x) r = ConstantOfShape (s) }";

struct Runner {
  explicit Runner(std::uint64_t kept_bytes)
      : model(parse_model(network)),
        session(*reference::Executor::make(model.ir(), table, {.external_bytes = {}, .kept_bytes = kept_bytes})) {}

  /// The first output, and the most bytes that were alive.
  std::pair<std::vector<double>, std::uint64_t> run(const std::vector<Value>& inputs, std::uint64_t limit = 0) {
    std::uint64_t most = 0;
    reference::RunOptions options;
    options.memory_limit = limit;
    options.on_node = [&](const exec::NodeEvent& event) { most = std::max(most, event.live_bytes); };
    const auto outputs = session->run(inputs, options);
    REQUIRE(outputs);
    return {to_reals((*outputs)[0].tensor), most};
  }

  Model model;
  spec::OpTable table;
  std::unique_ptr<reference::Executor> session;
};

}  // namespace

TEST_CASE("kept constants: every run gives the same, with any room") {
  const std::vector<Value> inputs = {floats({1, 2, 3, 4}), Value(), Value()},
                           other = {floats({4, 3, 2, 1}), floats({9, 8, 7, 6}), Value()},
                           sized = {floats({1, 2, 3, 4}), Value(), integers({1})};
  Runner none(0);
  const auto wanted = none.run(inputs).first, wanted_other = none.run(other).first,
             wanted_sized = none.run(sized).first;
  CHECK(wanted != wanted_other);
  CHECK(wanted.size() == 8);
  CHECK(wanted_sized.size() == 5);
  for (const std::uint64_t room : {0, 8, 40, 80, 1 << 20}) {
    CAPTURE(room);
    Runner runner(room);
    for (int turn = 0; turn < 3; ++turn) {
      CHECK(runner.run(inputs).first == wanted);
      CHECK(runner.run(other).first == wanted_other);  // z is given here: the weight does not count
      CHECK(runner.run(sized).first == wanted_sized);
      CHECK(runner.run(inputs, 1 << 20).first == wanted);
    }
  }
}

TEST_CASE("kept constants: later runs hold them no second time, unless memory is limited") {
  const std::vector<Value> inputs = {floats({1, 2, 3, 4}), Value(), Value()};
  Runner none(0), some(1 << 20);
  const std::uint64_t plain = none.run(inputs).second;
  CHECK(none.run(inputs).second == plain);
  some.run(inputs);
  CHECK(some.run(inputs).second < plain);
  CHECK(some.run(inputs, 1 << 20).second == plain);
}

TEST_CASE("kept constants: first come, first kept") {
  const auto memory = std::make_shared<reference::Memory>();
  reference::ConstantCache kept(100);
  const reference::Tensor ten(memory, ElementType::float64, {10}), three(memory, ElementType::float64, {3}),
      text(memory, ElementType::string, {1});
  int a = 0, b = 0, c = 0;
  kept.keep(&a, ten);
  kept.keep(&b, three);  // 24 bytes, and 20 are left
  kept.keep(&c, text);
  REQUIRE(kept.find(&a));
  CHECK(kept.find(&a)->dims() == reference::Dims{10});
  CHECK_FALSE(kept.find(&b));
  CHECK_FALSE(kept.find(&c));
}

}  // namespace onnxkit::tests::reference_kept_constants
