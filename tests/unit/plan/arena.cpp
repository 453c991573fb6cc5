// Places of buffers (libonnxkit/plan/arena.h).
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/steps.h"
#include "tests/unit/sample.h"

namespace onnxkit::tests::arena {
namespace {

using namespace plan;

View value(Plan& plan, std::uint64_t bytes) {
  plan.buffers.push_back({.home = Home::arena, .type = ElementType::uint8, .bytes = bytes});
  const auto size = static_cast<std::int64_t>(bytes);
  return {.buffer = static_cast<std::uint32_t>(plan.buffers.size() - 1),
          .type = ElementType::uint8,
          .dims = {size},
          .strides = {1}};
}

/// Reductions, which never write over what they read, of one value each and some earlier ones.
Plan random_plan(std::size_t steps, std::size_t reach, std::mt19937& random) {
  Plan plan;
  std::vector<View> values;
  for (std::size_t at = 0; at < steps; ++at) {
    Step step{.kind = reduce_step};
    for (std::size_t i = 0; i < 2 && !values.empty(); ++i)
      step.inputs.push_back(values[values.size() - 1 - random() % std::min(values.size(), reach)]);
    values.push_back(value(plan, 1 + random() % 1000));
    step.outputs = {values.back()};
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

struct Use {
  std::size_t first = SIZE_MAX, behind = 0;
};

std::vector<Use> uses_of(const Plan& plan) {
  std::vector<Use> uses(plan.buffers.size());
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    for (const auto* views : {&plan.steps[at].inputs, &plan.steps[at].outputs}) {
      for (const View& view : *views) {
        uses[view.buffer].first = std::min(uses[view.buffer].first, at);
        uses[view.buffer].behind = at + 1;
      }
    }
  }
  return uses;
}

bool lie_apart(const Buffer& a, const Buffer& b) {
  return a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
}

/// Pairs of buffers that some step finds in the same place.
std::size_t clashes(const Plan& plan) {
  const std::vector<Use> uses = uses_of(plan);
  std::size_t count = 0;
  for (std::size_t a = 0; a < uses.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool at_once = uses[a].first < uses[b].behind && uses[b].first < uses[a].behind;
      if (at_once && !lie_apart(plan.buffers[a], plan.buffers[b])) ++count;
    }
  }
  return count;
}

/// What the largest first, each in the first gap, take: by looking at all pairs.
std::uint64_t first_fit(const Plan& plan) {
  struct Placed {
    std::uint64_t begin, end;
    Use use;
  };
  const std::vector<Use> uses = uses_of(plan);
  std::vector<std::size_t> order(uses.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(plan.buffers[b].bytes, uses[a].first) < std::pair(plan.buffers[a].bytes, uses[b].first);
  });
  std::vector<Placed> placed;
  std::uint64_t most = 0;
  for (const std::size_t at : order) {
    const std::uint64_t bytes = plan.buffers[at].bytes;
    std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    std::uint64_t offset = 0;
    for (const Placed& other : placed) {
      if (other.use.first >= uses[at].behind || uses[at].first >= other.use.behind) continue;
      if (offset + bytes <= other.begin) break;
      offset = std::max(offset, (other.end + 63) / 64 * 64);
    }
    placed.push_back({offset, offset + bytes, uses[at]});
    most = std::max(most, offset + bytes);
  }
  return most;
}

TEST_CASE("values that live at the same time lie apart, as close as the first gap allows") {
  std::mt19937 random(7);
  for (const std::size_t steps : {1, 2, 3, 17, 64, 300}) {
    for (const std::size_t reach : {1, 5, 100}) {
      Plan plan = random_plan(steps, reach, random);
      place_buffers(plan);
      CHECK(clashes(plan) == 0);
      CHECK(plan.arena_bytes == first_fit(plan));
    }
  }
}

TEST_CASE("thousands of values that live at the same time have places side by side") {
  Plan plan;
  Step last{.kind = reduce_step};
  constexpr std::size_t count = sampled(8000, 2000);
  for (std::size_t i = 0; i < count; ++i) {
    const View made = value(plan, 64);
    plan.steps.push_back({.kind = reduce_step, .outputs = {made}});
    last.inputs.push_back(made);
  }
  plan.steps.push_back(std::move(last));
  place_buffers(plan);
  CHECK(plan.arena_bytes == 64 * count);
  std::set<std::uint64_t> places;
  for (const Buffer& buffer : plan.buffers) {
    CHECK(buffer.offset % 64 == 0);
    places.insert(buffer.offset);
  }
  CHECK(places.size() == count);
}

TEST_CASE("steps of two streams share a place only where one waits for the other") {
  Plan plan;
  for (int i = 0; i < 4; ++i) {
    const View made = value(plan, 64);
    plan.steps.push_back({.kind = reduce_step, .outputs = {made}});
  }
  // Steps 0 and 2 on one stream, 1 and 3 on the other; step 3 waits for step 0 as well.
  place_buffers(plan, {.streams = {0, 1, 0, 1}, .ended = {{0, 0}, {0, 0}, {1, 0}, {1, 2}}});
  CHECK(plan.arena_bytes == 128);
  CHECK(lie_apart(plan.buffers[0], plan.buffers[1]));
  CHECK(lie_apart(plan.buffers[1], plan.buffers[2]));
  CHECK(lie_apart(plan.buffers[2], plan.buffers[3]));
  CHECK(plan.buffers[0].offset == plan.buffers[2].offset);
}

}  // namespace
}  // namespace onnxkit::tests::arena
