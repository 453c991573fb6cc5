#include "tests/unit/cpu/kernels_support.h"

namespace onnxkit::tests::cpu_linear_attention {

using namespace cpu_kernels;

namespace {

struct Shape {
  int64_t time, keys, values, results;
  bool has_decay, decays_rows, has_rate;
};

/// What a head is given, and its results in double.
struct Head {
  Shape of;
  Floats q, k, v, decay, rate, state;
  std::vector<double> y, last;

  explicit Head(const Shape& shape, std::uint64_t seed)
      : of(shape),
        q(random_floats(of.time * of.results * of.keys, seed)),
        k(random_floats(of.time * of.keys, seed + 1)),
        v(random_floats(of.time * of.values, seed + 2)),
        decay(random_floats(of.time * of.keys, seed + 3)),
        rate(random_floats(of.time, seed + 4)),
        state(random_floats(of.keys * of.values, seed + 5)),
        last(state.begin(), state.end()) {
    for (float& number : k) number /= static_cast<float>(of.keys);
    for (float& number : decay) number = -std::abs(number);
    for (int64_t time = 0; time < of.time; ++time) step(time);
  }

  double& last_at(int64_t i, int64_t j) { return last[static_cast<std::size_t>(i * of.values + j)]; }
  static double at(const Floats& numbers, int64_t place) { return numbers[static_cast<std::size_t>(place)]; }

  void step(int64_t time) {
    for (int64_t i = 0; i < of.keys && of.has_decay; ++i) {
      const double factor = std::exp(at(decay, time * of.keys + (of.decays_rows ? i : 0)));
      for (int64_t j = 0; j < of.values; ++j) last_at(i, j) *= factor;
    }
    for (int64_t j = 0; j < of.values; ++j) {
      double written = at(v, time * of.values + j);
      if (of.has_rate) {
        for (int64_t i = 0; i < of.keys; ++i) written -= last_at(i, j) * at(k, time * of.keys + i);
        written *= at(rate, time);
      }
      for (int64_t i = 0; i < of.keys; ++i) last_at(i, j) += at(k, time * of.keys + i) * written;
    }
    for (int64_t r = 0; r < of.results; ++r) {
      for (int64_t j = 0; j < of.values; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < of.keys; ++i) sum += last_at(i, j) * at(q, (time * of.results + r) * of.keys + i);
        y.push_back(0.5 * sum);
      }
    }
  }

  /// How many results of the kernel are not those.
  int64_t faults(const cpu::Isa& isa) const {
    Floats found = filled(of.time * of.results * of.values), to = state, factors = filled(of.keys);
    std::vector<const float*> queries;
    std::vector<float*> results;
    for (int64_t r = 0; r < of.results; ++r) {
      queries.push_back(q.data() + r * of.keys);
      results.push_back(found.data() + r * of.values);
    }
    cpu::LinearAttention head{.time = of.time,
                              .keys = of.keys,
                              .values = of.values,
                              .results = of.results,
                              .q = queries.data(),
                              .y = results.data(),
                              .k = k.data(),
                              .v = v.data(),
                              .decay = of.has_decay ? decay.data() : nullptr,
                              .rate = of.has_rate ? rate.data() : nullptr,
                              .q_stride = of.results * of.keys,
                              .k_stride = of.keys,
                              .v_stride = of.values,
                              .y_stride = of.results * of.values,
                              .decay_stride = of.keys,
                              .decay_key_stride = of.decays_rows ? 1 : 0,
                              .rate_stride = 1,
                              .scale = 0.5F,
                              .state = to.data(),
                              .factors = factors.data()};
    cpu::linear_attend(head, isa);
    // Numbers are around 1: roundings of all points in time add up.
    const double most = 0x1p-22 * static_cast<double>(of.keys + 4 * of.time);
    int64_t count = 0;
    for (std::size_t i = 0; i < y.size(); ++i) count += !(std::abs(found[i] - y[i]) <= most);
    for (std::size_t i = 0; i < last.size(); ++i) count += !(std::abs(to[i] - last[i]) <= most);
    return count;
  }
};

}  // namespace

TEST_CASE("linear attention of heads of any size, with and without decay and rate") {
  on_each_isa([](const cpu::Isa& isa) {
    for (const int64_t keys : {1, 5, 33, 64}) {
      for (const int64_t values : {1, 7, 16, 64, 131}) {
        for (const int64_t results : {1, 3}) {
          for (int which = 0; which < 6; ++which) {
            const Shape shape{.time = 9,
                              .keys = keys,
                              .values = values,
                              .results = results,
                              .has_decay = which % 3 != 0,
                              .decays_rows = which % 3 == 2,
                              .has_rate = which >= 3};
            CAPTURE(keys);
            CAPTURE(values);
            CAPTURE(which);
            CHECK(Head(shape, 7).faults(isa) == 0);
          }
        }
      }
    }
  });
}

}  // namespace onnxkit::tests::cpu_linear_attention
