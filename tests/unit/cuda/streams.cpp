// What may run side by side, and on which streams (libonnxkit/cuda/streams.h).
#include "libonnxkit/cuda/streams.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/cuda/step.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::tests::cuda_streams {
namespace {

using cuda::Dependencies;
using cuda::Region;
using cuda::Schedule;
using plan::Dims;
using plan::View;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// "ab>c de>f": the first work reads the places a and b and writes c, the second ...
std::vector<std::vector<Region>> works_of(const std::string& text) {
  std::vector<std::vector<Region>> works;
  const View one{.buffer = 0, .type = ElementType::float32, .offset = 0, .dims = {4}, .strides = {1}};
  for (const std::string& word : words_of(text)) {
    std::vector<Region>& work = works.emplace_back();
    bool writes = false;
    for (const char place : word) {
      if (place == '>')
        writes = true;
      else
        work.push_back(cuda::region_of(one, static_cast<std::uint64_t>(place) * 16, writes));
    }
  }
  return works;
}

/// "0 0 1(0)": the third work is on stream 1 and waits for the first.
std::string text_of(const Schedule& schedule) {
  std::string text;
  for (std::size_t at = 0; at < schedule.waits.size(); ++at) {
    const auto& waits = schedule.waits[at];
    text += fmt::format("{}{}{}", at == 0 ? "" : " ", schedule.order.streams[at],
                        waits.empty() ? "" : fmt::format("({})", fmt::join(waits, " ")));
  }
  return text;
}

TEST_CASE("works go to streams by what they read and write") {
  struct Row {
    const char *title, *works;
    std::size_t streams;
    const char* wanted;
  };
  const Row rows[] = {
      {"a chain", "x>a a>b b>c", 4, "0 0 0"},
      {"a diamond", "x>a a>b a>c bc>d", 4, "0 0 1(0) 1(1)"},
      {"a short branch beside a long one", "x>a a>b b>c a>s cs>d d>e", 4, "0 0 0 1(0) 1(2) 1"},
      {"two heads", "x>a a>b a>c b>d c>e", 4, "0 0 1(0) 0 1"},
      {"nothing in common", "x>a x>b x>c", 2, "0 1 0"},
      {"no more streams than allowed", "x>a a>b a>c a>d", 2, "0 0 1(0) 0"},
      {"one stream", "x>a a>b a>c bc>d", 1, "0 0 0 0"},
      {"written in place behind a reader", "x>a a>b a>a a>c", 4, "0 0 0 0"},
      {"written in place behind a reader on another stream", "x>a a>b a>c b>a ac>d", 4, "0 0 1(0) 1(1) 1"},
      {"a place that is used again", "x>a a>b y>a a>c bc>d", 4, "0 0 0 0 0"},
      {"a place that is written twice", "x>a y>a a>b", 4, "0 0 0"},
      {"one wait is enough where another came before", "x>a x>b ab>c ac>d", 4, "0 1 1(0) 1"},
      {"no stream is free before all on it has ended", "x>a x>b ab>c b>d cd>e", 4, "0 1 1(0) 2(1) 2(2)"},
      {"a stream is free when all on it has ended", "x>a x>b ab>c c>d c>e", 4, "0 1 1(0) 1 0(2)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.title);
    CHECK(text_of(cuda::schedule(cuda::dependencies_of(works_of(row.works)), row.streams)) == row.wanted);
  }
}

TEST_CASE("channels of an image that lie side by side do not overlap") {
  const View whole{.buffer = 0,
                   .type = ElementType::float16,
                   .offset = 0,
                   .dims = {2, 24, 5, 7},
                   .strides = {24 * 35, 1, 24 * 7, 24}};
  const View low = plan::sliced(whole, 1, 0, 1, 16), high = plan::sliced(whole, 1, 16, 1, 8);
  const auto region = [](const View& view) { return cuda::region_of(view, 1024, true); };
  CHECK_FALSE(overlap(region(low), region(high)));
  CHECK(overlap(region(low), region(whole)));
  CHECK(overlap(region(plan::sliced(whole, 1, 15, 1, 9)), region(low)));
  CHECK_FALSE(overlap(region(plan::sliced(whole, 2, 4, -2, 3)), region(plan::sliced(whole, 2, 1, 2, 2))));
}

class Random {
 public:
  explicit Random(unsigned seed) : numbers_(seed) {}
  std::int64_t operator()(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(numbers_() % static_cast<unsigned>(most - least + 1));
  }

 private:
  std::minstd_rand numbers_;
};

View random_view(Random& random, std::int64_t most_offset) {
  View view{.buffer = 0,
            .type = random(0, 1) == 0 ? ElementType::float16 : ElementType::float32,
            .offset = random(20, 20 + most_offset),
            .dims = {},
            .strides = {}};
  const std::int64_t rank = random(0, 3);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    view.dims.push_back(random(1, 4));
    view.strides.push_back(random(-2, 6));
  }
  return view;
}

/// Each byte by its number.
std::set<std::uint64_t> bytes_of(const Region& region) {
  std::set<std::uint64_t> bytes = {region.begin};
  for (std::size_t axis = 0; axis < region.dims.size(); ++axis) {
    std::set<std::uint64_t> more;
    for (const std::uint64_t byte : bytes)
      for (std::int64_t i = 0; i < region.dims[axis]; ++i)
        more.insert(byte + static_cast<std::uint64_t>(i * region.strides[axis]));
    bytes = std::move(more);
  }
  return bytes;
}

bool have_common(const std::set<std::uint64_t>& a, const std::set<std::uint64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::uint64_t byte) { return b.contains(byte); });
}

