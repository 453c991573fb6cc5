// Products of a plan by cuBLASLt (libonnxkit/cuda/libraries/cublaslt_library.h), on the stand-in for the library.
#include <fmt/core.h>

#include <cstdlib>
#include <functional>

#include "libonnxkit/cuda/libraries/cublaslt_library.h"
#include "libonnxkit/cuda/libraries/cudnn_product.h"
#include "libonnxkit/cuda/libraries/product_layout.h"
#include "tests/cuda_libraries/support.h"

namespace onnxkit::cuda_libraries::products {
namespace {

using plan::Expression;
using plan::Lane;
using plan::Operation;

struct Bench {
  Scene scene;
  std::unique_ptr<cuda::Library> library;
  bool allows_tf32 = false;

  Bench() {
    auto opened = cuda::open_cublaslt(stand_ins(), 0);
    if (!opened) FAIL(opened.error().diagnostic.message);
    library = *std::move(opened);
  }

  plan::Step step(std::vector<View> inputs, const View& output, const Expression& epilogue = {}) {
    auto parameters = std::make_shared<plan::ProductParameters>();
    parameters->epilogue = epilogue;
    return {.kind = plan::product_step, .inputs = std::move(inputs), .outputs = {output}, .parameters = parameters};
  }
  Result<cuda::LibraryStep> prepare(const plan::Step& step) {
    return library->prepare(step, {.plan = scene.plan, .allows_tf32 = allows_tf32});
  }
  /// "cublaslt, bias", then the rest; why not, when the library does not take the step. Checks the numbers.
  std::string outcome(const plan::Step& step, double tolerance = 1e-6) {
    const std::vector<double> expected = expected_product(scene, step);
    auto made = prepare(step);
    if (!made) return made.error().diagnostic.message;
    run(scene, *made);
    CHECK(product_error(scene, step, expected) < tolerance);
    return made->call->text() + (made->rest ? " | " + made->rest->parameters->text() : "");
  }
};

View swapped(const View& view) {
  Dims order(view.rank());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return plan::permuted(view, order);
}

Expression epilogue(const std::function<void(Expression&, Expression::Number)>& write, Lane lane = Lane::f32) {
  Expression e;
  const auto x = e.input(0, lane);
  write(e, x);
  return e;
}

Expression gelu_tanh() {
  return epilogue([](Expression& e, auto sum) {
    const auto x = e.apply(Operation::add, sum, e.input(1, Lane::f32));
    const auto constant = [&](double value) { return e.constant(Lane::f32, value); };
    const auto cubic = e.apply(Operation::add, constant(1),
                               e.apply(Operation::multiply, constant(0.044715), e.apply(Operation::multiply, x, x)));
    const auto inner = e.apply(Operation::tanh, e.apply(Operation::multiply, e.apply(Operation::multiply, x, cubic),
                                                        constant(0.7978845608028654)));
    const auto half = e.apply(Operation::multiply, x, constant(0.5));
    e.apply(Operation::multiply, half, e.apply(Operation::add, inner, constant(1)));
  });
}

TEST_CASE("every order of rows and columns becomes a product in column-major order") {
  for (const bool a_swaps : {false, true}) {
    for (const bool b_swaps : {false, true}) {
      for (const bool d_swaps : {false, true}) {
        for (const auto& sizes : {std::array{3, 5, 7}, std::array{1, 5, 7}, std::array{3, 1, 7}, std::array{3, 5, 1},
                                  std::array{1, 1, 1}}) {
          const std::int64_t m = sizes[0], n = sizes[1], k = sizes[2];
          CAPTURE(fmt::format("{} {} {} {} {} {}", a_swaps, b_swaps, d_swaps, m, n, k));
          Bench bench;
          const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool swaps) {
            return swaps ? swapped(bench.scene.make(ElementType::float32, {columns, rows}))
                         : bench.scene.make(ElementType::float32, {rows, columns});
          };
          const View a = matrix(m, k, a_swaps), b = matrix(k, n, b_swaps), d = matrix(m, n, d_swaps);
          CHECK(bench.outcome(bench.step({a, b}, d)) == "cublaslt");
        }
      }
    }
  }
}

TEST_CASE("parts of larger matrices have a leading size of their own") {
  Bench bench;
  const View a = plan::sliced(bench.scene.make(ElementType::float32, {4, 12}), 1, 3, 1, 6);
  const View b = plan::sliced(bench.scene.make(ElementType::float32, {9, 8}), 0, 2, 1, 6);
  const View d = plan::sliced(bench.scene.make(ElementType::float32, {4, 20}), 1, 5, 1, 8);
  CHECK(bench.outcome(bench.step({a, b}, d)) == "cublaslt");
  const View every_other = plan::sliced(bench.scene.make(ElementType::float32, {4, 12}), 1, 0, 2, 6);
  CHECK(bench.outcome(bench.step({every_other, b}, d)) ==
        "neither the rows nor the columns of a factor lie side by side");
  const View repeated = plan::broadcast_to(bench.scene.make(ElementType::float32, {1, 6}), Dims{4, 6});
  CHECK(bench.outcome(bench.step({repeated, b}, d)) == "neither the rows nor the columns of a factor lie side by side");
}

TEST_CASE("batches go by one stride, factors may repeat, and a few calls go through the rest") {
  Bench bench;
  const View a = bench.scene.make(ElementType::float32, {2, 3, 4, 6});
  const View d = bench.scene.make(ElementType::float32, {2, 3, 4, 5});
  const View shared = plan::broadcast_to(bench.scene.make(ElementType::float32, {6, 5}), Dims{2, 3, 6, 5});
  const View by_head = plan::broadcast_to(bench.scene.make(ElementType::float32, {3, 6, 5}), Dims{2, 3, 6, 5});
  const View all = bench.scene.make(ElementType::float32, {2, 3, 6, 5});
  for (const View& b : {shared, by_head, all}) CHECK(bench.outcome(bench.step({a, b}, d)) == "cublaslt");
  CHECK(cuda::layout_of(bench.step({a, all}, d))->calls() == 1);
  CHECK(cuda::layout_of(bench.step({a, by_head}, d))->calls() == 2);
  // [batch, rows, heads, size] seen by heads, as attention reads it
  constexpr std::int64_t order[] = {0, 2, 1, 3};
  const View heads = plan::permuted(bench.scene.make(ElementType::float32, {2, 4, 3, 6}), order);
  CHECK(bench.outcome(bench.step({heads, all}, d)) == "cublaslt");
  const View many = bench.scene.make(ElementType::float32, {40, 50, 2, 2});
  const View turned = plan::permuted(bench.scene.make(ElementType::float32, {50, 40, 2, 2}), Dims{1, 0, 2, 3});
  CHECK(bench.outcome(bench.step({many, turned}, bench.scene.make(ElementType::float32, {40, 50, 2, 2}))) ==
        "more batches than a few calls go through");
}

TEST_CASE("calls through several axes are aligned as the least aligned of them") {
  Bench bench;
  constexpr std::int64_t order[] = {3, 0, 1, 2, 4};
  const View a = plan::permuted(bench.scene.make(ElementType::float32, {2, 16, 8, 3, 33}), order);
  const View b = plan::broadcast_to(bench.scene.make(ElementType::float32, {2, 1, 33, 64}), Dims{3, 2, 16, 33, 64});
  const View bias = plan::broadcast_to(bench.scene.make(ElementType::float32, {3, 1, 1, 1, 65}), Dims{3, 2, 16, 8, 65});
  const View d = bench.scene.make(ElementType::float32, {3, 2, 16, 8, 64});
  const Expression add = epilogue([](auto& e, auto x) { e.apply(Operation::add, x, e.input(1, Lane::f32)); });
  CHECK(cuda::layout_of(bench.step({a, b}, d))->outer == Dims{3, 2});
  CHECK(bench.outcome(bench.step({a, b}, d)) == "cublaslt");
  CHECK(bench.outcome(bench.step({a, b, plan::sliced(bias, 4, 0, 1, 64)}, d, add)) == "cublaslt, bias");
}

TEST_CASE("bias, addend, factors and activations go into the call") {
  Bench bench;
  const View a = bench.scene.make(ElementType::float32, {4, 6}), b = bench.scene.make(ElementType::float32, {6, 5});
  const View d = bench.scene.make(ElementType::float32, {4, 5});
  const View bias = plan::broadcast_to(bench.scene.make(ElementType::float32, {5}), Dims{4, 5});
  const View addend = bench.scene.make(ElementType::float32, {4, 5});
  const auto plus = [](Expression& e, auto x, std::size_t input) {
    return e.apply(Operation::add, x, e.input(input, Lane::f32));
  };
  const auto relu = [](Expression& e, auto x) { return e.apply(Operation::maximum, x, e.constant(Lane::f32, 0)); };
  CHECK(bench.outcome(bench.step({a, b, bias}, d, epilogue([&](auto& e, auto x) { plus(e, x, 1); }))) ==
        "cublaslt, bias");
  CHECK(bench.outcome(bench.step({a, b, bias}, d, epilogue([&](auto& e, auto x) { relu(e, plus(e, x, 1)); }))) ==
        "cublaslt, bias, relu");
  CHECK(bench.outcome(bench.step({a, b}, d, epilogue([&](auto& e, auto x) { relu(e, x); }))) == "cublaslt, relu");
  CHECK(bench.outcome(bench.step({a, b, addend, bias}, d, epilogue([&](auto& e, auto x) {
                                   relu(e, plus(e, plus(e, x, 1), 2));
                                 }))) == "cublaslt, bias, addend, relu");
  // The library's tanh is not one of float32.
  CHECK(bench.outcome(bench.step({a, b, bias}, d, gelu_tanh())) ==
        "a product too small for a pass of its own over the epilogue");
  // Gemm: alpha a b + beta c
  CHECK(bench.outcome(bench.step({a, b, addend}, d, epilogue([&](auto& e, auto x) {
                                   const auto scaled = e.apply(Operation::multiply, x, e.constant(Lane::f32, 1.5));
                                   const auto c =
                                       e.apply(Operation::multiply, e.input(1, Lane::f32), e.constant(Lane::f32, -0.5));
                                   e.apply(Operation::add, scaled, c);
                                 }))) == "cublaslt, addend");
  // A residual that the output overwrites.
  CHECK(bench.outcome(bench.step({a, b, d}, d, epilogue([&](auto& e, auto x) { plus(e, x, 1); }))) ==
        "cublaslt, addend");
}

TEST_CASE("a bias along the columns of a product in row order is the rows' of its transpose") {
  Bench bench;
  const View a = bench.scene.make(ElementType::float32, {4, 6}), b = bench.scene.make(ElementType::float32, {6, 5});
  const View d = swapped(bench.scene.make(ElementType::float32, {5, 4}));
  const View bias = plan::broadcast_to(bench.scene.make(ElementType::float32, {4, 1}), Dims{4, 5});
  const Expression add = epilogue([&](auto& e, auto x) { e.apply(Operation::add, x, e.input(1, Lane::f32)); });
  CHECK(bench.outcome(bench.step({a, b, bias}, d, add)) == "cublaslt, bias");
  const View across = plan::broadcast_to(bench.scene.make(ElementType::float32, {5}), Dims{4, 5});
  CHECK(bench.outcome(bench.step({a, b, across}, d, add)) ==
        "a product too small for a pass of its own over the epilogue");
}

TEST_CASE("a bias for each batch has a stride") {
  Bench bench;
  const View a = bench.scene.make(ElementType::float32, {3, 4, 6}),
             b = bench.scene.make(ElementType::float32, {3, 6, 5});
  const View d = bench.scene.make(ElementType::float32, {3, 4, 5});
  const View bias = plan::broadcast_to(bench.scene.make(ElementType::float32, {3, 1, 5}), Dims{3, 4, 5});
  const Expression add = epilogue([&](auto& e, auto x) { e.apply(Operation::add, x, e.input(1, Lane::f32)); });
  CHECK(bench.outcome(bench.step({a, b, bias}, d, add)) == "cublaslt, bias");
}

TEST_CASE("what the library cannot do of an epilogue is a map behind it where that pays") {
  Bench bench;
  const View a = bench.scene.make(ElementType::float32, {160, 256}),
             b = bench.scene.make(ElementType::float32, {256, 128});
  const View d = bench.scene.make(ElementType::float32, {160, 128});
  const View bias = plan::broadcast_to(bench.scene.make(ElementType::float32, {128}), Dims{160, 128});
  const View addend = bench.scene.make(ElementType::float32, {160, 128});
  const Expression sigmoid = epilogue([](auto& e, auto x) {
    const auto biased = e.apply(Operation::add, x, e.input(1, Lane::f32));
    e.apply(Operation::add, e.apply(Operation::sigmoid, biased), e.input(2, Lane::f32));
  });
  CHECK(bench.outcome(bench.step({a, b, bias, addend}, d, sigmoid)) == "cublaslt, bias | add(sigmoid(x0), x1)");
  // It would read what the product overwrote.
  CHECK(bench.outcome(bench.step({a, b, bias, d}, d, sigmoid)) ==
        "an operand of the epilogue lies where the product is written");
  const View few = bench.scene.make(ElementType::float32, {160, 8}),
             narrow = bench.scene.make(ElementType::float32, {8, 128});
  CHECK(bench.outcome(bench.step({few, narrow, bias, addend}, d, sigmoid)) ==
        "a product too small for a pass of its own over the epilogue");
}

TEST_CASE("types: narrow ones into their own or float32, double without epilogues, others not") {
  Bench bench;
  const auto product = [&](ElementType from, ElementType to, const Expression& e, std::int64_t size) {
    const View a = bench.scene.make(from, {size, size}), b = bench.scene.make(from, {size, size});
    const View bias = plan::broadcast_to(bench.scene.make(to, {size}), Dims{size, size});
    return bench.step({a, b, bias}, bench.scene.make(to, {size, size}), e);
  };
  const auto add = [](Lane lane) {
    return epilogue([lane](auto& e, auto x) { e.apply(Operation::add, x, e.input(1, lane)); }, lane);
  };
  constexpr double half = 1e-3, brain = 8e-3;
  CHECK(bench.outcome(product(ElementType::float16, ElementType::float16, add(Lane::f32), 8), half) ==
        "cublaslt, bias");
  CHECK(bench.outcome(product(ElementType::bfloat16, ElementType::bfloat16, add(Lane::f32), 8), brain) ==
        "cublaslt, bias");
  CHECK(bench.outcome(product(ElementType::float16, ElementType::float16, gelu_tanh(), 8), half) ==
        "cublaslt, bias, gelu");
  CHECK(bench.outcome(product(ElementType::float16, ElementType::float32, add(Lane::f32), 8)) == "cublaslt, bias");
  CHECK(bench.outcome(product(ElementType::float64, ElementType::float64, {}, 8), 1e-14) == "cublaslt");
  CHECK(bench.outcome(product(ElementType::float64, ElementType::float64, add(Lane::f64), 170), 1e-14) ==
        "cublaslt | add(x0, x1)");
  CHECK(bench.outcome(product(ElementType::int32, ElementType::int32, {}, 8)) == "factors of two types");
  CHECK(bench.outcome(product(ElementType::float32, ElementType::float16, {}, 8)) ==
        "an output of another type than the factors");
}

/// As plan/fp8_products makes it: [m, k] and [n, k], powers of rows and columns in front of a bias.
struct Float8Product {
  Bench bench;
  plan::Step step;

