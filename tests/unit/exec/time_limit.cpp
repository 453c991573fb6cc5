#include "libonnxkit/exec/time_limit.h"

#include <doctest/doctest.h>

namespace onnxkit {
namespace {

using namespace std::chrono_literals;

TEST_CASE("what a stop calls knows that the time is over") {
  std::atomic<bool> was_called = false, was_over = false;
  exec::TimeLimit limit(1ms, {});
  const std::stop_callback stopping(limit.token(), [&] {
    was_over = limit.is_over();
    was_called = true;
    was_called.notify_one();
  });
  was_called.wait(false);
  CHECK(was_over);
  CHECK(limit.is_over());
}

TEST_CASE("a caller that stops first is no time limit") {
  std::stop_source caller;
  exec::TimeLimit limit(50ms, caller.get_token());
  caller.request_stop();
  CHECK(limit.token().stop_requested());
  std::this_thread::sleep_for(100ms);
  CHECK_FALSE(limit.is_over());
  const exec::TimeLimit late(1ms, caller.get_token());
  CHECK(late.token().stop_requested());
  CHECK_FALSE(late.is_over());
}

}  // namespace
}  // namespace onnxkit
