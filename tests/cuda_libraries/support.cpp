#include "tests/cuda_libraries/support.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/cuda_libraries/memory.h"

namespace onnxkit::cuda_libraries {
namespace {

constexpr std::size_t alignment = 256;

std::int64_t offset_of(const View& view, const Dims& index) {
  std::int64_t offset = view.offset;
  for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
  return offset;
}

std::byte* aligned(std::vector<std::byte>& memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (alignment - address % alignment) % alignment;
}

/// The epilogue of the sum at an index of the output; further inputs from `first` on.
double finished(Scene& scene, const plan::Step& step, const plan::Expression& epilogue, double sum, const Dims& index) {
  if (epilogue.empty()) return sum;
  std::vector<double> inputs = {sum};
  for (std::size_t i = 2; i < step.inputs.size(); ++i) inputs.push_back(scene.at(step.inputs[i], index));
  return value_of(epilogue, inputs);
}

}  // namespace

LibraryPlaces stand_ins() { return {.folders = {ONNXKIT_STAND_INS}}; }

LibraryPlaces installed() {
  const char* const own = std::getenv("CUDA_HOME");
  const std::filesystem::path root = own ? own : "/usr/local/cuda";
  return {.folders = {root / "lib64", root / "lib", {}}};
}

View Scene::make(ElementType type, const Dims& dims) {
  const std::int64_t count = plan::element_count(dims);
  memory_.emplace_back(static_cast<std::size_t>(count * width_of(type)) + alignment);
  const View view{.buffer = static_cast<std::uint32_t>(plan.buffers.size()),
                  .type = type,
                  .dims = dims,
                  .strides = plan::row_major_strides(dims)};
  plan.buffers.push_back({.home = plan::Home::input,
                          .type = type,
                          .bytes = static_cast<std::uint64_t>(count * width_of(type)),
                          .index = plan.buffers.size()});
  for (std::int64_t i = 0; i < count; ++i) {
    constexpr std::uint32_t factor = 1664525, addend = 1013904223, shift = 24, middle = 128;
    state_ = state_ * factor + addend;
    set_element(type, aligned(memory_.back()), i, (static_cast<double>(state_ >> shift) - middle) / 64);
  }
  return view;
}

void* Scene::place(const View& view) { return aligned(memory_[view.buffer]) + view.offset * width_of(view.type); }

double Scene::at(const View& view, const Dims& index) {
  return element(view.type, aligned(memory_[view.buffer]), offset_of(view, index));
}

double value_of(const plan::Expression& expression, const std::vector<double>& inputs) {
  using plan::Operation;
  std::vector<double> values;
  for (const plan::Instruction& i : expression.code()) {
    const auto x = [&](int k) { return values[i.operands[k]]; };
    switch (i.operation) {
      case Operation::input:
        values.push_back(inputs[i.index]);
        break;
      case Operation::constant:
        values.push_back(i.real);
        break;
      case Operation::add:
        values.push_back(x(0) + x(1));
        break;
      case Operation::subtract:
        values.push_back(x(0) - x(1));
        break;
      case Operation::multiply:
        values.push_back(x(0) * x(1));
        break;
      case Operation::divide:
        values.push_back(x(0) / x(1));
        break;
      case Operation::maximum:
        values.push_back(std::max(x(0), x(1)));
        break;
      case Operation::minimum:
        values.push_back(std::min(x(0), x(1)));
        break;
      case Operation::tanh:
        values.push_back(std::tanh(x(0)));
        break;
      case Operation::erf:
        values.push_back(std::erf(x(0)));
        break;
      case Operation::sigmoid:
        values.push_back(1 / (1 + std::exp(-x(0))));
        break;
      case Operation::round_to:
        values.push_back(x(0));
        break;
      default:
        FAIL("no such operation in these tests: ", plan::name_of(i.operation));
    }
  }
  return values.back();
}

std::vector<Dims> indices(const Dims& dims) {
  std::vector<Dims> all;
  for (std::int64_t at = 0; at < plan::element_count(dims); ++at) {
    Dims index(dims.size());
    std::int64_t rest = at;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      index[axis] = rest % dims[axis];
      rest /= dims[axis];
    }
    all.push_back(std::move(index));
  }
  return all;
}

