// NVIDIA's own libraries, as far as they go without a device. What they refuse here they would refuse on a GPU.
#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "libonnxkit/cuda/libraries/cublaslt.h"
#include "libonnxkit/cuda/libraries/cudnn_library.h"
#include "tests/cuda_libraries/support.h"

namespace onnxkit::cuda_libraries::installed_tests {
namespace {

using plan::Expression;
using plan::Lane;
using plan::Operation;

std::string h100() {
  std::ifstream file(ONNXKIT_TESTDATA "/cuda_libraries/h100.json");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Null when cuDNN is not installed or is too old for devices that are not there.
std::unique_ptr<cuda::Library> cudnn_for_h100() {
  auto library = cuda::open_cudnn_for(installed(), h100());
  if (library) return *std::move(library);
  std::printf("skipped: %s\n", library.error().diagnostic.message.c_str());
  return nullptr;
}

struct Case {
  ElementType type = ElementType::float32;
  bool allows_tf32 = false;
  std::int64_t channels = 64, filters = 64, groups = 1, kernel = 3, stride = 1;
  std::vector<std::string_view> epilogue = {};
};

View channels_last(View view) {
  const Dims& d = view.dims;
  view.strides = {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]};
  return view;
}

struct Convolution {
  Scene scene;
  plan::Step step;

  explicit Convolution(const Case& c) {
    const std::int64_t size = 56, out = size / c.stride;
    const View x = channels_last(scene.make(c.type, {1, c.channels, size, size}));
    const View w = channels_last(scene.make(c.type, {c.filters, c.channels / c.groups, c.kernel, c.kernel}));
    const View y = channels_last(scene.make(c.type, {1, c.filters, out, out}));
    auto p = std::make_shared<plan::ConvolutionParameters>();
    p->groups = c.groups;
    p->strides = {c.stride, c.stride};
    p->dilations = {1, 1};
    const std::int64_t pad = (c.kernel - 1) / 2;
    p->pads = {pad, pad, pad, pad};
    step = {.kind = plan::convolution_step, .inputs = {x, w}, .outputs = {y}};
    if (!c.epilogue.empty()) add_epilogue(p->epilogue, c, y);
    step.parameters = p;
  }

  void add_epilogue(Expression& e, const Case& c, const View& y) {
    const Lane lane = plan::lane_of(c.type);
    auto now = e.input(0, lane);
    for (const std::string_view what : c.epilogue) {
      if (what == "relu") now = e.apply(Operation::maximum, now, e.constant(lane, 0));
      if (what == "relu6") {
        now = e.apply(Operation::maximum, now, e.constant(lane, 0));
        now = e.apply(Operation::minimum, now, e.constant(lane, 6));
      }
      if (what == "swish") now = e.apply(Operation::multiply, now, e.apply(Operation::sigmoid, now));
      if (what != "bias" && what != "add") continue;
      now = e.apply(Operation::add, now, e.input(step.inputs.size() - 1, lane));
      const View bias = scene.make(c.type, {c.filters, 1, 1});
      step.inputs.push_back(what == "bias" ? plan::broadcast_to(bias, y.dims)
                                           : channels_last(scene.make(c.type, y.dims)));
    }
  }

