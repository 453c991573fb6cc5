#include <algorithm>

#include "tests/unit/cpu/kernels_support.h"

namespace onnxkit::tests::cpu_rows {

using namespace cpu_kernels;

namespace {

constexpr int64_t widths[] = {1, 2, 3, 7, 15, 16, 17, 31, 64, 65, 100, 257, 1000};

/// Softmax of x in double.
std::vector<double> softmax_of(const std::vector<double>& x) {
  const double most = *std::max_element(x.begin(), x.end());
  std::vector<double> y(x.size());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += y[i] = std::exp(x[i] - most);
  for (double& value : y) value /= sum;
  return y;
}

bool close(float found, double wanted, double units) {
  if (std::isnan(wanted) || std::isinf(wanted)) return std::isnan(wanted) ? std::isnan(found) : found == wanted;
  return std::abs(found - wanted) <= units * 0x1p-24 * std::abs(wanted) + 0x1p-149;
}

/// The attention of one query in double.
std::vector<double> attention_of(const cpu::Attention& a, int64_t i) {
  const int64_t seen = a.causal ? std::clamp<int64_t>(i + a.causal_offset + 1, 0, a.keys) : a.keys;
  std::vector<double> scores(static_cast<std::size_t>(seen)), out(static_cast<std::size_t>(a.value_depth));
  for (int64_t j = 0; j < seen; ++j) {
    double sum = 0;
    for (int64_t d = 0; d < a.depth; ++d) sum += double{a.q[i * a.q_stride + d]} * a.k[j * a.k_stride + d];
    scores[static_cast<std::size_t>(j)] =
        sum * double{a.scale} + (a.mask == nullptr ? 0.0 : a.mask[i * a.mask_stride + j]);
  }
  scores = softmax_of(scores);
  for (int64_t j = 0; j < seen; ++j) {
    for (int64_t d = 0; d < a.value_depth; ++d) {
      out[static_cast<std::size_t>(d)] += scores[static_cast<std::size_t>(j)] * a.v[j * a.v_stride + d];
    }
  }
  return out;
}

}  // namespace

TEST_CASE("softmax and log-softmax of rows of any width, on any number of threads") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const int64_t width : widths) {
      constexpr int64_t rows = 9;
      const Floats from = random_floats(rows * (width + 1), 1);
      for (ThreadPool* threads : {&one, &three}) {
        Floats to = filled(rows * (width + 2)), logs = to;
        const cpu::Rows all{from.data(), width + 1, to.data(), width + 2, rows, width};
        cpu::softmax_rows(*threads, all, isa);
        cpu::log_softmax_rows(*threads, {from.data(), width + 1, logs.data(), width + 2, rows, width}, isa);
        int64_t faults = 0;
        for (int64_t i = 0; i < rows; ++i) {
          std::vector<double> x;
          for (int64_t j = 0; j < width; ++j) x.push_back(from[static_cast<std::size_t>(i * (width + 1) + j)]);
          const auto wanted = softmax_of(x);
          for (int64_t j = 0; j < width + 2; ++j) {
            const auto at = static_cast<std::size_t>(i * (width + 2) + j);
            if (j >= width) {
              faults += to[at] != not_written || logs[at] != not_written;
              continue;
            }
            faults += !close(to[at], wanted[static_cast<std::size_t>(j)], 30 + static_cast<double>(width));
            const double log = std::log(wanted[static_cast<std::size_t>(j)]);
            faults += !(std::abs(logs[at] - log) <= 1e-6 * (1 + std::abs(log)) + static_cast<double>(width) * 0x1p-24);
          }
        }
        CHECK(faults == 0);
      }
    }
  });
}

TEST_CASE("softmax gives nothing to -infinity and passes NaN on") {
  ThreadPool one(1);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  on_each_isa([&](const cpu::Isa& isa) {
    Floats x = {1, -infinity, 1, -infinity, -infinity, -infinity, -infinity, -infinity, 0, NAN, 0, 0};
    cpu::softmax_rows(one, {x.data(), 4, x.data(), 4, 3, 4}, isa);
    CHECK(x[0] == 0.5F);
    CHECK(x[1] == 0);
    CHECK(x[3] == 0);
    for (std::size_t i = 4; i < 12; ++i) CHECK(std::isnan(x[i]));
  });
}

