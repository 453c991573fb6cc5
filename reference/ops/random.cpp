// RandomNormal, RandomUniform and their Like forms, Bernoulli, Multinomial. The specification leaves the generator open; `seed`, else the seed
// of the run, makes runs repeat.
#include "reference/numerics/random.h"

#include <algorithm>
#include <cmath>

#include "reference/executor/kernel.h"

namespace onnxkit::reference {
namespace {

Tensor with_attribute_shape(const KernelContext& context) {
  return context.make(context.named_type("dtype", ElementType::float32), context.integers("shape").value_or(Dims()));
}

Tensor like_input(const KernelContext& context) {
  const Tensor& x = context.input(0);
  return context.make(context.named_type("dtype", x.type()), x.dims());
}

/// Without `dtype` the result takes the type of the input, which need not be one that numbers are drawn of.
void require_reals(const Tensor& y) {
  if (y.domain() != Domain::real) throw Fault("undefined-for-type", "only floating-point numbers can be drawn");
}

void fill_normal(KernelContext& context, Tensor y) {
  require_reals(y);
  const double mean = context.real("mean"), scale = context.real("scale", 1);
  std::mt19937 random = context.random();
  NormalDraws draws;
  Pace pace(context);
  for (double& element : y.write<double>()) {
    pace.advance(4);
    element = mean + scale * draws.next(random);
  }
  context.set_output(0, y);
}

void fill_uniform(KernelContext& context, Tensor y) {
  require_reals(y);
  const double low = context.real("low"), high = context.real("high", 1);
  std::mt19937 random = context.random();
  Pace pace(context);
  for (double& element : y.write<double>()) {
    pace.advance(4);
    element = low + draw_uniform(random) * (high - low);
  }
  context.set_output(0, y);
}

void random_normal(KernelContext& context) { fill_normal(context, with_attribute_shape(context)); }
void random_normal_like(KernelContext& context) { fill_normal(context, like_input(context)); }
void random_uniform(KernelContext& context) { fill_uniform(context, with_attribute_shape(context)); }
void random_uniform_like(KernelContext& context) { fill_uniform(context, like_input(context)); }

void bernoulli(KernelContext& context) {
  const auto shares = context.input(0).as<double>();
  Tensor y = like_input(context);
  std::mt19937 random = context.random();
  Pace pace(context);
  dispatch_scalars(y.domain(), [&]<class T>(std::type_identity<T>) {
    std::transform(shares.begin(), shares.end(), y.write<T>().begin(), [&](double share) {
      pace.advance(4);
      require(share >= 0 && share <= 1, "a probability is not between 0 and 1");
      return static_cast<T>(draw_uniform(random) < share);
    });
  });
  context.set_output(0, y);
}

/// Sums of e^x up to each class, over logarithms that may have any common offset.
std::vector<double> cumulated(std::span<const double> logarithms) {
  const double most = *std::max_element(logarithms.begin(), logarithms.end());
  std::vector<double> sums;
  double sum = 0;
  for (const double x : logarithms) sums.push_back(sum += std::exp(x - most));
  require(std::isfinite(sum), "the probabilities of a row are not numbers");
  return sums;
}

void multinomial(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() == 2 && x.dim(1) > 0, "the input is not a matrix with classes");
  const std::int64_t samples = context.integer("sample_size", 1);
  require(samples >= 0, "`sample_size` is negative");
  const auto classes = static_cast<std::size_t>(x.dim(1));
  Tensor y = context.make(context.named_type("dtype", ElementType::int32), {x.dim(0), samples});
  auto out = y.write<std::int64_t>().begin();
  std::mt19937 random = context.random();
  Pace pace(context);
  for (std::int64_t row = 0; row < x.dim(0); ++row) {
    const std::vector<double> sums =
        cumulated(x.as<double>().subspan(static_cast<std::size_t>(row) * classes, classes));
    pace.advance(x.dim(1));
    for (std::int64_t i = 0; i < samples; ++i) {
      pace.advance(8);
      const double at = draw_uniform(random) * sums.back();
      *out++ = std::upper_bound(sums.begin(), sums.end() - 1, at) - sums.begin();
    }
  }
  context.set_output(0, y);
}

}  // namespace

void register_random(KernelRegistry& registry) {
  registry.add("RandomNormal", all_versions(), random_normal, {.noise = noise::ordinary, .draws = Draws::always});
  registry.add("RandomUniform", all_versions(), random_uniform, {.noise = noise::ordinary, .draws = Draws::always});
  registry.add("RandomNormalLike", all_versions(), random_normal_like,
               {.noise = noise::ordinary, .draws = Draws::always});
  registry.add("RandomUniformLike", all_versions(), random_uniform_like,
               {.noise = noise::ordinary, .draws = Draws::always});
  registry.add("Bernoulli", all_versions(), bernoulli, {.noise = noise::ordinary, .draws = Draws::always});
  registry.add("Multinomial", all_versions(), multinomial, {.draws = Draws::always});
}

}  // namespace onnxkit::reference