  /// What cuDNN makes of it for an H100.
  std::string outcome(cuda::Library& library, bool allows_tf32) {
    auto made = library.prepare(step, {.plan = scene.plan, .allows_tf32 = allows_tf32});
    if (!made) return made.error().diagnostic.message;
    return made->rest ? "in part, then " + made->rest->parameters->text() : "whole";
  }
};

std::string outcome(cuda::Library& library, const Case& c) { return Convolution(c).outcome(library, c.allows_tf32); }

}  // namespace

TEST_SUITE("installed") {
  TEST_CASE("cuDNN has engines for convolutions on an H100, in float32 none with tensor cores") {
    const auto library = cudnn_for_h100();
    if (!library) return;
    constexpr auto f16 = ElementType::float16, bf16 = ElementType::bfloat16;
    CHECK(outcome(*library, {}) == "whole");
    CHECK(outcome(*library, {.epilogue = {"bias"}}) == "whole");
    CHECK(outcome(*library, {.epilogue = {"bias", "relu"}}) == "whole");
    CHECK(outcome(*library, {.epilogue = {"bias", "add", "relu"}}) == "whole");
    CHECK(outcome(*library, {.epilogue = {"add", "bias", "relu"}}) == "whole");
    CHECK(outcome(*library, {.allows_tf32 = true, .epilogue = {"bias", "relu"}}) == "whole");
    CHECK(outcome(*library, {.groups = 64, .epilogue = {"bias", "relu"}}) == "whole");
    CHECK(outcome(*library, {.kernel = 1, .stride = 2, .epilogue = {"bias", "relu"}}) == "whole");
    CHECK(outcome(*library, {.channels = 3, .kernel = 7, .stride = 2, .epilogue = {"bias", "relu"}}) == "whole");
    CHECK(outcome(*library, {.type = f16}) == "whole");
    CHECK(outcome(*library, {.type = f16, .epilogue = {"bias", "relu"}}) == "whole");
    CHECK(outcome(*library, {.type = f16, .epilogue = {"bias", "add", "relu"}}) == "whole");
    CHECK(outcome(*library, {.type = bf16, .epilogue = {"bias", "relu"}}) == "whole");
    CHECK(outcome(*library, {.type = ElementType::float64}) == "whole");
    CHECK(outcome(*library, {.epilogue = {"bias", "relu6"}}) == "in part, then min(x0, 6)");
    // Engines that compile at run time need a driver, so other epilogues are maps here.
    CHECK(outcome(*library, {.epilogue = {"bias", "swish"}}) == "in part, then mul(x0, sigmoid(x0))");
  }

  TEST_CASE(
      "cuDNN takes the graph of an attention; its engines are compiled at run time, for which it wants a driver") {
    const auto library = cudnn_for_h100();
    if (!library) return;
    for (const bool is_causal : {false, true}) {
      Scene scene;
      auto p = std::make_shared<plan::AttentionParameters>();
      p->scale = 0.125;
      p->is_causal = is_causal;
      const Dims dims = {2, 8, 256, 64};
      plan::Step step{.kind = plan::attention_step, .inputs = {}, .outputs = {}, .parameters = p};
      for (int i = 0; i < 3; ++i) step.inputs.push_back(scene.make(ElementType::float16, dims));
      step.outputs.push_back(scene.make(ElementType::float16, dims));
      auto made = library->prepare(step, {.plan = scene.plan});
      CHECK((made ? "whole" : made.error().diagnostic.message) == "cuDNN has no engine for it");
    }
  }

  TEST_CASE("a device of another description has other engines or none") {
    if (!cudnn_for_h100()) return;
    auto library = cuda::open_cudnn_for(installed(), "{}");
    REQUIRE(!library);
    CHECK(library.error().diagnostic.code == "not-supported");
  }

  TEST_CASE("cuBLASLt takes the attributes that onnxkit sets") {
    const auto functions = cuda::cublaslt::open(installed(), 0);
    if (!functions) {
      std::printf("skipped: %s\n", functions.error().diagnostic.message.c_str());
      return;
    }
    using namespace cuda::cublaslt;
    cuda::cublaslt::Operation operation = nullptr;
    REQUIRE(functions->create_operation(&operation, ComputeType::tf32, DataType::f32) == success);
    const auto set = [&](OperationAttribute name, auto value) {
      return functions->set_operation(operation, name, &value, sizeof(value));
    };
    CHECK(set(OperationAttribute::transpose_a, Transpose::transposed) == success);
    CHECK(set(OperationAttribute::transpose_b, Transpose::none) == success);
    CHECK(set(OperationAttribute::epilogue, Epilogue::gelu_bias) == success);
    CHECK(set(OperationAttribute::bias_type, DataType::bf16) == success);
    CHECK(set(OperationAttribute::bias_stride, std::int64_t{8}) == success);
    CHECK(set(OperationAttribute::bias_pointer, std::uintptr_t{16}) == success);
    CHECK(set(OperationAttribute::epilogue, std::uint64_t{1}) == invalid_value);
    functions->destroy_operation(operation);
    Layout layout = nullptr;
    REQUIRE(functions->create_layout(&layout, DataType::f16, 4, 5, 8) == success);
    const auto set_layout = [&](LayoutAttribute name, auto value) {
      return functions->set_layout(layout, name, &value, sizeof(value));
    };
    CHECK(set_layout(LayoutAttribute::order, Order::columns) == success);
    CHECK(set_layout(LayoutAttribute::batches, std::int32_t{3}) == success);
    CHECK(set_layout(LayoutAttribute::stride, std::int64_t{0}) == success);
    CHECK(set_layout(LayoutAttribute::batches, std::int64_t{3}) == invalid_value);
    functions->destroy_layout(layout);
    Preference preference = nullptr;
    REQUIRE(functions->create_preference(&preference) == success);
    const auto set_preference = [&](PreferenceAttribute name, auto value) {
      return functions->set_preference(preference, name, &value, sizeof(value));
    };
    CHECK(set_preference(PreferenceAttribute::most_workspace, std::uint64_t{1} << 20) == success);
    for (const auto name : {PreferenceAttribute::alignment_a, PreferenceAttribute::alignment_b,
                            PreferenceAttribute::alignment_c, PreferenceAttribute::alignment_d})
      CHECK(set_preference(name, std::uint32_t{16}) == success);
    functions->destroy_preference(preference);
  }
}

}  // namespace onnxkit::cuda_libraries::installed_tests