void run_map(Scene& scene, const plan::Step& map) {
  const auto& expression = static_cast<const plan::MapParameters&>(*map.parameters).expression;
  const View& to = map.outputs[0];
  View first = to;
  first.offset = 0;
  for (const Dims& index : indices(to.dims)) {
    std::vector<double> inputs;
    for (const View& input : map.inputs) inputs.push_back(scene.at(input, index));
    set_element(to.type, scene.place(first), offset_of(to, index), value_of(expression, inputs));
  }
}

void run(Scene& scene, const cuda::LibraryStep& step) {
  std::vector<void*> pointers;
  for (const View& view : step.call->operands()) pointers.push_back(scene.place(view));
  std::vector<std::byte> workspace(static_cast<std::size_t>(step.call->workspace_bytes()) + alignment);
  const auto queued = step.call->enqueue(nullptr, pointers, aligned(workspace));
  if (!queued) FAIL(queued.error().diagnostic.message);
  if (step.rest) run_map(scene, *step.rest);
}

double product_error(Scene& scene, const plan::Step& step, const std::vector<double>& expected) {
  double error = 0, largest = 1e-30;
  std::size_t at = 0;
  for (const Dims& index : indices(step.outputs[0].dims)) {
    largest = std::max(largest, std::abs(expected[at]));
    error = std::max(error, std::abs(scene.at(step.outputs[0], index) - expected[at++]));
  }
  return error / largest;
}

std::vector<double> expected_product(Scene& scene, const plan::Step& step) {
  const auto& epilogue = static_cast<const plan::ProductParameters&>(*step.parameters).epilogue;
  std::vector<double> all;
  for (const Dims& index : indices(step.outputs[0].dims)) {
    Dims a = index, b = index;
    double sum = 0;
    for (std::int64_t k = 0; k < step.inputs[0].dims.back(); ++k) {
      a[a.size() - 1] = k;
      b[b.size() - 2] = k;
      sum += scene.at(step.inputs[0], a) * scene.at(step.inputs[1], b);
    }
    all.push_back(finished(scene, step, epilogue, sum, index));
  }
  return all;
}

std::vector<double> expected_convolution(Scene& scene, const plan::Step& step) {
  const auto& p = static_cast<const plan::ConvolutionParameters&>(*step.parameters);
  const View &x = step.inputs[0], &w = step.inputs[1], &y = step.outputs[0];
  const std::int64_t channels = w.dims[1], filters = y.dims[1] / p.groups;
  std::vector<double> all;
  for (const Dims& index : indices(y.dims)) {
    double sum = 0;
    for (const Dims& tap : indices({channels, w.dims[2], w.dims[3]})) {
      const std::int64_t row = index[2] * p.strides[0] + tap[1] * p.dilations[0] - p.pads[0];
      const std::int64_t column = index[3] * p.strides[1] + tap[2] * p.dilations[1] - p.pads[1];
      if (row < 0 || row >= x.dims[2] || column < 0 || column >= x.dims[3]) continue;
      sum += scene.at(x, {index[0], index[1] / filters * channels + tap[0], row, column}) *
             scene.at(w, {index[1], tap[0], tap[1], tap[2]});
    }
    all.push_back(finished(scene, step, p.epilogue, sum, index));
  }
  return all;
}

std::vector<double> expected_attention(Scene& scene, const plan::Step& step) {
  const auto& p = static_cast<const plan::AttentionParameters&>(*step.parameters);
  const View &q = step.inputs[0], &k = step.inputs[1], &v = step.inputs[2];
  const std::int64_t columns = k.dims[2], sharing = q.dims[1] / k.dims[1];
  std::vector<double> all;
  for (const Dims& index : indices(step.outputs[0].dims)) {
    std::vector<double> scores;
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::int64_t i = 0; i < q.dims[3]; ++i)
        sum += scene.at(q, {index[0], index[1], index[2], i}) * scene.at(k, {index[0], index[1] / sharing, column, i});
      sum *= static_cast<double>(p.scale);
      if (step.inputs.size() > 3) sum += scene.at(step.inputs[3], {index[0], index[1], index[2], column});
      if (p.is_causal && column > index[2]) sum = -INFINITY;
      scores.push_back(sum);
    }
    const double most = *std::max_element(scores.begin(), scores.end());
    double total = 0, result = 0;
    for (std::int64_t column = 0; column < columns; ++column) {
      const double weight = std::exp(scores[static_cast<std::size_t>(column)] - most);
      total += weight;
      result += weight * scene.at(v, {index[0], index[1] / sharing, column, index[3]});
    }
    all.push_back(result / total);
  }
  return all;
}

}  // namespace onnxkit::cuda_libraries
