#include "tests/unit/cpu/kernels_support.h"

namespace onnxkit::tests::cpu_weighted_gather {

using namespace cpu_kernels;

namespace {

/// Points that take some of the rows, each a few times, and a few none at all.
struct Points {
  int64_t rows, points, taps, columns;
  bool is_planar = false;  ///< rows lie side by side, not columns
  bool takes_greatest = false;
  Floats data = {}, weights = {};
  std::vector<int64_t> positions = {};

  void fill(std::uint64_t seed) {
    data = random_floats(rows * columns, seed);
    weights = random_floats(points * taps, seed + 1);
    std::mt19937_64 generator(seed);
    for (int64_t i = 0; i < points * taps; ++i)
      positions.push_back(static_cast<int64_t>(generator() % static_cast<std::uint64_t>(rows + 1)) - 1);
    for (int64_t t = 0; t < taps; ++t) positions[static_cast<std::size_t>(t * points)] = -1;
  }

  /// Taps of a point lie `points` apart, as lowerings write them.
  cpu::WeightedGather gather(Floats& y) const {
    return {.data = data.data(),
            .rows = rows,
            .row_stride = is_planar ? 1 : columns,
            .column_stride = is_planar ? rows : 1,
            .positions = positions.data(),
            .position_stride = 1,
            .position_tap_stride = points,
            .weights = weights.data(),
            .weight_stride = taps,
            .weight_tap_stride = 1,
            .points = points,
            .taps = taps,
            .columns = columns,
            .y = y.data(),
            .y_stride = is_planar ? 1 : columns,
            .y_column_stride = is_planar ? points : 1,
            .takes_greatest = takes_greatest};
  }

  bool holds(const Floats& y, int64_t point, int64_t column) const {
    Sum sum;
    double greatest = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t at = positions[static_cast<std::size_t>(t * points + point)];
      if (at < 0) continue;
      const int64_t place = is_planar ? column * rows + at : at * columns + column;
      const double term = static_cast<double>(weights[static_cast<std::size_t>(point * taps + t)]) *
                          data[static_cast<std::size_t>(place)];
      greatest = sum.terms == 0 ? term : std::max(greatest, term);
      sum.add(term);
    }
    const double found = y[static_cast<std::size_t>(is_planar ? column * points + point : point * columns + column)];
    return std::abs(found - (takes_greatest ? greatest : sum.value)) <= sum.bound();
  }

  int64_t faults(const cpu::Isa& isa) const {
    Floats y = filled(points * columns);
    if (!cpu::weighted_gather(gather(y), isa)) return -1;
    int64_t count = 0;
    for (int64_t point = 0; point < points; ++point)
      for (int64_t column = 0; column < columns; ++column) count += !holds(y, point, column);
    return count;
  }
};

}  // namespace

TEST_CASE("points are sums of rows, or the greatest of them, wherever rows and columns lie") {
  on_each_isa([](const cpu::Isa& isa) {
    for (const int64_t columns : {1, 3, 5, 16, 64, 71, 130}) {
      for (const int64_t count : {1, 7, 128, 300}) {
        for (const int which : {0, 1, 2, 3}) {
          Points points{.rows = 9,
                        .points = count,
                        .taps = 5,
                        .columns = columns,
                        .is_planar = which % 2 == 1,
                        .takes_greatest = which >= 2};
          points.fill(static_cast<std::uint64_t>(columns * 10 + which));
          CAPTURE(columns);
          CAPTURE(count);
          CAPTURE(which);
          CHECK(points.faults(isa) == 0);
        }
      }
    }
  });
}

TEST_CASE("a row that is left out adds nothing, though it is infinite; one behind the last is told") {
  on_each_isa([](const cpu::Isa& isa) {
    for (const bool is_planar : {false, true}) {
      Points points{.rows = 2, .points = 1, .taps = 2, .columns = 2, .is_planar = is_planar};
      points.data = {INFINITY, 3, is_planar ? INFINITY : 3.0F, 3};
      if (!is_planar) points.data = {INFINITY, INFINITY, 3, 3};
      points.weights = {0, 2};
      points.positions = {-1, 1};
      Floats y = filled(2);
      CHECK(cpu::weighted_gather(points.gather(y), isa));
      CHECK(y == Floats{6, 6});
      points.positions[0] = 2;
      CHECK(!cpu::weighted_gather(points.gather(y), isa));
    }
  });
}

}  // namespace onnxkit::tests::cpu_weighted_gather
