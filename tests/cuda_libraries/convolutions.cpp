// Convolutions of a plan by cuDNN (libonnxkit/cuda/libraries/cudnn_library.h), on the stand-in for the library.
#include <fmt/core.h>

#include "libonnxkit/cuda/libraries/cublaslt_library.h"
#include "libonnxkit/cuda/libraries/cudnn_library.h"
#include "libonnxkit/cuda/pointwise_convolution.h"
#include "tests/cuda_libraries/support.h"

namespace onnxkit::cuda_libraries::convolutions {
namespace {

using plan::Expression;
using plan::Lane;
using plan::Operation;

struct Case {
  Dims x = {2, 4, 7, 6}, w = {6, 4, 3, 2};
  std::int64_t groups = 1;
  Dims strides = {1, 1}, dilations = {1, 1}, pads = {0, 0, 0, 0};
  std::vector<std::string_view> epilogue = {};
  ElementType type = ElementType::float32;
  bool allows_tf32 = false;
};

View channels_last(View view) {
  const Dims& d = view.dims;
  view.strides = {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]};
  return view;
}

void add_epilogue(Scene& scene, plan::Step& step, Expression& e, const Case& c) {
  auto now = e.input(0, Lane::f32);
  const View& y = step.outputs[0];
  const auto constant = [&](double value) { return e.constant(Lane::f32, value); };
  for (const std::string_view what : c.epilogue) {
    if (what == "relu" || what == "relu6") now = e.apply(Operation::maximum, now, constant(0));
    if (what == "relu6") now = e.apply(Operation::minimum, now, constant(6));
    if (what == "swish") now = e.apply(Operation::multiply, now, e.apply(Operation::sigmoid, now));
    if (what == "half") now = e.apply(Operation::multiply, now, constant(0.5));
    if (what == "hardswish") {
      const auto line = e.apply(Operation::add, e.apply(Operation::multiply, now, constant(1.0 / 6)), constant(0.5));
      now = e.apply(Operation::multiply, now,
                    e.apply(Operation::minimum, e.apply(Operation::maximum, line, constant(0)), constant(1)));
    }
    if (what != "bias" && what != "add") continue;
    now = e.apply(Operation::add, now, e.input(step.inputs.size() - 1, Lane::f32));
    step.inputs.push_back(what == "bias" ? plan::broadcast_to(scene.make(c.type, {y.dims[1], 1, 1}), y.dims)
                                         : channels_last(scene.make(c.type, y.dims)));
  }
}

plan::Step step_of(Scene& scene, const Case& c) {
  Dims y = {c.x[0], c.w[0], 0, 0};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t reach = (c.w[axis + 2] - 1) * c.dilations[axis] + 1;
    y[axis + 2] = (c.x[axis + 2] + c.pads[axis] + c.pads[axis + 2] - reach) / c.strides[axis] + 1;
  }
  auto p = std::make_shared<plan::ConvolutionParameters>();
  p->groups = c.groups;
  p->strides = c.strides;
  p->dilations = c.dilations;
  p->pads = c.pads;
  plan::Step step{.kind = plan::convolution_step,
                  .inputs = {channels_last(scene.make(c.type, c.x)), channels_last(scene.make(c.type, c.w))},
                  .outputs = {channels_last(scene.make(c.type, y))}};
  if (!c.epilogue.empty()) add_epilogue(scene, step, p->epilogue, c);
  step.parameters = p;
  return step;
}

std::unique_ptr<cuda::Library> library() {
  auto opened = cuda::open_cudnn(stand_ins());
  if (!opened) FAIL(opened.error().diagnostic.message);
  return *std::move(opened);
}

std::string outcome(const Case& c, double tolerance = 1e-6) {
  Scene scene;
  const auto cudnn = library();
  const plan::Step step = step_of(scene, c);
  const std::vector<double> expected = expected_convolution(scene, step);
  auto made = cudnn->prepare(step, {.plan = scene.plan, .allows_tf32 = c.allows_tf32});
  if (!made) return made.error().diagnostic.message;
  run(scene, *made);
  CHECK(product_error(scene, step, expected) < tolerance);
  return made->call->text() + (made->rest ? " | " + made->rest->parameters->text() : "");
}

