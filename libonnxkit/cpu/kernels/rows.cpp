// Poolings, rows, functions and attention: how the work is divided.
#include <algorithm>

#include "libonnxkit/cpu/kernels/grain.h"
#include "libonnxkit/cpu/kernels/isa.h"
#include "libonnxkit/cpu/kernels/pixels.inc"

namespace onnxkit::cpu {
namespace {

using std::int64_t;

Rows rows_from(const Rows& rows, int64_t first, int64_t last) {
  Rows part = rows;
  part.from += first * rows.from_stride;
  part.to += first * rows.to_stride;
  part.rows = last - first;
  return part;
}

}  // namespace

void pool(ThreadPool& threads, const Pooling& pooling, const float* in, float* out, const Isa& isa) {
  const Window& window = pooling.window;
  threads.for_range(pixels_of(window), grain_for(taps_of(window) * window.channels), [&](int64_t first, int64_t last) {
    isa.pool(pooling, in, {first, last - first}, out);
  });
}

void softmax_rows(ThreadPool& threads, const Rows& rows, const Isa& isa) {
  threads.for_range(rows.rows, grain_for(rows.columns),
                    [&](int64_t first, int64_t last) { isa.softmax(rows_from(rows, first, last)); });
}

void log_softmax_rows(ThreadPool& threads, const Rows& rows, const Isa& isa) {
  threads.for_range(rows.rows, grain_for(rows.columns),
                    [&](int64_t first, int64_t last) { isa.log_softmax(rows_from(rows, first, last)); });
}

void normalize_rows(ThreadPool& threads, const Rows& rows, const Normalization& normalization, const Isa& isa) {
  threads.for_range(rows.rows, grain_for(rows.columns),
                    [&](int64_t first, int64_t last) { isa.normalize(rows_from(rows, first, last), normalization); });
}

void reduce_rows(ThreadPool& threads, Reduction reduction, const float* from, int64_t row_stride, int64_t rows,
                 int64_t columns, float* to, const Isa& isa) {
  threads.for_range(rows, grain_for(columns), [&](int64_t first, int64_t last) {
    isa.reduce_rows(reduction, from + first * row_stride, row_stride, last - first, columns, to + first);
  });
}

void reduce_columns(ThreadPool& threads, Reduction reduction, const float* from, int64_t row_stride, int64_t rows,
                    int64_t columns, float* to, const Isa& isa) {
  // Whole cache lines for each thread.
  constexpr int64_t together = 64;
  threads.for_range((columns + together - 1) / together, grain_for(rows * together), [&](int64_t first, int64_t last) {
    const int64_t begin = first * together, end = std::min(last * together, columns);
    isa.reduce_columns(reduction, from + begin, row_stride, rows, end - begin, to + begin);
  });
}

namespace {

template <class T, class Reduce>
void reduce_number_rows(ThreadPool& threads, const NumberRows<T>& rows, const Reduce& reduce) {
  threads.for_range(rows.rows, grain_for(rows.columns), [&](int64_t first, int64_t last) {
    NumberRows<T> part = rows;
    part.from += first * rows.row_stride;
    part.to += first;
    part.rows = last - first;
    reduce(part);
  });
}
template <class T, class Reduce>
void reduce_number_columns(ThreadPool& threads, const NumberRows<T>& rows, const Reduce& reduce) {
  constexpr int64_t together = 64;
  threads.for_range((rows.columns + together - 1) / together, grain_for(rows.rows * together),
                    [&](int64_t first, int64_t last) {
                      NumberRows<T> part = rows;
                      part.from += first * together;
                      part.to += first * together;
                      part.columns = std::min(last * together, rows.columns) - first * together;
                      reduce(part);
                    });
}

template <class T>
void reduce_numbers(ThreadPool& threads, const NumberRows<T>& rows, const auto& reduce) {
  return rows.by_columns ? reduce_number_columns<T>(threads, rows, reduce)
                         : reduce_number_rows<T>(threads, rows, reduce);
}
void reduce(ThreadPool& threads, Reduction reduction, const NumberRows<double>& rows, const Isa& isa) {
  reduce_numbers(threads, rows, [&](const NumberRows<double>& part) { isa.reduce_doubles(reduction, part); });
}
void reduce(ThreadPool& threads, Reduction reduction, const NumberRows<int64_t>& rows, const Isa& isa) {
  reduce_numbers(threads, rows, [&](const NumberRows<int64_t>& part) { isa.reduce_integers(reduction, part); });
}

}  // namespace

void reduce_rows(ThreadPool& threads, Reduction reduction, const double* from, int64_t row_stride, int64_t rows,
                 int64_t columns, double* to, const Isa& isa) {
  reduce(threads, reduction, NumberRows<double>{from, row_stride, rows, columns, to, false}, isa);
}
void reduce_columns(ThreadPool& threads, Reduction reduction, const double* from, int64_t row_stride, int64_t rows,
                    int64_t columns, double* to, const Isa& isa) {
  reduce(threads, reduction, NumberRows<double>{from, row_stride, rows, columns, to, true}, isa);
}
void reduce_rows(ThreadPool& threads, Reduction reduction, const int64_t* from, int64_t row_stride, int64_t rows,
                 int64_t columns, int64_t* to, const Isa& isa) {
  reduce(threads, reduction, NumberRows<int64_t>{from, row_stride, rows, columns, to, false}, isa);
}
void reduce_columns(ThreadPool& threads, Reduction reduction, const int64_t* from, int64_t row_stride, int64_t rows,
                    int64_t columns, int64_t* to, const Isa& isa) {
  reduce(threads, reduction, NumberRows<int64_t>{from, row_stride, rows, columns, to, true}, isa);
}

int64_t places_of_best(bool is_largest, const float* from, int64_t count, float bound, int64_t* places,
                       const Isa& isa) {
  return isa.places_of_best(is_largest, from, count, bound, places);
}

void transpose(float* to, const float* from, int64_t rows, int64_t columns, int64_t to_row, int64_t from_column,
               const Isa& isa) {
  isa.transpose(to, from, rows, columns, to_row, from_column);
}

ArrayFunction* array_function(Function function, const Isa& isa) { return isa.functions[static_cast<int>(function)]; }

std::int64_t attention_scratch_floats(const Attention& attention, const Isa& isa) {
  return isa.attention_scratch(attention);
}
void attend(const Attention& attention, float* scratch, const Isa& isa) { isa.attend(attention, scratch); }

void linear_attend(const LinearAttention& attention, const Isa& isa) { isa.linear_attend(attention); }

bool weighted_gather(const WeightedGather& gather, const Isa& isa) { return isa.weighted_gather(gather); }

}  // namespace onnxkit::cpu
