// Memory that dead tensors leave and later ones use (reference/page_pool.h, Memory of reference/tensor.h).
#include "reference/executor/page_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "reference/executor/tensor.h"

namespace onnxkit::tests::reference_page_pool {

using namespace reference;
using reference::Tensor;

namespace {

constexpr std::size_t page = 4096, mebi = std::size_t{1} << 20;

struct Block {
  char* start;
  std::size_t size;
  char mark;

  bool is_whole() const {
    return std::all_of(start, start + size, [&](char c) { return c == mark; });
  }
};

}  // namespace

TEST_CASE("page pool: what is given is used again, split and joined") {
  PagePool pool;
  char* const whole = static_cast<char*>(PagePool::fresh(3 * mebi));
  REQUIRE(whole != nullptr);
  CHECK(std::all_of(whole, whole + 3 * mebi, [](char c) { return c == 0; }));
  CHECK(pool.reuse(page) == nullptr);
  pool.give(whole, 3 * mebi);
  CHECK(pool.idle() == 3 * mebi);
  CHECK(pool.reuse(3 * mebi + 1) == nullptr);
  char* const first = static_cast<char*>(pool.reuse(mebi));
  CHECK(first == whole);
  char* const second = static_cast<char*>(pool.reuse(mebi + 1));  // a page more
  CHECK(second == whole + mebi);
  CHECK(pool.idle() == mebi - page);
  pool.give(second, mebi + 1);
  pool.give(first, mebi);
  CHECK(pool.idle() == 3 * mebi);
  CHECK(pool.reuse(3 * mebi) == whole);
  pool.give(whole, 3 * mebi);
  pool.shrink(mebi);
  CHECK(pool.idle() == mebi);
  CHECK(pool.reuse(mebi) == whole);
  pool.give(whole, mebi);
  pool.shrink(0);
  CHECK(pool.idle() == 0);
}

TEST_CASE("page pool: blocks never overlap, and nothing is lost") {
  PagePool pool;
  std::mt19937 random(5);
  std::vector<Block> blocks;
  std::size_t live = 0, fresh = 0;
  const auto give = [&](std::size_t i) {
    CHECK(blocks[i].is_whole());
    pool.give(blocks[i].start, blocks[i].size);
    live -= (blocks[i].size + page - 1) / page * page;
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
  };
  for (int turn = 0; turn < 3000; ++turn) {
    if (random() % 2 == 0 || blocks.empty()) {
      const std::size_t size = 1 + random() % (turn % 10 == 0 ? 3 * mebi : 40 * page),
                        rounded = (size + page - 1) / page * page;
      void* pages = pool.reuse(size);
      if (!pages) {
        pages = PagePool::fresh(size);
        fresh += rounded;
      }
      REQUIRE(pages != nullptr);
      live += rounded;
      blocks.push_back({static_cast<char*>(pages), size, static_cast<char>(turn)});
      std::memset(pages, static_cast<char>(turn), size);
    } else {
      give(random() % blocks.size());
    }
    CHECK(live + pool.idle() == fresh);
    if (turn % 100 == 99) {
      const std::size_t before = pool.idle();
      pool.shrink(before / 2);
      CHECK(pool.idle() <= before / 2);
      CHECK(pool.idle() + page > before / 2);
      fresh -= before - pool.idle();
    }
  }
  while (!blocks.empty()) give(0);
  CHECK(pool.idle() == fresh);
}

TEST_CASE("memory: zeroed tensors are zero where others were, and the limit holds") {
  const auto memory = std::make_shared<Memory>(40 * mebi);
  const auto size = static_cast<std::int64_t>(mebi);  // 8 MiB
  for (int turn = 0; turn < 4; ++turn) {
    Tensor a = Tensor::unset(memory, ElementType::float64, {size});
    for (double& x : a.write<double>()) x = 7;
    CHECK_THROWS_AS(Tensor(memory, ElementType::float64, {4 * size + 1}), Fault);
  }
  CHECK(memory->live() == 0);
  const Tensor b(memory, ElementType::float64, {size / 2 + 5});
  const auto all = b.as<double>();
  CHECK(std::all_of(all.begin(), all.end(), [](double x) { return x == 0; }));
  const Tensor c = Tensor::unset(memory, ElementType::float64, {4 * size});
  CHECK(memory->live() == 8 * static_cast<std::uint64_t>(c.size() + b.size()));
  CHECK(memory->peak() <= 40 * mebi);
  CHECK_THROWS_AS(Tensor(memory, ElementType::float64, {size}), Fault);
}

}  // namespace onnxkit::tests::reference_page_pool
