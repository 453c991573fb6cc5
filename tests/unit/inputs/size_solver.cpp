// Solving for free sizes ends when it is told to (libonnxkit/inputs/size_solver.h).
#include "libonnxkit/inputs/size_solver.h"

#include <doctest/doctest.h>

namespace onnxkit::tests::size_solver {
namespace {

using inputs::SizeSolver;

/// Of two sizes, the square of whose product is to be a prime.
SizeSolver hard_one(ir::DimPool& pool, std::function<bool()> goes_on) {
  SizeSolver solver(pool, {{.name = "a"}, {.name = "b"}}, std::move(goes_on));
  const ir::Dim product = pool.mul(pool.named("a"), pool.named("b"));
  solver.demand(checker::SizeRelation::equal, pool.mul(product, product), 2'147'483'647, SizeSolver::Weight::must, 0);
  return solver;
}

}  // namespace

TEST_CASE("free sizes: solving asks whether it may go on, and ends when it may not") {
  ir::DimPool pool;
  int asked = 0;
  SizeSolver patient = hard_one(pool, [&] { return ++asked > 0; });
  patient.solve();
  CHECK(asked > 5);

  asked = 0;
  SizeSolver ended = hard_one(pool, [&] { return ++asked < 3; });
  ended.solve();
  ended.shrink({pool.named("a")}, 0);
  CHECK(asked == 3);
}

}  // namespace onnxkit::tests::size_solver
