#include "libonnxkit/cuda/double_products.h"

#include <algorithm>
#include <cstring>

namespace onnxkit::cuda {
namespace {

using Matrix = exec::StridedMatrix<const double>;

constexpr std::uint32_t a_buffer = 0, b_buffer = 1, c_buffer = 2;

template <class T>
bool is_out_of_memory(const Result<T>& result) {
  return !result && result.error().diagnostic.code == "out-of-memory";
}

bool has_lines(const Matrix& x) { return x.row_stride == 1 || x.column_stride == 1; }
bool is_by_columns(const Matrix& x) { return x.column_stride != 1; }

plan::View matrix_view(std::uint32_t buffer, std::int64_t rows, std::int64_t columns, bool by_columns) {
  return {.buffer = buffer,
          .type = ElementType::float64,
          .offset = 0,
          .dims = {rows, columns},
          .strides = by_columns ? Dims{1, rows} : Dims{columns, 1}};
}

/// The numbers line after line without gaps: where they are, or a copy. Precondition: has_lines.
Tensor without_gaps(const Matrix& x) {
  const bool by_columns = is_by_columns(x);
  const std::int64_t lines = by_columns ? x.columns : x.rows, length = by_columns ? x.rows : x.columns;
  const std::int64_t stride = by_columns ? x.column_stride : x.row_stride;
  if (stride == length || lines == 1) {
    const auto bytes = std::as_bytes(std::span(x.data, static_cast<std::size_t>(lines * length)));
    return *Tensor::view(ElementType::float64, {lines, length}, bytes, nullptr);
  }
  const auto line_bytes = static_cast<std::size_t>(length) * sizeof(double);
  std::vector<std::byte> copy(static_cast<std::size_t>(lines) * line_bytes);
  for (std::int64_t line = 0; line < lines; ++line)
    std::memcpy(copy.data() + static_cast<std::size_t>(line) * line_bytes, x.data + line * stride, line_bytes);
  return *Tensor::from_bytes(ElementType::float64, {lines, length}, std::move(copy));
}

void store(const Tensor& product, const exec::StridedMatrix<double>& c, bool accumulate) {
  std::vector<double> row(static_cast<std::size_t>(c.columns));
  for (std::int64_t r = 0; r < c.rows; ++r) {
    std::memcpy(row.data(), product.bytes().data() + static_cast<std::size_t>(r) * row.size() * sizeof(double),
                row.size() * sizeof(double));
    double* const to = c.data + r * c.row_stride;
    for (std::int64_t j = 0; j < c.columns; ++j) {
      double& element = to[j * c.column_stride];
      element = row[static_cast<std::size_t>(j)] + (accumulate ? element : 0.0);
    }
  }
}

}  // namespace

plan::Plan DoubleProducts::plan_of(const Sizes& sizes) {
  plan::Plan plan;
  const auto bytes = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<std::uint64_t>(rows * columns) * sizeof(double);
  };
  const auto add = [&](plan::Home home, std::uint64_t size, std::size_t index) {
    plan.buffers.push_back({.home = home, .type = ElementType::float64, .bytes = size, .offset = 0, .index = index});
  };
  add(plan::Home::input, bytes(sizes.m, sizes.k), 0);
  add(plan::Home::input, bytes(sizes.k, sizes.n), 1);
  add(plan::Home::output, bytes(sizes.m, sizes.n), 0);
  plan.inputs = {{.name = "a", .buffer = a_buffer, .type = ElementType::float64, .dims = {sizes.m, sizes.k}},
                 {.name = "b", .buffer = b_buffer, .type = ElementType::float64, .dims = {sizes.k, sizes.n}}};
  plan.outputs = {{.name = "c", .buffer = c_buffer, .type = ElementType::float64, .dims = {sizes.m, sizes.n}}};
  plan.steps.push_back({.kind = plan::product_step,
                        .inputs = {matrix_view(a_buffer, sizes.m, sizes.k, sizes.a_by_columns),
                                   matrix_view(b_buffer, sizes.k, sizes.n, sizes.b_by_columns)},
                        .outputs = {matrix_view(c_buffer, sizes.m, sizes.n, false)},
                        .parameters = std::make_shared<plan::ProductParameters>()});
  return plan;
}

bool DoubleProducts::is_worth_it(const Sizes& sizes, bool is_shared) const {
  const double m = static_cast<double>(sizes.m), k = static_cast<double>(sizes.k), n = static_cast<double>(sizes.n);
  if (m * k * n < static_cast<double>(least_work_)) return false;
  // What a core does while the bus moves a number; and how many products have b in common, at least.
  constexpr double multiplications_of_a_number = 12, products_of_shared = 4;
  const double moved = m * k + m * n + k * n / (is_shared ? products_of_shared : 1);
  return least_work_ == 0 || m * k * n > multiplications_of_a_number * cores_ * moved;
}

Result<DoubleProducts::Entry*> DoubleProducts::entry_for(const Sizes& sizes) {
  const auto known =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.sizes == sizes; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return &entries_.front();
  }
  if (std::ranges::find(too_large_, sizes) != too_large_.end()) return nullptr;
  plan::HostNodes none;  // the plan has no node that could run on the host
  const exec::RunRequest request;
  const plan::PlannedRun unlimited{.request = request};
  auto made = ReadyPlan::make(plan_of(sizes), *shared_, none, unlimited);
  if (is_out_of_memory(made) && !entries_.empty()) {
    entries_.clear();
    made = ReadyPlan::make(plan_of(sizes), *shared_, none, unlimited);
  }
  if (is_out_of_memory(made)) {
    too_large_.push_back(sizes);
    return nullptr;
  }
  if (!made) return made.error();
  constexpr std::size_t most_entries = 8;
  if (entries_.size() == most_entries) entries_.pop_back();
  entries_.push_front({.sizes = sizes, .plan = *std::move(made)});
  return &entries_.front();
}

Result<bool> DoubleProducts::multiply(const Matrix& a, const Matrix& b, const exec::StridedMatrix<double>& c,
                                      bool accumulate, const std::shared_ptr<const void>& token) {
  const Sizes sizes{
      .m = a.rows, .k = a.columns, .n = b.columns, .a_by_columns = is_by_columns(a), .b_by_columns = is_by_columns(b)};
  if (sizes.m == 0 || sizes.k == 0 || sizes.n == 0) return false;
  if (!has_lines(a) || !has_lines(b) || !is_worth_it(sizes, token != nullptr)) return false;
  // Where kernels multiply on many threads at once, one has the device and the others do not wait for it.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  auto found = entry_for(sizes);
  if (!found) return found.error();
  if (!*found) return false;
  Entry& entry = **found;
  const bool has_b = token && entry.token == token && entry.b == b;
  entry.token = nullptr;
  const Value inputs[] = {without_gaps(a), has_b ? Value() : Value(without_gaps(b))};
  const exec::RunRequest request;
  auto outputs = entry.plan->run(
      inputs, {.request = request, .unchanged_input = has_b ? std::optional<std::size_t>(b_buffer) : std::nullopt});
  if (is_out_of_memory(outputs)) return false;
  if (!outputs) return outputs.error();
  entry.token = token;
  entry.b = b;
  store(outputs->front().tensor, c, accumulate);
  return true;
}

}  // namespace onnxkit::cuda