TEST_CASE("regions overlap where they have a byte in common") {
  Random random(7);
  int common = 0;
  for (int i = 0; i < 4000; ++i) {
    const Region a = cuda::region_of(random_view(random, 30), 0, true);
    const Region b = cuda::region_of(random_view(random, 30), 0, true);
    const bool have = have_common(bytes_of(a), bytes_of(b));
    common += have ? 1 : 0;
    REQUIRE(overlap(a, b) == have);
  }
  CHECK(common > 400);
  CHECK(common < 3600);
}

/// Which works have ended when one begins: all behind which it comes on its stream and by waiting, and what is before those.
std::vector<std::vector<bool>> before_each(const Schedule& schedule) {
  const std::size_t count = schedule.waits.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count, false));
  std::vector<std::optional<std::size_t>> last(schedule.streams);
  for (std::size_t at = 0; at < count; ++at) {
    std::vector<std::size_t> direct = schedule.waits[at];
    if (const auto& on_stream = last[schedule.order.streams[at]]) direct.push_back(*on_stream);
    for (const std::size_t one : direct) {
      before[at][one] = true;
      for (std::size_t other = 0; other < one; ++other) before[at][other] = before[at][other] || before[one][other];
    }
    last[schedule.order.streams[at]] = at;
  }
  return before;
}

TEST_CASE("works that share what one of them writes run one after the other") {
  Random random(11);
  std::size_t side_by_side = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::vector<Region>> works(24);
    std::vector<std::vector<std::set<std::uint64_t>>> bytes(works.size());
    for (std::size_t at = 0; at < works.size(); ++at) {
      for (std::int64_t i = random(1, 3); i > 0; --i) {
        works[at].push_back(cuda::region_of(random_view(random, 400), 0, i == 1));
        bytes[at].push_back(bytes_of(works[at].back()));
      }
    }
    const Dependencies dependencies = cuda::dependencies_of(works);
    const Schedule made = cuda::schedule(dependencies, 4);
    const auto before = before_each(made);
    for (std::size_t at = 0; at < works.size(); ++at) {
      for (std::size_t other = 0; other < at; ++other) {
        REQUIRE(before[at][other] == (other < made.order.ended[at][made.order.streams[other]]));
        bool have = false;
        for (std::size_t i = 0; i < works[at].size(); ++i)
          for (std::size_t j = 0; j < works[other].size(); ++j)
            have = have || ((works[at][i].is_written || works[other][j].is_written) &&
                            have_common(bytes[at][i], bytes[other][j]));
        if (have) REQUIRE(before[at][other]);
        side_by_side += before[at][other] ? 0 : 1;
      }
      // No wait is there for nothing.
      for (const std::size_t wait : made.waits[at]) {
        for (const std::size_t other : made.waits[at]) REQUIRE_FALSE(before[other][wait]);
      }
    }
  }
  CHECK(side_by_side > 1000);
}

