#include "converters/layout/layout.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "converters/layout/minimum_cut.h"
#include "converters/layout/permutation.h"
#include "converters/layout/stored.h"
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

TEST_CASE("layout: a tensor in another order comes in blocks") {
  const std::vector<std::int64_t> dims = {3, 700, 900};
  std::vector<float> values(3 * 700 * 900);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 100'003);
  const auto bytes = std::as_bytes(std::span(values));
  for (const layout::Permutation& order : {layout::Permutation{2, 0, 1}, {1, 0, 2}, {2, 1, 0}, {0, 1, 2}}) {
    const auto whole = layout::permuted_bytes(ElementType::float32, dims, bytes, order);
    REQUIRE(whole);
    std::string joined;
    std::size_t blocks = 0;
    CHECK(layout::permute_in_blocks(ElementType::float32, dims, bytes, order, [&](std::span<const std::byte> block) {
      joined.append(reinterpret_cast<const char*>(block.data()), block.size());
      return ++blocks > 0;
    }));
    CHECK(joined == *whole);
    CHECK(blocks > 1);
  }
  CHECK_FALSE(layout::permute_in_blocks(ElementType::float32, dims, bytes, {2, 0, 1}, [](auto) { return false; }));
  CHECK_FALSE(layout::permute_in_blocks(ElementType::float32, {3, 700}, bytes, {1, 0}, [](auto) { return true; }));
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
