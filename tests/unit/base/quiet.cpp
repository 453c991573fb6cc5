#include "libonnxkit/base/system/quiet.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "libonnxkit/base/system/cpu_time.h"

namespace onnxkit {
namespace {

constexpr Quiet short_quiet{.look = std::chrono::microseconds(100),
                            .enough = std::chrono::milliseconds(1),
                            .most = std::chrono::milliseconds(20)};

TEST_CASE("quiet: processes that stop computing are waited for") {
  int asked = 0;
  // They compute far more than there are processors, as a sleep may last longer than it was asked to.
  CHECK(wait_until_quiet([&] { return asked < 5 ? 1e3 * ++asked : 1e3 * asked; }, short_quiet));
  CHECK(asked == 5);
}

TEST_CASE("quiet: processes that go on computing are waited for no longer than allowed") {
  double computed = 0;
  CHECK_FALSE(wait_until_quiet([&] { return computed += 1e3; }, short_quiet));
}

TEST_CASE("CPU time: of this process by its number, and of one that is not there") {
  const double before = own_cpu_seconds();
  const auto by_number = cpu_seconds_of(::getpid());
  REQUIRE(by_number);
  CHECK(*by_number >= before);
  CHECK_FALSE(cpu_seconds_of(0));
  CHECK_FALSE(cpu_seconds_of(-1));
}

}  // namespace
}  // namespace onnxkit
