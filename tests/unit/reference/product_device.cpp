// Products of the reference on a device that a backend lends (libonnxkit/exec/product_device.h).
#include "libonnxkit/exec/product_device.h"

#include <doctest/doctest.h>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/exec/perturbed.h"
#include "onnxkit/model.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::reference_product_device {
namespace {

/// Plain loops, by matrices of at least so many rows; every product is twice what it should be, so that results show where it was made.
class Doubling : public exec::ProductDevice {
 public:
  explicit Doubling(std::int64_t least_rows = 0) : least_rows_(least_rows) {}

  Result<bool> multiply(const exec::StridedMatrix<const double>& a, const exec::StridedMatrix<const double>& b,
                        const exec::StridedMatrix<double>& c, bool accumulate,
                        const std::shared_ptr<const void>& token) override {
    if (fails) return make_error(ErrorKind::backend, "device-lost", "the device is gone");
    if (a.rows < least_rows_) return false;
    ++calls;
    tokens.push_back(token);
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < a.columns; ++k)
          sum += a.data[i * a.row_stride + k * a.column_stride] * b.data[k * b.row_stride + j * b.column_stride];
        double& to = c.data[i * c.row_stride + j * c.column_stride];
        to = 2 * sum + (accumulate ? to : 0);
      }
    }
    return true;
  }

  int calls = 0;
  std::vector<std::shared_ptr<const void>> tokens;
  bool fails = false;

 private:
  std::int64_t least_rows_;
};

struct Loaded {
  std::shared_ptr<const Model> model;
  std::unique_ptr<exec::Session> session;
};

Loaded load(const std::string& body, std::shared_ptr<exec::ProductDevice> device) {
  Loaded loaded;
  loaded.model = std::make_shared<const Model>(parse_model("<ir_version: 8, opset_import: [\"\" : 17]>\n" + body));
  const auto backend = all_backends().make_perturbed();
  auto session =
      backend->load({.model = {loaded.model, &loaded.model->ir()}}, {.threads = 1, .products = std::move(device)});
  REQUIRE(session);
  loaded.session = *std::move(session);
  return loaded;
}

const char* const product = "g (float[2, 3] x, float[3, 2] w) => (float[2, 2] y) { y = MatMul(x, w) }";

exec::RunRequest request(float first = 1) {
  exec::RunRequest made;
  made.inputs = {{"x", floats({2, 3}, {first, 2, 3, 4, 5, 6})}, {"w", floats({3, 2}, {1, 0, 0, 1, 1, 1})}};
  return made;
}

}  // namespace

TEST_CASE("a device multiplies what it takes, the threads the rest") {
  const auto all = std::make_shared<Doubling>();
  auto answer = load(product, all).session->run(request());
  REQUIRE(answer);
  CHECK(all->calls == 1);
  CHECK(to_reals(answer->outputs[0].value.tensor) == std::vector<double>{8, 10, 20, 22});

  const auto none = std::make_shared<Doubling>(1000);
  answer = load(product, none).session->run(request());
  REQUIRE(answer);
  CHECK(none->calls == 0);
  CHECK(to_reals(answer->outputs[0].value.tensor) == std::vector<double>{4, 5, 10, 11});
}

TEST_CASE("perturbed samples are products of the device with errors") {
  const auto device = std::make_shared<Doubling>();
  const Loaded loaded = load(product, device);
  auto spreads = loaded.session->perturbed()->run(request(1.1F), {.samples = 3});
  REQUIRE(spreads);
  CHECK(device->calls == 4);
  const std::vector<double> exact = to_reals(spreads->front().exact.tensor);
  REQUIRE(spreads->front().samples.size() == 3);
  for (const Value& sample : spreads->front().samples) {
    const double noisy = to_reals(sample.tensor)[0];
    CHECK(noisy != exact[0]);
    CHECK(noisy == doctest::Approx(exact[0]).epsilon(1e-6));
  }
}

TEST_CASE("perturbed samples: the device is told which factors the runs have in common") {
  const auto device = std::make_shared<Doubling>();
  const Loaded loaded = load(R"(g (float[128, 128] x) => (float[128, 128] z) {
    shape = Constant <value = int64[2] {128, 128}> ()
    w = ConstantOfShape <value = float[1] {0.01}> (shape)
    v = ConstantOfShape <value = float[1] {0.02}> (shape)
    a = MatMul (x, w)
    b = MatMul (a, v)
    z = MatMul (b, a)
  })",
                             device);
  exec::RunRequest made;
  made.inputs = {{"x", floats({128, 128}, std::vector<float>(std::size_t{128} * 128, 0.3F))}};
  REQUIRE(loaded.session->perturbed()->run(made, {.samples = 2}));
  const auto& tokens = device->tokens;
  REQUIRE(tokens.size() == 9);  // the exact run and two samples of each
  CHECK((tokens[0] && tokens[0] == tokens[1] && tokens[0] == tokens[2]));
  CHECK((tokens[3] && tokens[3] == tokens[4] && tokens[3] == tokens[5]));
  CHECK(tokens[0] != tokens[3]);
  CHECK((!tokens[6] && !tokens[7] && !tokens[8]));
  device->tokens.clear();
  REQUIRE(loaded.session->run(made));
  CHECK(device->tokens == decltype(device->tokens)(3));
}

TEST_CASE("an error of the device ends the run and keeps its code") {
  const auto device = std::make_shared<Doubling>();
  device->fails = true;
  const auto answer = load(product, device).session->run(request());
  REQUIRE_FALSE(answer);
  CHECK(answer.error().diagnostic.code == "device-lost");
  CHECK(answer.error().kind == ErrorKind::backend);
}

TEST_CASE("products of float64 models stay in double-double") {
  const auto device = std::make_shared<Doubling>();
  const Loaded loaded = load("g (double[1, 2] x, double[2, 1] w) => (double[1, 1] y) { y = MatMul(x, w) }", device);
  const std::vector<double> x = {1, 2}, w = {3, 4};
  exec::RunRequest made;
  made.inputs = {{"x", doubles({1, 2}, x)}, {"w", doubles({2, 1}, w)}};
  const auto answer = loaded.session->run(made);
  REQUIRE(answer);
  CHECK(device->calls == 0);
  CHECK(to_reals(answer->outputs[0].value.tensor) == std::vector<double>{11});
}

}  // namespace onnxkit::tests::reference_product_device
