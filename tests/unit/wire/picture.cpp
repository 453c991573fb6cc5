#include "libonnxkit/wire/picture/picture.h"

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "libonnxkit/base/system/mapped_file.h"

namespace onnxkit::tests::wire_picture {
namespace {

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  REQUIRE(file);
  const auto bytes = (*file)->bytes();
  return {bytes.begin(), bytes.end()};
}

std::vector<std::filesystem::path> pictures() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(ONNXKIT_TESTDATA "/pictures"))
    paths.push_back(entry.path());
  return paths;
}

}  // namespace

// testdata/pictures were written by Pillow 13 from this formula: 8 x 6 pixels (30 x, 40 y, 10 (x + y)), grey ones 30 x.
TEST_CASE("pictures of all forms are decoded") {
  for (const auto& path : pictures()) {
    CAPTURE(path.string());
    const auto picture = wire::decode_picture(bytes_of(path));
    REQUIRE(picture);
    REQUIRE(picture->height == 6);
    REQUIRE(picture->width == 8);
    const bool grey = path.filename().string().starts_with("grey");
    const int tolerance = path.extension() == ".jpg" ? 4 : 0;
    for (int y = 0; y < 6; ++y) {
      for (int x = 0; x < 8; ++x) {
        const std::uint8_t* pixel = picture->rgb.data() + (y * 8 + x) * 3;
        const int expected[] = {30 * x, grey ? 30 * x : 40 * y, grey ? 30 * x : 10 * (x + y)};
        for (int c = 0; c < 3; ++c) CHECK(std::abs(pixel[c] - expected[c]) <= tolerance);
      }
    }
  }
}

TEST_CASE("pictures that are cut off or broken are an error or a picture of their size") {
  for (const auto& path : pictures()) {
    CAPTURE(path.string());
    const std::vector<std::byte> whole = bytes_of(path);
    const auto decode = [](std::span<const std::byte> bytes) {
      const auto picture = wire::decode_picture(bytes, 1 << 16);
      if (picture)
        CHECK(picture->rgb.size() == static_cast<std::size_t>(picture->height * picture->width * 3));
      else
        CHECK(picture.error().diagnostic.code == "picture");
    };
    for (std::size_t length = 0; length < whole.size(); ++length) decode(std::span(whole).first(length));
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int value : {0x00, 0x7f, 0xff}) {
        std::vector<std::byte> broken = whole;
        broken[at] = static_cast<std::byte>(value);
        decode(broken);
      }
    }
  }
}

TEST_CASE("a picture larger than allowed is refused") {
  const auto bytes = bytes_of(ONNXKIT_TESTDATA "/pictures/rgb.png");
  CHECK(wire::decode_picture(bytes, 48));
  CHECK_FALSE(wire::decode_picture(bytes, 47));
}

}  // namespace onnxkit::tests::wire_picture
