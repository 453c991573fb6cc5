#include "libonnxkit/plan/epilogue_links.h"

#include <doctest/doctest.h>

#include <limits>

namespace onnxkit::tests::epilogue_links {

using plan::Expression;
using plan::Lane;
using plan::Operation;
using Kind = plan::EpilogueLink::Kind;

namespace {

using Kinds = std::vector<Kind>;
Kinds kinds_of(const Expression& expression) {
  Kinds kinds;
  for (const plan::EpilogueLink& link : plan::epilogue_links_of(expression)) kinds.push_back(link.kind);
  return kinds;
}

/// operation(x0, constant)
Expression with_constant(Operation operation, double constant) {
  Expression e;
  const auto sum = e.input(0, Lane::f32);
  e.apply(operation, sum, e.constant(Lane::f32, constant));
  return e;
}

}  // namespace

TEST_CASE("links of an epilogue: what is done to the sum, one after the other") {
  CHECK(kinds_of(Expression()).empty());
  Expression e;
  const auto sum = e.input(0, Lane::f32);
  const auto scaled = e.apply(Operation::multiply, e.constant(Lane::f32, 2), sum);
  const auto biased = e.apply(Operation::add, scaled, e.input(1, Lane::f32));
  const auto bounded = e.apply(Operation::maximum, biased, e.constant(Lane::f32, -1));
  e.apply(Operation::minimum, bounded, e.constant(Lane::f32, 6));
  CHECK(kinds_of(e) == Kinds{Kind::scale, Kind::add, Kind::maximum, Kind::minimum});
  const auto links = plan::epilogue_links_of(e);
  CHECK(links[0].factor == 2);
  CHECK(links[1].input == 1);
  CHECK(links[2].factor == -1);
  CHECK(links[3].factor == 6);
  CHECK(links[3].end == e.last());
}

TEST_CASE("links of an epilogue: a bound of NaN is none") {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  CHECK(kinds_of(with_constant(Operation::maximum, 0)) == Kinds{Kind::relu});
  CHECK(kinds_of(with_constant(Operation::maximum, 1)) == Kinds{Kind::maximum});
  CHECK(kinds_of(with_constant(Operation::maximum, none)).empty());
  CHECK(kinds_of(with_constant(Operation::minimum, none)).empty());
}

TEST_CASE("links of an epilogue: an activation is one only where nothing else reads what is in it") {
  Expression e;
  const auto sum = e.input(0, Lane::f32);
  const auto sigmoid = e.apply(Operation::sigmoid, sum);
  const auto swish = e.apply(Operation::multiply, sum, sigmoid);
  CHECK(kinds_of(e) == Kinds{Kind::swish});
  e.apply(Operation::add, swish, sigmoid);
  CHECK(kinds_of(e).empty());
}

TEST_CASE("links of an epilogue: a sum that is read as two inputs has none") {
  Expression e;
  e.apply(Operation::add, e.input(0, Lane::f32), e.input(0, Lane::f32));
  CHECK(!plan::sum_of(e));
  CHECK(kinds_of(e).empty());
}

}  // namespace onnxkit::tests::epilogue_links
