// Operators of the reference against Eigen, which computes the same by other means.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <complex>
#include <random>
#include <string>
#include <unsupported/Eigen/FFT>
#include <vector>

#include "onnxkit/run.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::reference_eigen_oracle {
namespace {

using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Signal = std::vector<std::complex<long double>>;

std::mt19937_64 generator(11);
double uniform() { return std::uniform_real_distribution<double>(-1, 1)(generator); }

/// What one node answers in float64.
std::vector<double> answer(const std::string& signature, const std::string& node, std::vector<NamedValue> inputs) {
  const std::string text =
      "<ir_version: 10, opset_import: [\"\": 20]>\nmain (" + signature + ") => (y) { y = " + node + " }";
  const auto model = read_model_bytes(text, "oracle", {.format = "text"});
  REQUIRE_MESSAGE(model, (model ? "" : model.error().diagnostic.message));
  const auto report = run(*model, std::move(inputs));
  REQUIRE_MESSAGE(report, (report ? "" : report.error().diagnostic.message));
  return to_reals(report->outputs.front().value.tensor);
}

double determinant(const Matrix& a) {
  const std::vector<double> elements(a.data(), a.data() + a.size());
  return answer("double[n, n] x", "Det (x)", {{"x", doubles({a.rows(), a.cols()}, elements)}}).front();
}

std::vector<double> random_reals(std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) value = uniform();
  return values;
}

/// Numbers given as [real, imaginary] pairs, or as reals.
Signal signal_of(const std::vector<double>& values, std::size_t parts) {
  Signal signal;
  for (std::size_t i = 0; i < values.size(); i += parts)
    signal.emplace_back(values[i], parts == 2 ? values[i + 1] : 0.0);
  return signal;
}

Signal spectrum_of(const Signal& signal, bool inverse = false) {
  if (signal.size() == 1) return signal;  // which Eigen 3.4 cannot transform
  Eigen::FFT<long double> transform;
  Signal spectrum;
  if (inverse)
    transform.inv(spectrum, signal);
  else
    transform.fwd(spectrum, signal);
  return spectrum;
}

/// The largest distance of `found`, pairs of real and imaginary parts, from the first numbers of `wanted`.
long double distance(const std::vector<double>& found, const Signal& wanted) {
  long double largest = 0;
  for (std::size_t i = 0; i < found.size() / 2; ++i)
    largest = std::max(largest, std::abs(std::complex<long double>(found[2 * i], found[2 * i + 1]) - wanted[i]));
  return largest;
}

/// Lengths with every small factor, primes, and powers of two.
const std::vector<std::int64_t> lengths = {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 30, 31, 49, 64, 97, 100, 128, 210};

}  // namespace

TEST_CASE("Det equals the decomposition with full pivoting") {
  for (const Eigen::Index n : {1, 2, 3, 5, 8, 13, 21, 34, 55}) {
    CAPTURE(n);
    const Matrix a = Matrix::NullaryExpr(n, n, [](Eigen::Index, Eigen::Index) { return uniform(); });
    const long double wanted = Eigen::FullPivLU<Wide>(a.cast<long double>()).determinant();
    CHECK(std::abs(determinant(a) - wanted) <= 0x1p-52L * std::abs(wanted));
  }
}

TEST_CASE("Det of a product of triangles is that of their diagonals") {
  // Entries are small integers, so the product is exact and its condition is large.
  for (const Eigen::Index n : {4, 9, 16, 25}) {
    CAPTURE(n);
    Matrix lower = Matrix::NullaryExpr(n, n, [](Eigen::Index, Eigen::Index) { return std::floor(3 * uniform()); });
    Matrix upper = lower.transpose();
    lower.diagonal().setOnes();
    upper.diagonal().setOnes();
    const Matrix a = Matrix(lower.triangularView<Eigen::Lower>()) * Matrix(upper.triangularView<Eigen::Upper>());
    const long double error = std::abs(determinant(a) - 1.0L);
    CHECK(error <= std::abs(Eigen::PartialPivLU<Matrix>(a).determinant() - 1.0L) / 64 + 0x1p-50L);
  }
}

TEST_CASE("DFT equals Eigen's transform, both ways") {
  for (const std::int64_t length : lengths) {
    CAPTURE(length);
    const auto x = random_reals(2 * static_cast<std::size_t>(length));
    const Tensor input = doubles({1, length, 2}, x);
    const long double limit = 0x1p-52L * static_cast<long double>(length);
    CHECK(distance(answer("double[1, n, 2] x", "DFT (x)", {{"x", input}}), spectrum_of(signal_of(x, 2))) <= limit);
    CHECK(distance(answer("double[1, n, 2] x", "DFT <inverse = 1> (x)", {{"x", input}}),
                   spectrum_of(signal_of(x, 2), true)) <= limit);
  }
}

TEST_CASE("DFT of reals gives the first half of Eigen's transform") {
  for (const std::int64_t length : lengths) {
    CAPTURE(length);
    const auto x = random_reals(static_cast<std::size_t>(length));
    const auto found = answer("double[1, n, 1] x", "DFT <onesided = 1> (x)", {{"x", doubles({1, length, 1}, x)}});
    CHECK(found.size() == 2 * static_cast<std::size_t>(length / 2 + 1));
    CHECK(distance(found, spectrum_of(signal_of(x, 1))) <= 0x1p-52L * static_cast<long double>(length));
  }
}

TEST_CASE("STFT equals Eigen's transform of each windowed frame") {
  const std::int64_t length = 60, frame = 24, step = 9, frames = (length - frame) / step + 1, bins = frame / 2 + 1;
  const auto x = random_reals(static_cast<std::size_t>(length)), window = random_reals(static_cast<std::size_t>(frame));
  const auto found =
      answer("double[1, n, 1] x, int64 step, double[m] window", "STFT (x, step, window)",
             {{"x", doubles({1, length, 1}, x)}, {"step", integers({}, {step})}, {"window", doubles({frame}, window)}});
  REQUIRE(found.size() == static_cast<std::size_t>(2 * frames * bins));
  for (std::int64_t i = 0; i < frames; ++i) {
    CAPTURE(i);
    const Eigen::VectorXd part = Eigen::Map<const Eigen::VectorXd>(x.data() + i * step, frame)
                                     .cwiseProduct(Eigen::Map<const Eigen::VectorXd>(window.data(), frame));
    const std::vector<double> of_frame(found.begin() + 2 * i * bins, found.begin() + 2 * (i + 1) * bins);
    const Signal wanted = spectrum_of(signal_of({part.data(), part.data() + frame}, 1));
    CHECK(distance(of_frame, wanted) <= 0x1p-52L * frame);
  }
}

}  // namespace onnxkit::tests::reference_eigen_oracle