TEST_CASE("normalization of rows, with and without mean, scale and bias") {
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const int64_t width : widths) {
      constexpr int64_t rows = 7;
      const Floats from = random_floats(rows * width, 1), scale = random_floats(width, 2),
                   bias = random_floats(width, 3);
      for (int turn = 0; turn < 4; ++turn) {
        Floats to = filled(rows * (width + 1));
        cpu::Normalization norm;
        norm.epsilon = 1e-2F;
        norm.centers = turn % 2 == 0;
        if (turn >= 2) norm.scale = scale.data(), norm.bias = bias.data();
        cpu::normalize_rows(turn == 0 ? one : three, {from.data(), width, to.data(), width + 1, rows, width}, norm,
                            isa);
        int64_t faults = 0;
        for (int64_t i = 0; i < rows; ++i) {
          double sum = 0, squares = 0;
          const float* const row = from.data() + i * width;
          for (int64_t j = 0; j < width; ++j) sum += row[j];
          const double center = norm.centers ? sum / static_cast<double>(width) : 0;
          for (int64_t j = 0; j < width; ++j) squares += (row[j] - center) * (row[j] - center);
          const double factor = 1 / std::sqrt(squares / static_cast<double>(width) + double{norm.epsilon});
          for (int64_t j = 0; j < width; ++j) {
            double wanted = (row[j] - center) * factor;
            if (turn >= 2) wanted = wanted * double{norm.scale[j]} + double{norm.bias[j]};
            faults += !(std::abs(to[static_cast<std::size_t>(i * (width + 1) + j)] - wanted) < 2e-5);
          }
          faults += to[static_cast<std::size_t>(i * (width + 1) + width)] != not_written;
        }
        CHECK(faults == 0);
      }
    }
  });
}

// No operator case: the same with single operators, as older opsets have it, overflows by their definition.
TEST_CASE("the root mean square of numbers whose squares float32 does not hold") {
  ThreadPool one(1);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const float factor : {1e20F, 1e-22F, 1.0F}) {
      const Floats from = {1 * factor, 2 * factor, -3 * factor, 4 * factor};
      Floats to = filled(4);
      cpu::Normalization norm;
      norm.centers = false;
      cpu::normalize_rows(one, {from.data(), 4, to.data(), 4, 1, 4}, norm, isa);
      for (std::size_t j = 0; j < 4; ++j)
        CHECK(std::abs(double{to[j]} - double{from[j]} / double{factor} / std::sqrt(7.5)) < 1e-6);
    }
  });
}

TEST_CASE("reductions of rows and of columns") {
  using cpu::Reduction;
  ThreadPool one(1), three(3);
  on_each_isa([&](const cpu::Isa& isa) {
    for (const int64_t rows : {1, 5, 33}) {
      for (const int64_t columns : widths) {
        const int64_t stride = columns + 2;
        const Floats from = random_floats(rows * stride, 8);
        for (const Reduction reduction : {Reduction::sum, Reduction::mean, Reduction::max, Reduction::min}) {
          const auto wrong = [&](float found, int64_t count, const auto& element) {
            Sum sum;
            double most = -2, least = 2;
            for (int64_t i = 0; i < count; ++i) {
              const double x = element(i);
              sum.add(x);
              most = std::max(most, x), least = std::min(least, x);
            }
            if (reduction == Reduction::max) return found != most;
            if (reduction == Reduction::min) return found != least;
            const double divisor = reduction == Reduction::mean ? static_cast<double>(count) : 1;
            return !(std::abs(found - sum.value / divisor) <= sum.bound() / divisor);
          };
          Floats of_rows = filled(rows), of_columns = filled(columns);
          cpu::reduce_rows(three, reduction, from.data(), stride, rows, columns, of_rows.data(), isa);
          cpu::reduce_columns(one, reduction, from.data(), stride, rows, columns, of_columns.data(), isa);
          int64_t faults = 0;
          for (int64_t i = 0; i < rows; ++i) {
            faults += wrong(of_rows[static_cast<std::size_t>(i)], columns,
                            [&](int64_t j) { return from[static_cast<std::size_t>(i * stride + j)]; });
          }
          for (int64_t j = 0; j < columns; ++j) {
            faults += wrong(of_columns[static_cast<std::size_t>(j)], rows,
                            [&](int64_t i) { return from[static_cast<std::size_t>(i * stride + j)]; });
          }
          CHECK(faults == 0);
        }
      }
    }
  });
}

