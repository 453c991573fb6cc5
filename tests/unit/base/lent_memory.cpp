#include "libonnxkit/base/system/lent_memory.h"

#include <doctest/doctest.h>

namespace onnxkit::tests::base_lent_memory {

std::shared_ptr<std::byte> new_byte() { return std::make_shared<std::byte>(); }

TEST_CASE("lent memory is used again once nobody holds it") {
  LentMemory memory;
  auto first = memory.lend(new_byte);
  const std::byte* const place = first.get();
  first.reset();
  CHECK(memory.lend(new_byte).get() == place);
}

TEST_CASE("lent memory that is held is not lent again, and two blocks go in turn") {
  LentMemory memory;
  auto held = memory.lend(new_byte);
  auto newer = memory.lend(new_byte);
  CHECK(newer != held);
  const auto third = memory.lend(new_byte);
  CHECK(third != held);
  CHECK(third != newer);
  const std::byte* const place = newer.get();
  newer.reset();
  CHECK(memory.lend(new_byte).get() == place);
}

TEST_CASE("lent memory that could not be had is asked for again") {
  LentMemory memory;
  CHECK(memory.lend([] { return std::shared_ptr<std::byte>(); }) == nullptr);
  CHECK(memory.lend(new_byte) != nullptr);
}

}  // namespace onnxkit::tests::base_lent_memory