/// Steps that read random earlier values; each value is one buffer of the arena.
plan::Plan random_plan(Random& random) {
  plan::Plan plan;
  const auto add_buffer = [&](plan::Home home) {
    const std::int64_t count = random(1, 200);
    plan.buffers.push_back(
        {.home = home, .type = ElementType::float32, .bytes = static_cast<std::uint64_t>(count) * 4});
    return View{.buffer = static_cast<std::uint32_t>(plan.buffers.size() - 1),
                .type = ElementType::float32,
                .offset = 0,
                .dims = {count},
                .strides = {1}};
  };
  std::vector<View> values = {add_buffer(plan::Home::input)};
  for (int step = 0; step < 40; ++step) {
    plan::Step made{.kind = random(0, 12) == 0 ? plan::host_step : plan::map_step};
    for (std::int64_t i = random(1, 2); i > 0; --i)
      made.inputs.push_back(values[static_cast<std::size_t>(
          random(std::max<std::int64_t>(0, static_cast<std::int64_t>(values.size()) - 6),
                 static_cast<std::int64_t>(values.size()) - 1))]);
    View to = add_buffer(plan::Home::arena);
    if (random(0, 1) == 0 && made.kind == plan::map_step) {  // may be written in place
      to.dims = made.inputs[0].dims;
      plan.buffers.back().bytes = plan.buffers[made.inputs[0].buffer].bytes;
    }
    made.outputs = {to};
    values.push_back(to);
    plan.steps.push_back(std::move(made));
  }
  return plan;
}

TEST_CASE("places of values make no step wait") {
  Random random(5);
  std::uint64_t one = 0, several = 0;
  for (int round = 0; round < 100; ++round) {
    plan::Plan plan = random_plan(random);
    plan::place_buffers(plan);
    one += plan.arena_bytes;
    const Schedule made = cuda::schedule_steps(plan, 4);
    cuda::place_side_by_side(plan, 4);
    several += plan.arena_bytes;
    std::vector<std::vector<Region>> works;
    for (const plan::Step& step : plan.steps) {
      std::vector<Region>& work = works.emplace_back();
      const auto add = [&](const View& view, bool is_written) {
        const plan::Buffer& buffer = plan.buffers[view.buffer];
        work.push_back(cuda::region_of(view, buffer.home == plan::Home::arena ? buffer.offset : 1 << 30, is_written));
      };
      for (const View& view : step.inputs) add(view, false);
      for (const View& view : step.outputs) add(view, true);
    }
    const Dependencies dependencies = cuda::dependencies_of(works);
    for (std::size_t at = 0; at < works.size(); ++at) {
      for (const std::size_t other : dependencies[at]) REQUIRE(other < made.order.ended[at][made.order.streams[other]]);
      if (plan.steps[at].kind != plan::host_step) continue;
      for (std::size_t other = 0; other < at; ++other) REQUIRE(other < made.order.ended[at][made.order.streams[other]]);
      for (std::size_t other = at + 1; other < works.size(); ++other)
        REQUIRE(at < made.order.ended[other][made.order.streams[at]]);
    }
  }
  CHECK(several > one);
}

}  // namespace
}  // namespace onnxkit::tests::cuda_streams