TEST_CASE("the error of sums does not grow with their length") {
  ThreadPool one(1);
  on_each_isa([&](const cpu::Isa& isa) {
    constexpr int64_t count = 100'003, columns = 20;
    Floats numbers = random_floats(count * columns, 3);
    for (float& x : numbers) x = std::abs(x);
    const auto is_near = [](double found, double wanted) { return std::abs(found - wanted) <= 4e-7 * wanted; };
    Floats found = filled(columns);
    cpu::reduce_columns(one, cpu::Reduction::mean, numbers.data(), columns, count, columns, found.data(), isa);
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < count; ++i) sum += numbers[static_cast<std::size_t>(i * columns + j)];
      CHECK(is_near(found[static_cast<std::size_t>(j)], sum / count));
    }
    double sum = 0;
    for (const float x : numbers) sum += x;
    cpu::reduce_rows(one, cpu::Reduction::sum, numbers.data(), 0, 1, count * columns, found.data(), isa);
    CHECK(is_near(found[0], sum));
    Floats zeros = filled(count, 0), softmax = filled(count);
    cpu::softmax_rows(one, {.from = zeros.data(), .to = softmax.data(), .rows = 1, .columns = count}, isa);
    CHECK(is_near(softmax[0], 1.0 / count));
  });
}

TEST_CASE("an infinite sum stays infinite") {
  ThreadPool one(1);
  on_each_isa([&](const cpu::Isa& isa) {
    Floats numbers = filled(300, 1);
    numbers[7] = std::numeric_limits<float>::infinity();
    float found = 0;
    cpu::reduce_rows(one, cpu::Reduction::sum, numbers.data(), 0, 1, 300, &found, isa);
    CHECK(found == numbers[7]);
    cpu::reduce_columns(one, cpu::Reduction::sum, numbers.data(), 1, 300, 1, &found, isa);
    CHECK(found == numbers[7]);
    numbers[250] = -numbers[7];
    cpu::reduce_columns(one, cpu::Reduction::sum, numbers.data(), 1, 300, 1, &found, isa);
    CHECK(std::isnan(found));
  });
}

TEST_CASE("extremes of rows and of columns pass NaN on") {
  ThreadPool one(1);
  on_each_isa([&](const cpu::Isa& isa) {
    for (std::size_t at = 0; at < 40; ++at) {
      Floats x = random_floats(40, 1);
      x[at] = std::numeric_limits<float>::quiet_NaN();
      float found = 0;
      for (const auto reduction : {cpu::Reduction::max, cpu::Reduction::min}) {
        cpu::reduce_rows(one, reduction, x.data(), 40, 1, 40, &found, isa);
        CHECK(std::isnan(found));
        cpu::reduce_columns(one, reduction, x.data(), 1, 40, 1, &found, isa);
        CHECK(std::isnan(found));
      }
    }
  });
}

TEST_CASE("attention of one head in all forms") {
  struct Size {
    int64_t queries, keys, depth, value_depth;
  };
  constexpr Size sizes[] = {{1, 1, 1, 1},     {1, 50, 64, 64},  {3, 17, 8, 100},  {5, 3, 16, 16},
                            {33, 33, 64, 64}, {70, 500, 20, 7}, {40, 90, 33, 80}, {100, 100, 64, 64}};
  on_each_isa([&](const cpu::Isa& isa) {
    for (const Size& size : sizes) {
      CAPTURE(size.queries);
      CAPTURE(size.keys);
      const int64_t stride = size.depth + 3, v_stride = size.value_depth + 1;
      const Floats q = random_floats(size.queries * stride, 1), k = random_floats(size.keys * stride, 2);
      const Floats v = random_floats(size.keys * v_stride, 3), mask = random_floats(size.queries * size.keys, 4);
      for (int turn = 0; turn < 4; ++turn) {
        Floats out = filled(size.queries * v_stride);
        cpu::Attention a{.q = q.data(),
                         .q_stride = stride,
                         .k = k.data(),
                         .k_stride = stride,
                         .v = v.data(),
                         .v_stride = v_stride,
                         .out = out.data(),
                         .out_stride = v_stride,
                         .queries = size.queries,
                         .keys = size.keys,
                         .depth = size.depth,
                         .value_depth = size.value_depth,
                         .scale = 0.7F};
        if (turn % 2 == 1) a.mask = mask.data(), a.mask_stride = size.keys;
        a.causal = turn >= 2;
        a.causal_offset = std::max<int64_t>(size.keys - size.queries, 0);
        Floats scratch = filled(cpu::attention_scratch_floats(a, isa));
        cpu::attend(a, scratch.data(), isa);
        int64_t faults = 0;
        for (int64_t i = 0; i < size.queries; ++i) {
          const auto wanted = attention_of(a, i);
          for (int64_t d = 0; d < size.value_depth; ++d) {
            const float found = out[static_cast<std::size_t>(i * v_stride + d)];
            faults += !(std::abs(found - wanted[static_cast<std::size_t>(d)]) < 4e-6);
          }
          faults += out[static_cast<std::size_t>(i * v_stride + size.value_depth)] != not_written;
        }
        CHECK(faults == 0);
      }
    }
  });
}

}  // namespace onnxkit::tests::cpu_rows
