// Attention of a plan by cuDNN (libonnxkit/cuda/libraries/cudnn_attention.h), on the stand-in for the library, which refuses every other graph.
#include <cmath>
#include <cstring>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/libraries/cudnn_library.h"
#include "tests/cuda_libraries/support.h"

namespace onnxkit::cuda_libraries::attentions {
namespace {

constexpr double half = 2e-3, brain = 2e-2;

struct Case {
  std::int64_t batch = 2, heads = 4, shared = 4, rows = 5, columns = 7, size = 16, values = 16;
  ElementType type = ElementType::float16;
  bool is_causal = false;
};

plan::Step step_of(Scene& scene, const Case& c) {
  auto p = std::make_shared<plan::AttentionParameters>();
  p->scale = 0.25;
  p->is_causal = c.is_causal;
  return {.kind = plan::attention_step,
          .inputs = {scene.make(c.type, {c.batch, c.heads, c.rows, c.size}),
                     scene.make(c.type, {c.batch, c.shared, c.columns, c.size}),
                     scene.make(c.type, {c.batch, c.shared, c.columns, c.values})},
          .outputs = {scene.make(c.type, {c.batch, c.heads, c.rows, c.values})},
          .parameters = p};
}

/// A constant mask that hides the last column of each row, and all columns of `hidden_row`, and is the same for all images.
void add_mask(Scene& scene, plan::Step& step, std::int64_t hidden_row = -1) {
  const Dims& q = step.inputs[0].dims;
  const std::int64_t rows = q[2], columns = step.inputs[1].dims[2];
  const View mask = scene.make(ElementType::float16, {1, q[1], rows, columns});
  std::vector<double> numbers;
  for (std::int64_t at = 0; at < q[1] * rows * columns; ++at) {
    const bool is_hidden = at % columns == columns - 1 || at / columns % rows == hidden_row;
    numbers.push_back(is_hidden ? -INFINITY : static_cast<double>(at % 3));
  }
  std::vector<std::byte> bytes(numbers.size() * 2);
  encode(ElementType::float16, std::span<const double>(numbers), bytes);
  std::memcpy(scene.place(mask), bytes.data(), bytes.size());
  plan::Buffer& buffer = scene.plan.buffers[mask.buffer];
  buffer.home = plan::Home::constant;
  buffer.index = static_cast<std::uint32_t>(scene.plan.constants.size());
  scene.plan.constants.push_back(*Tensor::from_bytes(ElementType::float16, mask.dims, std::move(bytes)));
  step.inputs.push_back(plan::broadcast_to(mask, Dims{q[0], q[1], rows, columns}));
}

std::unique_ptr<cuda::Library> library() {
  auto opened = cuda::open_cudnn(stand_ins());
  if (!opened) FAIL(opened.error().diagnostic.message);
  return *std::move(opened);
}

std::string outcome(Scene& scene, const plan::Step& step, double tolerance = half) {
  const auto cudnn = library();
  auto made = cudnn->prepare(step, {.plan = scene.plan});
  if (!made) return made.error().diagnostic.message;
  const std::vector<double> expected = expected_attention(scene, step);
  run(scene, *made);
  CHECK(product_error(scene, step, expected) < tolerance);
  return made->call->text();
}
std::string outcome(const Case& c, double tolerance = half) {
  Scene scene;
  return outcome(scene, step_of(scene, c), tolerance);
}

TEST_CASE("attention of both narrow types, with shared heads and other sizes of values") {
  CHECK(outcome({}) == "cudnn engine 1");
  CHECK(outcome({.type = ElementType::bfloat16}, brain) == "cudnn engine 1");
  CHECK(outcome({.heads = 6, .shared = 2, .rows = 1, .columns = 33}) == "cudnn engine 1");
  CHECK(outcome({.size = 64, .values = 128}) == "cudnn engine 1");
  CHECK(outcome({.is_causal = true}) == "cudnn engine 1");
  CHECK(outcome({.rows = 9, .columns = 4, .is_causal = true}) == "cudnn engine 1");
}

TEST_CASE("rows of [batch, rows, heads, size] are read and written where they lie") {
  Scene scene;
  plan::Step step = step_of(scene, {.is_causal = true});
  const auto turned = [&](const View& like) {
    constexpr std::int64_t order[] = {0, 2, 1, 3};
    return plan::permuted(scene.make(like.type, {like.dims[0], like.dims[2], like.dims[1], like.dims[3]}), order);
  };
  for (View& view : step.inputs) view = turned(view);
  step.outputs[0] = turned(step.outputs[0]);
  CHECK(outcome(scene, step) == "cudnn engine 1");
}

TEST_CASE("a constant mask goes along where each query sees a key") {
  Scene scene;
  plan::Step step = step_of(scene, {});
  add_mask(scene, step);
  CHECK(outcome(scene, step) == "cudnn engine 1");
  plan::Step both = step_of(scene, {.rows = 4, .columns = 6, .is_causal = true});
  add_mask(scene, both);
  CHECK(outcome(scene, both) == "cudnn engine 1");
  plan::Step blind = step_of(scene, {});
  add_mask(scene, blind, 3);
  CHECK(outcome(scene, blind) == "a mask that hides all keys from a query");
  plan::Step unknown = step_of(scene, {});
  unknown.inputs.push_back(scene.make(ElementType::float16, {2, 4, 5, 7}));
  CHECK(outcome(scene, unknown) == "a mask that only the run tells, which may hide all keys from a query");
  // One of float32, the same for all rows of a head, where queries without keys are seen to.
  auto seen =
      std::make_shared<plan::AttentionParameters>(static_cast<const plan::AttentionParameters&>(*unknown.parameters));
  seen->leaves_blind = true;
  unknown.parameters = seen;
  unknown.inputs[3] = plan::broadcast_to(scene.make(ElementType::float32, {2, 4, 1, 7}), Dims{2, 4, 5, 7});
  CHECK(outcome(scene, unknown) == "cudnn engine 1");
}

TEST_CASE("what the fused engines do not take stays on generated kernels") {
  CHECK(outcome({.type = ElementType::float32}) == "fused attention of float");
  CHECK(outcome({.type = ElementType::float64}) == "fused attention of double");
  CHECK(outcome({.size = 12}) == "heads of 12 numbers; engines take multiples of 8 up to 128");
  CHECK(outcome({.values = 136}) == "heads of 136 numbers; engines take multiples of 8 up to 128");
  Scene scene;
  plan::Step step = step_of(scene, {});
  step.inputs[1] = plan::sliced(scene.make(ElementType::float16, {2, 4, 7, 20}), 3, 0, 1, 16);
  CHECK(outcome(scene, step) == "an operand that does not lie at multiples of 16 bytes");
  step = step_of(scene, {});
  step.inputs[2] = plan::broadcast_to(scene.make(ElementType::float16, {2, 1, 7, 16}), Dims{2, 4, 7, 16});
  CHECK(outcome(scene, step) == "an operand that repeats, or whose heads do not lie side by side");
  step = step_of(scene, {});
  step.outputs[0] = step.inputs[0];
  CHECK(outcome(scene, step) == "an operand lies where the result is written");
  step = step_of(scene, {.is_causal = true});
  auto changed = std::make_shared<plan::AttentionParameters>();
  changed->softcap = 30;
  step.parameters = changed;
  CHECK(outcome(scene, step) == "scores that are capped");
  changed->softcap = 0;
  changed->is_causal = true;
  changed->causal_offset = 2;
  CHECK(outcome(scene, step) == "a causal mask that does not begin at the first key");
}

}  // namespace
}  // namespace onnxkit::cuda_libraries::attentions
