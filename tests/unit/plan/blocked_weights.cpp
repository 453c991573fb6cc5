// Weights of a few bits as plans describe them (libonnxkit/plan/blocked_weights.h).
#include "libonnxkit/plan/blocked_weights.h"

#include <doctest/doctest.h>

#include <set>

namespace onnxkit::tests::blocked_weights {
namespace {

using plan::BlockedWeights;

TEST_CASE("weights of the same bytes that stand for other numbers have other texts") {
  const BlockedWeights weights{.n = 2, .k = 16, .size = 16};
  std::set<std::string> texts = {weights.text()};
  const auto differs = [&](const auto& change) {
    BlockedWeights changed = weights;
    change(changed);
    CHECK(texts.insert(changed.text()).second);
  };
  const std::vector<std::byte> bytes(4);
  differs([](BlockedWeights& w) { w.is_signed = true; });
  differs([](BlockedWeights& w) { w.zero = 8; });
  differs([](BlockedWeights& w) { w.bits = 2; });
  differs([](BlockedWeights& w) { w.size = 8; });
  differs([](BlockedWeights& w) { w.k = 8, w.n = 4; });
  differs([](BlockedWeights& w) { w.number_strides = {.column = 16, .row = 1}; });
  differs([](BlockedWeights& w) { w.scale_strides = {.column = 1, .row = 0}; });
  differs([](BlockedWeights& w) { w.zero_strides = {.column = 1, .row = 0}; });
  differs([&](BlockedWeights& w) { w.scales = *Tensor::from_bytes(ElementType::float16, {2}, bytes); });
  differs([&](BlockedWeights& w) { w.scales = *Tensor::from_bytes(ElementType::bfloat16, {2}, bytes); });
  differs([&](BlockedWeights& w) { w.zeros = *Tensor::from_bytes(ElementType::uint8, {4}, bytes); });
}

}  // namespace
}  // namespace onnxkit::tests::blocked_weights
