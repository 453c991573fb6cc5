#include "converters/formats/pt2/example_inputs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "converters/containers/torch_archive.h"

namespace onnxkit::tests::pt2_example_inputs {

TEST_CASE("example inputs are an archive of zeros that torch.save could have written") {
  const std::string bytes =
      pt2::example_inputs({{ElementType::float32, {2, 3}}, {ElementType::int64, {}}, {ElementType::boolean, {0, 4}}});
  auto archive = containers::TorchArchive::open(MappedFile::from_bytes(bytes));
  REQUIRE(archive);
  const auto pickle = archive->pickle("data.pkl", false);
  REQUIRE(pickle);
  const containers::Pickle root = (*pickle)->root();
  REQUIRE(root.is_tuple());
  REQUIRE(root.size() == 2);
  CHECK(root[1].is_dict());
  CHECK(root[1].size() == 0);
  REQUIRE(root[0].size() == 3);
  const auto tensor_at = [&](std::size_t i) { return archive->tensor(root[0][i], "x"); };
  const auto first = tensor_at(0), second = tensor_at(1), third = tensor_at(2);
  REQUIRE((first && second && third));
  REQUIRE((*first && *second && *third));
  CHECK((*first)->elem == ElementType::float32);
  CHECK((*first)->dims == std::vector<std::int64_t>{2, 3});
  CHECK((*first)->bytes.size() == 24);
  CHECK(
      std::all_of((*first)->bytes.begin(), (*first)->bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  CHECK((*second)->elem == ElementType::int64);
  CHECK((*second)->dims.empty());
  CHECK((*third)->dims == std::vector<std::int64_t>{0, 4});
}

TEST_CASE("inputs that cannot be stored, or take much, have no examples") {
  CHECK(pt2::example_inputs({{ElementType::uint16, {2}}}).empty());
  CHECK(pt2::example_inputs({{ElementType::float32, {1 << 20, 3}}, {ElementType::float32, {1 << 20, 2}}}).empty());
  CHECK(!pt2::example_inputs({{ElementType::float32, {1 << 20, 3}}}).empty());
  CHECK(pt2::example_inputs({{ElementType::float32, {INT64_MAX, 3}}}).empty());
  CHECK(pt2::example_inputs({{ElementType::float32, {-1}}}).empty());
}

}  // namespace onnxkit::tests::pt2_example_inputs
