// Portable bit, grey and pixel maps, as text (P1, P2, P3) or binary (P4, P5, P6).
#include "libonnxkit/wire/picture/codecs.h"

namespace onnxkit::wire {
namespace {

class Scanner {
 public:
  explicit Scanner(PictureBytes file) : file_(file) {}

  /// The next number in text, behind blanks and comments; nothing when there is none below a million.
  std::optional<std::int64_t> number() {
    skip_blanks();
    std::optional<std::int64_t> value;
    for (; at_ < file_.size() && file_[at_] >= '0' && file_[at_] <= '9'; ++at_) {
      value = value.value_or(0) * 10 + (file_[at_] - '0');
      if (*value > 1'000'000) return std::nullopt;
    }
    return value;
  }
  /// A digit of its own: bits of P1 need no blanks between them.
  std::optional<std::int64_t> bit() {
    skip_blanks();
    if (at_ >= file_.size() || (file_[at_] != '0' && file_[at_] != '1')) return std::nullopt;
    return file_[at_++] - '0';
  }
  std::optional<std::int64_t> byte() {
    if (at_ >= file_.size()) return std::nullopt;
    return file_[at_++];
  }

 private:
  void skip_blanks() {
    while (at_ < file_.size()) {
      if (file_[at_] == '#')
        while (at_ < file_.size() && file_[at_] != '\n') ++at_;
      else if (file_[at_] == ' ' || (file_[at_] >= '\t' && file_[at_] <= '\r'))
        ++at_;
      else
        return;
    }
  }

  PictureBytes file_;
  std::size_t at_ = 2;
};

}  // namespace

std::string read_pnm(PictureBytes file, Canvas& canvas) {
  const int form = file[1] - '0';
  const bool binary = form > 3, bits = form % 3 == 1, colour = form % 3 == 0;
  Scanner scanner(file);
  const auto width = scanner.number(), height = scanner.number();
  const std::optional<std::int64_t> most = bits ? 1 : scanner.number();
  if (!width || !height || !most || *most < 1 || *most > 65535) return "the header is malformed";
  if (binary) scanner.byte();
  if (!canvas.open(*height, *width)) return too_large;
  std::int64_t packed = 0;
  const auto sample = [&](std::int64_t x) -> std::optional<std::int64_t> {
    if (!binary) return bits ? scanner.bit() : scanner.number();
    if (bits) {
      if (x % 8 == 0) {
        const auto next = scanner.byte();
        if (!next) return next;
        packed = *next;
      }
      return packed >> (7 - x % 8) & 1;
    }
    const auto high = scanner.byte();
    if (*most < 256 || !high) return high;
    const auto low = scanner.byte();
    if (!low) return low;
    return *high * 256 + *low;
  };
  for (std::int64_t y = 0; y < *height; ++y) {
    for (std::int64_t x = 0; x < *width; ++x) {
      unsigned channel[3];
      for (int c = 0; c < (colour ? 3 : 1); ++c) {
        const auto value = sample(x);
        if (!value || *value > *most) return value ? "a sample is larger than the declared maximum" : cut_off;
        channel[c] = static_cast<unsigned>((*value * 255 + *most / 2) / *most);
      }
      if (bits) channel[0] = 255 - channel[0];
      if (!colour) channel[1] = channel[2] = channel[0];
      canvas.set(y, x, channel[0], channel[1], channel[2]);
    }
  }
  return {};
}

}  // namespace onnxkit::wire