TEST_CASE("strides, dilations, pads and groups of a convolution") {
  CHECK(outcome({}) == "cudnn engine 0");
  CHECK(outcome({.strides = {2, 1}, .pads = {1, 0, 1, 0}}) == "cudnn engine 0");
  CHECK(outcome({.dilations = {2, 3}, .pads = {2, 1, 0, 3}}) == "cudnn engine 0");
  CHECK(outcome({.w = {6, 2, 3, 2}, .groups = 2}) == "cudnn engine 0");
  CHECK(outcome({.w = {8, 1, 3, 3}, .groups = 4, .pads = {1, 1, 1, 1}}) == "cudnn engine 0");
  CHECK(outcome({.w = {5, 4, 1, 1}, .strides = {2, 2}}) == "cudnn engine 0");
  CHECK(outcome({.x = {1, 4, 1, 9}, .w = {6, 4, 1, 3}}) == "cudnn engine 0");
}

TEST_CASE("bias, addend and relu go with a convolution of float32, more only with tensor cores") {
  CHECK(outcome({.epilogue = {"bias"}}) == "cudnn engine 0");
  CHECK(outcome({.epilogue = {"bias", "relu"}}) == "cudnn engine 0");
  CHECK(outcome({.epilogue = {"bias", "add", "relu"}}) == "cudnn engine 0");
  CHECK(outcome({.epilogue = {"add", "bias", "relu"}}) == "cudnn engine 0");
  const Case wide{.x = {1, 32, 4, 4}, .w = {8, 32, 3, 3}, .epilogue = {"bias", "swish"}};
  CHECK(outcome(wide) == "cudnn engine 0 | mul(x0, sigmoid(x0))");
  CHECK(outcome({.epilogue = {"bias", "swish"}}) == "none of cuDNN's 2 engines is allowed");
  CHECK(outcome({.x = {1, 32, 4, 4}, .w = {8, 32, 3, 3}, .epilogue = {"bias", "relu6"}}) ==
        "cudnn engine 0 | min(x0, 6)");
  CHECK(outcome({.epilogue = {"bias", "relu6"}}) == "sums too short for a pass of its own over the epilogue");
  Case loose = wide;
  loose.allows_tf32 = true;
  constexpr double coarse = 2e-3;
  CHECK(outcome(loose, coarse) == "cudnn engine 1, tf32");
  CHECK(outcome({.x = {1, 32, 4, 4}, .w = {8, 32, 3, 3}, .epilogue = {"bias", "relu", "add"}}) ==
        "cudnn engine 0 | add(x0, x1)");
  CHECK(outcome({.x = {1, 32, 4, 4}, .w = {8, 32, 3, 3}, .epilogue = {"bias", "hardswish"}}) ==
        "cudnn engine 0 | mul(x0, min(max(add(mul(x0, 0.16666667), 0.5), 0), 1))");
}

TEST_CASE("narrow types go with any chain behind a convolution") {
  constexpr double half = 2e-3;
  CHECK(outcome({.epilogue = {"bias", "swish"}, .type = ElementType::float16}, half) == "cudnn engine 1");
  CHECK(outcome({.epilogue = {"half", "bias", "relu", "add"}, .type = ElementType::float16}, half) == "cudnn engine 1");
  CHECK(outcome({.type = ElementType::float64}) == "cuDNN has no engine for it");
}

TEST_CASE("parts of wider images, and orders that cuDNN is not given") {
  Scene scene;
  const auto cudnn = library();
  plan::Step step = step_of(scene, {.w = {6, 4, 1, 1}});
  const View wide = channels_last(scene.make(ElementType::float32, {2, 10, 7, 6}));
  step.inputs[0] = plan::sliced(wide, 1, 1, 1, 4);
  const View both = channels_last(scene.make(ElementType::float32, {2, 12, 7, 6}));
  step.outputs[0] = plan::sliced(both, 1, 6, 1, 6);
  const auto prepare = [&] { return cudnn->prepare(step, {.plan = scene.plan}); };
  auto expected = expected_convolution(scene, step);
  auto made = prepare();
  REQUIRE(made);
  run(scene, *made);
  CHECK(product_error(scene, step, expected) < 1e-6);
  step.inputs[0] = plan::sliced(both, 1, 0, 1, 4);  // a part of the same rows
  expected = expected_convolution(scene, step);
  made = prepare();
  REQUIRE(made);
  run(scene, *made);
  CHECK(product_error(scene, step, expected) < 1e-6);
  step.inputs[0] = plan::sliced(both, 1, 4, 1, 4);
  CHECK(prepare().error().diagnostic.message == "an operand lies where the convolution is written");
  step.inputs[0] = scene.make(ElementType::float32, {2, 4, 7, 6});
  CHECK(prepare().error().diagnostic.message == "an order other than channels last");
}