  Float8Product(std::int64_t m, std::int64_t n, std::int64_t k, const Expression& behind = {}, bool d_swaps = false) {
    Scene& scene = bench.scene;
    const View a = scene.make(ElementType::float8e4m3fn, {m, k}),
               b = swapped(scene.make(ElementType::float8e4m3fn, {n, k}));
    const View d =
        d_swaps ? swapped(scene.make(ElementType::float16, {n, m})) : scene.make(ElementType::float16, {m, n});
    const View rows = plan::broadcast_to(scene.make(ElementType::float32, {m, 1}), Dims{m, n}),
               columns = plan::broadcast_to(scene.make(ElementType::float32, {n}), Dims{m, n});
    Expression e;
    constexpr double small = 1.0 / 16;
    auto sum = e.apply(Operation::multiply, e.input(0, Lane::f32), e.constant(Lane::f32, small));
    sum = e.apply(Operation::multiply, sum, e.input(1, Lane::f32));
    e.apply(Operation::multiply, sum, e.input(2, Lane::f32));
    std::vector<View> inputs = {a, b, rows, columns};
    if (!behind.empty()) {
      inputs.push_back(plan::broadcast_to(scene.make(ElementType::float16, {n}), Dims{m, n}));
      constexpr std::size_t numbers[] = {3, 0, 1, 2};
      e = behind.with_input(0, e).renumbered(numbers);
    }
    step = bench.step(inputs, d, e);
  }
};

TEST_CASE("factors of float8 with scales of rows and columns, and without where the library refuses them") {
  const Expression bias = epilogue([](auto& e, auto x) { e.apply(Operation::add, x, e.input(1, Lane::f32)); });
  constexpr double half = 2e-3;
  const auto outcome = [&](Float8Product&& product) { return product.bench.outcome(product.step, half); };
  CHECK(outcome({48, 32, 64}) == "cublaslt, scales");
  CHECK(outcome({48, 32, 64, bias}) == "cublaslt, scales, bias");
  CHECK(outcome({48, 32, 64, gelu_tanh()}) == "cublaslt, scales, bias, gelu");
  CHECK(outcome({48, 32, 64, {}, true}) == "cublaslt, scales");
  CHECK(outcome({17, 32, 64}) == "cublaslt, scales");
  CHECK(outcome({48, 32, 56}) == "cuBLASLt has no algorithm: not supported (15)");
  ::setenv("ONNXKIT_STAND_IN_WITHOUT_SCALES", "1", 1);
  CHECK(outcome({48, 32, 64, bias}) == "cuBLASLt has no algorithm: not supported (15)");
  CHECK(outcome({128, 128, 256, bias}) == "cublaslt | add(mul(mul(x0, x1), x2), x3)");
  ::unsetenv("ONNXKIT_STAND_IN_WITHOUT_SCALES");
  // Versions before 12.9 are not asked, whatever they would say.
  ::setenv("ONNXKIT_STAND_IN_VERSION", "120800", 1);
  CHECK(outcome({128, 128, 256, bias}) == "cublaslt | add(mul(mul(x0, x1), x2), x3)");
  ::setenv("ONNXKIT_STAND_IN_VERSION", "120900", 1);
  CHECK(outcome({128, 128, 256, bias}) == "cublaslt, scales, bias");
  ::unsetenv("ONNXKIT_STAND_IN_VERSION");
}

TEST_CASE("factors of float8 whose terms do not lie side by side are refused") {
  Bench bench;
  const View a = bench.scene.make(ElementType::float8e4m3fn, {32, 32}),
             d = bench.scene.make(ElementType::float16, {32, 32});
  CHECK(bench.outcome(bench.step({a, a}, d)) == "factors of float8 whose terms do not lie side by side");
  const View wide = bench.scene.make(ElementType::float64, {32, 32});
  CHECK(bench.outcome(bench.step({a, swapped(a)}, wide)) == "an output of another type than the factors");
}

/// By cuDNN, which is asked only where engines are measured: "cudnn engine 1", or why not.
std::string fused_outcome(Bench& bench, const plan::Step& step, double tolerance) {
  const auto functions = cuda::cudnn::open(stand_ins());
  REQUIRE(functions);
  auto session = std::make_shared<cuda::CudnnSession>();
  session->functions = *functions;
  REQUIRE(functions->create(&session->handle) == cuda::cudnn::success);
  const cuda::Preparation preparation{.plan = bench.scene.plan};
  auto written = cuda::write_product_graph(step, preparation, session);
  if (!written) return written.error().diagnostic.message;
  auto prepared = std::make_shared<cuda::CudnnPrepared>(std::move(written->prepared));
  if (auto chosen = prepared->graph->choose({.forbidden = {}, .most_workspace = preparation.most_workspace}, {});
      !chosen)
    return chosen.error().diagnostic.message;
  const std::vector<double> expected = expected_product(bench.scene, step);
  cuda::LibraryStep made;
  made.call = std::make_unique<cuda::CudnnCall>(prepared, written->operands, false);
  run(bench.scene, made);
  CHECK(product_error(bench.scene, step, expected) < tolerance);
  return made.call->text();
}

TEST_CASE("cuDNN takes whole what cuBLASLt has in part") {
  constexpr double half = 1e-3, brain = 8e-3;
  const Expression gelu_erf = epilogue([](Expression& e, auto sum) {
    const auto x = e.apply(Operation::add, sum, e.input(1, Lane::f32));
    const auto constant = [&](double value) { return e.constant(Lane::f32, value); };
    const auto inner = e.apply(Operation::erf, e.apply(Operation::multiply, x, constant(0.7071067811865476)));
    e.apply(Operation::multiply, e.apply(Operation::multiply, x, constant(0.5)),
            e.apply(Operation::add, inner, constant(1)));
  });
  const Expression scaled_swish = epilogue([](Expression& e, auto sum) {
    const auto scaled = e.apply(Operation::multiply, sum, e.constant(Lane::f32, 0.25));
    const auto x = e.apply(Operation::add, scaled, e.input(1, Lane::f32));
    e.apply(Operation::multiply, x, e.apply(Operation::sigmoid, x));
  });
  const auto product = [](Bench& bench, ElementType type, const Expression& e, bool b_swaps, bool has_rows) {
    const View a = bench.scene.make(type, {9, 16}), d = bench.scene.make(type, {9, 24});
    const View b = b_swaps ? swapped(bench.scene.make(type, {24, 16})) : bench.scene.make(type, {16, 24});
    const View addend =
        has_rows ? bench.scene.make(type, {9, 24}) : plan::broadcast_to(bench.scene.make(type, {24}), Dims{9, 24});
    return bench.step({a, b, addend}, d, e);
  };
  for (const bool b_swaps : {false, true}) {
    for (const bool has_rows : {false, true}) {
      Bench bench;
      const auto outcome = [&](ElementType type, const Expression& e, double tolerance) {
        return fused_outcome(bench, product(bench, type, e, b_swaps, has_rows), tolerance);
      };
      CHECK(outcome(ElementType::float16, gelu_erf, half) == "cudnn engine 1");
      CHECK(outcome(ElementType::bfloat16, gelu_erf, brain) == "cudnn engine 1");
      CHECK(outcome(ElementType::float16, scaled_swish, half) == "cudnn engine 1");
    }
  }
  Bench bench;
  CHECK(fused_outcome(bench, product(bench, ElementType::float32, gelu_erf, false, false), half) ==
        "a product of float");
  CHECK(fused_outcome(bench, product(bench, ElementType::float16, gelu_tanh(), false, false), half) ==
        "an epilogue that cuBLASLt has");
  plan::Step other = product(bench, ElementType::float16, gelu_erf, false, false);
  other.inputs[2] = other.outputs[0];
  CHECK(fused_outcome(bench, other, half) == "an operand lies where the product is written");
  other = product(bench, ElementType::float16, gelu_erf, false, false);
  other.outputs[0] = swapped(bench.scene.make(ElementType::float16, {24, 9}));
  CHECK(fused_outcome(bench, other, half) == "an output in another order than rows");
}

TEST_CASE("float32 is rounded to TF32 only when that is allowed") {
  for (const bool allows : {false, true}) {
    Bench bench;
    bench.allows_tf32 = allows;
    const View a = bench.scene.make(ElementType::float32, {1, 1}), b = bench.scene.make(ElementType::float32, {1, 1});
    constexpr float fine = 1.0001F;
    *static_cast<float*>(bench.scene.place(a)) = fine;
    *static_cast<float*>(bench.scene.place(b)) = 1;
    const View d = bench.scene.make(ElementType::float32, {1, 1});
    auto made = bench.prepare(bench.step({a, b}, d));
    REQUIRE(made);
    run(bench.scene, *made);
    CHECK((*static_cast<float*>(bench.scene.place(d)) == fine) == !allows);
    CHECK(made->call->text() == (allows ? "cublaslt, tf32" : "cublaslt"));
  }
}

TEST_CASE("what the library makes is destroyed with the calls") {
  auto library = SharedLibrary::open(stand_ins(), {"libcublasLt.so.13"});
  REQUIRE(library);
  std::size_t (*live)() = nullptr;
  REQUIRE(library->bind(live, "onnxkit_cublaslt_live"));
  const std::size_t before = live();
  {
    Bench bench;
    const View a = bench.scene.make(ElementType::float32, {4, 4}), d = bench.scene.make(ElementType::float32, {4, 4});
    auto made = bench.prepare(bench.step({a, a}, d));
    REQUIRE(made);
    CHECK(live() > before);
    bench.library.reset();  // a plan may outlive it
    run(bench.scene, *made);
  }
  CHECK(live() == before);
}

}  // namespace
}  // namespace onnxkit::cuda_libraries::products
