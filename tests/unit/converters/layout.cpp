#include "converters/layout/layout.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "converters/layout/channels_last.h"
#include "converters/layout/minimum_cut.h"
#include "converters/layout/permutation.h"
#include "libonnxkit/ir/scope.h"
#include "onnxkit/check.h"
#include "onnxkit/run.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::converters_layout {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// In all graphs.
std::size_t transposes(const ir::Model& model) {
  std::size_t count = 0;
  for (const auto& scope : ir::graph_scopes(model))
    for (const ir::Node& node : scope->graph->nodes) count += node.op_type == "Transpose";
  return count;
}

void check_same_results(const Model& before, const Model& after, bool has_free_sizes) {
  RunOptions options;
  if (has_free_sizes) options.dims = {{"H", 5}, {"W", 6}};
  const auto expected = run(before, {}, options), got = run(after, {}, options);
  REQUIRE(expected);
  REQUIRE_MESSAGE(got, (got ? "" : got.error().diagnostic.message));
  REQUIRE(expected->outputs.size() == got->outputs.size());
  for (std::size_t i = 0; i < got->outputs.size(); ++i) {
    const auto a = to_reals(expected->outputs[i].value.tensor), b = to_reals(got->outputs[i].value.tensor);
    CHECK(expected->outputs[i].name == got->outputs[i].name);
    REQUIRE(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k) CHECK(b[k] == doctest::Approx(a[k]).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("layout: models become what testdata/layout shows, and compute the same") {
  const fs::path folder = fs::path(ONNXKIT_TESTDATA) / "layout";
  std::size_t cases = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnxtxt") continue;
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    const std::string source = content_of(entry.path());
    const Model before = parse_model(source);
    Model after = parse_model(source);
    const std::size_t count = transposes(before.ir());
    const std::size_t fewer = layout::reduce_transposes(after.ir());
    CHECK(transposes(after.ir()) + fewer == count);
    const std::string text = wire::print_text(after.ir());
    const fs::path expected = folder / "after" / entry.path().filename();
    if (std::getenv("ONNXKIT_REBASE") != nullptr) std::ofstream(expected, std::ios::binary) << text;
    CHECK(text == content_of(expected));
    const auto checked = check(after);
    REQUIRE(checked);
    CHECK(checked->diagnostics.empty());
    check_same_results(before, after, name == "sizes");
    ++cases;
  }
  CHECK(cases >= 7);
}

TEST_CASE("layout: channels last") {
  const std::string source = R"(<ir_version: 8, opset_import: ["" : 17]>
    main (float[1, 4, 6, 6] x, float[1, 2, 8] s, float[1, 1, 4, 4, 4] v, float[4, 2, 3, 3] w, float[4] bias,
          float[4, 2, 2, 2] t, float[3, 2, 3] u, float[2, 1, 2, 2, 2] z)
        => (float[A, B, C, D] a, float[1, 3, E] b, float[F, G, H, I, J] c) <float[4] scales = {1, 1, 2, 2}> {
      conv = Conv <group = 2, pads = [1, 1, 1, 1]> (x, w, bias)
      active = Relu (conv)
      pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (active)
      mean = AveragePool <kernel_shape = [2, 2], pads = [1, 1, 0, 0]> (pooled)
      larger = Resize <mode = "linear"> (mean, , scales)
      normal = LRN <size = 3> (larger)
      up = ConvTranspose <strides = [2, 2]> (normal, t)
      deep = SpaceToDepth <blocksize = 2> (up)
      a = DepthToSpace <blocksize = 2> (deep)
      b = Conv <auto_pad = "SAME_UPPER"> (s, u)
      c = Conv (v, z)
    })";
  const Model before = parse_model(source);
  Model after = parse_model(source);
  layout::to_channels_last(after.ir());
  const auto checked = check(after);
  REQUIRE(checked);
  CHECK(checked->diagnostics.empty());
  check_same_results(before, after, false);
  layout::reduce_transposes(after.ir());
  check_same_results(before, after, false);
  std::size_t left = 0;
  for (const ir::Node& node : after.ir().graph->nodes) left += node.op_type == "Transpose";
  CHECK(left == 6);  // around each of the three chains
}

TEST_CASE("layout: permutations") {
  using namespace layout;
  const Permutation first = {0, 3, 1, 2}, back = {0, 2, 3, 1};
  CHECK(is_identity(composed(first, back)));
  CHECK(inverse_of(first) == back);
  CHECK(without_axes(first, {1}) == Permutation{0, 2, 1});
  CHECK(with_axes({0, 2, 1}, {1}, 4) == Permutation{0, 3, 1, 2});
  CHECK(without_axes(first, {1, 2}) == Permutation{0, 1});
  CHECK_FALSE(is_permutation(Permutation{0, 0, 1}, 3));
  CHECK_FALSE(is_permutation(Permutation{0, 3, 1}, 3));
}

TEST_CASE("layout: a choice of least cost") {
  layout::BinaryChoice choice(3);
  choice.add_cost(0, 5, 0);  // 0 would rather be 1
  choice.add_cost(2, 0, 3);  // 2 would rather be 0
  for (const auto& [a, b, cost] : {std::tuple{0, 1, 4}, std::tuple{1, 2, 2}}) {
    choice.add_cost_of_difference(static_cast<std::size_t>(a), static_cast<std::size_t>(b), cost);
    choice.add_cost_of_difference(static_cast<std::size_t>(b), static_cast<std::size_t>(a), cost);
  }
  CHECK(choice.least() == std::vector<bool>{true, true, false});
}

}  // namespace onnxkit::tests::converters_layout