std::string product_outcome(const Case& c, double tolerance = 1e-6) {
  Scene scene;
  const plan::Step step = step_of(scene, c);
  const auto product = cuda::as_product(step);
  if (!product) return "no product";
  auto cublaslt = cuda::open_cublaslt(stand_ins(), 0);
  REQUIRE(cublaslt);
  const std::vector<double> expected = expected_convolution(scene, step);
  auto made = (*cublaslt)->prepare(*product, {.plan = scene.plan});
  if (!made) return made.error().diagnostic.message;
  run(scene, *made);
  CHECK(product_error(scene, step, expected) < tolerance);
  return made->call->text() + (made->rest ? " | " + made->rest->parameters->text() : "");
}

TEST_CASE("a pointwise convolution is a product") {
  constexpr double half = 2e-3;
  CHECK(product_outcome({.w = {6, 4, 1, 1}}) == "cublaslt");
  CHECK(product_outcome({.w = {6, 4, 1, 1}, .epilogue = {"bias", "add", "relu"}}) == "cublaslt, bias, addend, relu");
  CHECK(product_outcome({.w = {6, 4, 1, 1}, .epilogue = {"add", "bias"}, .type = ElementType::float16}, half) ==
        "cublaslt, bias, addend");
  CHECK(product_outcome({.x = {2, 64, 32, 32}, .w = {64, 64, 1, 1}, .epilogue = {"bias", "swish"}}) ==
        "cublaslt, bias | mul(x0, sigmoid(x0))");
  CHECK(product_outcome({.w = {6, 4, 3, 2}}) == "no product");
  CHECK(product_outcome({.w = {6, 4, 1, 1}, .strides = {2, 1}}) == "no product");
  CHECK(product_outcome({.w = {6, 4, 1, 1}, .pads = {0, 1, 0, 0}}) == "no product");
  CHECK(product_outcome({.w = {6, 2, 1, 1}, .groups = 2}) == "no product");
}

TEST_CASE("pixels of a product lie at equal distances") {
  Scene scene;
  plan::Step step = step_of(scene, {.w = {6, 4, 1, 1}});
  const View wide = channels_last(scene.make(ElementType::float32, {2, 10, 7, 6}));
  step.inputs[0] = plan::sliced(wide, 1, 1, 1, 4);
  const auto expected = expected_convolution(scene, step);
  auto cublaslt = cuda::open_cublaslt(stand_ins(), 0);
  REQUIRE(cublaslt);
  const auto product = cuda::as_product(step);
  REQUIRE(product);
  auto made = (*cublaslt)->prepare(*product, {.plan = scene.plan});
  REQUIRE(made);
  run(scene, *made);
  CHECK(product_error(scene, step, expected) < 1e-6);
  step.inputs[0] = scene.make(ElementType::float32, {2, 4, 7, 6});  // channels first: a product for each picture
  const auto each = cuda::as_product(step);
  REQUIRE(each);
  made = (*cublaslt)->prepare(*each, {.plan = scene.plan});
  REQUIRE(made);
  const auto expected_of_each = expected_convolution(scene, step);
  run(scene, *made);
  CHECK(product_error(scene, step, expected_of_each) < 1e-6);
  const View broad = channels_last(scene.make(ElementType::float32, {2, 4, 7, 9}));
  step.inputs[0] = plan::sliced(broad, 3, 1, 1, 6);
  CHECK(!cuda::as_product(step));
}

TEST_CASE("convolutions of equal description share a plan, and all is destroyed") {
  auto handle = SharedLibrary::open(stand_ins(), {"libcudnn.so.9"});
  REQUIRE(handle);
  std::size_t (*live)() = nullptr;
  REQUIRE(handle->bind(live, "onnxkit_cudnn_live"));
  const std::size_t before = live();
  {
    Scene scene;
    auto cudnn = library();
    const plan::Step first = step_of(scene, {.epilogue = {"bias", "relu"}});
    const plan::Step second = step_of(scene, {.epilogue = {"bias", "relu"}});
    auto one = cudnn->prepare(first, {.plan = scene.plan});
    const std::size_t with_one = live();
    auto two = cudnn->prepare(second, {.plan = scene.plan});
    REQUIRE(one);
    REQUIRE(two);
    CHECK(with_one > before);
    CHECK(live() == with_one);
    const auto expected = expected_convolution(scene, second);
    run(scene, *one);
    run(scene, *two);
    CHECK(product_error(scene, second, expected) < 1e-6);
  }
  CHECK(live() == before);
}

}  // namespace
}  // namespace onnxkit::cuda_libraries::convolutions
