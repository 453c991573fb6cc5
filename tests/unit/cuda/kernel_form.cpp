#include "libonnxkit/cuda/text/kernel_form.h"

#include <doctest/doctest.h>

#include "libonnxkit/cuda/kernel_store.h"

namespace onnxkit::tests::cuda_kernel_form {
namespace {

using cuda::KernelForm;
using Numbers = std::vector<std::int64_t>;

std::string with_all(const KernelForm& form) {
  return form.with_parameters(std::vector<bool>(form.numbers().size(), true));
}

}  // namespace

TEST_CASE("the whole numbers of a kernel are apart from its form") {
  const KernelForm form("(const float* x0, float* y) {\n  y[c1 * 12 + 3] = x0[at % 77u] * 0.5f + (float)5LL;\n}\n");
  CHECK(form.numbers() == Numbers{12, 3, 77, 5});
  CHECK(with_all(form) ==
        "(const float* x0, float* y, const int number_0, const int number_1, const unsigned number_2, const long long "
        "number_3) {\n  y[c1 * number_0 + number_1] = x0[at % number_2] * 0.5f + (float)number_3;\n}\n");
  CHECK(form.with_parameters({false, true, false, false}) ==
        "(const float* x0, float* y, const int number_1) {\n  y[c1 * 12 + number_1] = x0[at % 77u] * 0.5f + "
        "(float)5LL;\n}\n");
}

TEST_CASE("numbers of other values and of the same types have the same form") {
  const auto key = [](const char* text) { return KernelForm(text).key(); };
  CHECK(key("(float* y) { y[at % 77u] = 1; }") == key("(float* y) { y[at % 123456u] = 0; }"));
  CHECK(key("(float* y) { y[at % 77u] = 1; }") != key("(float* y) { y[at % 77] = 1; }"));
  CHECK(key("(float* y) { y[at + 2147483647] = 1; }") != key("(float* y) { y[at + 2147483648] = 1; }"));
  CHECK(key("(float* y) { y[at] = 0.25f; }") != key("(float* y) { y[at] = 0.5f; }"));
  CHECK(key("(float* y) { y[at] = 1e-05f; }") != key("(float* y) { y[at] = 1e-06f; }"));
}

TEST_CASE("what has to be known when a kernel is compiled stays in the form") {
  const KernelForm form(
      "(float* y) {\n  Number sums[8] = {};\n  Pack<float, 4> p;\n#pragma unroll 2\n"
      "  for (int i = 0; i < 16; ++i) r = combined<32, Sum<Number>>(r);\n}\n");
  CHECK(form.numbers() == Numbers{0, 16});
  CHECK(KernelForm("(float* y) { y[0] = 0x1p-24f + 9223372036854775808ull; }").numbers().empty());
  CHECK(KernelForm("(const float* number_1) { number_1[at + 3]; }").numbers().empty());
}

TEST_CASE("the third size of a step gets a kernel whose numbers are parameters") {
  cuda::KernelStore store;
  plan::Step step{.kind = plan::copy_step, .nodes = {"a"}}, other{.kind = plan::copy_step, .nodes = {"b"}};
  const auto wanted = [&](const char* text, const plan::Step& of) {
    store.begin_plan();
    return store.wanted({.text = text}, of);
  };
  CHECK(wanted("(float* y) { y[at % 5u] = 3; }", step).source.text == "(float* y) { y[at % 5u] = 3; }");
  CHECK(wanted("(float* y) { y[at % 6u] = 3; }", step).numbers.empty());
  CHECK(wanted("(float* y) { y[at % 6u] = 3; }", step).numbers.empty());
  for (const int size : {7, 8}) {
    const auto text = "(float* y) { y[at % " + std::to_string(size) + "u] = 3; }";
    const auto third = wanted(text.c_str(), step);
    CHECK(third.source.text == "(float* y, const unsigned number_0) { y[at % number_0] = 3; }");
    CHECK(third.numbers == Numbers{size});
  }
  CHECK(wanted("(float* y) { y[at % 5u] = 3; }", step).numbers.empty());
  CHECK(wanted("(float* y) { y[at % 9u] = 3; }", other).numbers.empty());
  store.give_up_parameters();
  CHECK(wanted("(float* y) { y[at % 9u] = 3; }", step).numbers.empty());
}

}  // namespace onnxkit::tests::cuda_kernel_form
