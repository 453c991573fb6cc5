// com.microsoft: the rest. Strings and hashes, matrices, regions of pictures.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <re2/re2.h>

#include "libonnxkit/base/text/utf8.h"
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"
#include "reference/noise/noise.h"
#include "reference/numerics/reals.h"

namespace onnxkit::reference {
namespace {

// ---- Inverse

/// Gauss and Jordan with the greatest pivot of each column; false when there is none.
bool invert(std::vector<double>& a, std::span<double> inverse, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) inverse[i * n + j] = i == j;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    if (a[pivot * n + k] == 0) return false;
    for (std::size_t j = 0; j < n; ++j) {
      std::swap(a[k * n + j], a[pivot * n + j]);
      std::swap(inverse[k * n + j], inverse[pivot * n + j]);
    }
    const double by = a[k * n + k];
    for (std::size_t j = 0; j < n; ++j) a[k * n + j] /= by, inverse[k * n + j] /= by;
    for (std::size_t i = 0; i < n; ++i) {
      const double times = a[i * n + k];
      if (i == k || times == 0) continue;
      for (std::size_t j = 0; j < n; ++j) {
        a[i * n + j] -= times * a[k * n + j];
        inverse[i * n + j] -= times * inverse[k * n + j];
      }
    }
  }
  return true;
}

void inverse(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() >= 2 && x.dim(x.rank() - 1) == x.dim(x.rank() - 2), "the input is not a stack of square matrices");
  Tensor y = context.make(x.type(), x.dims());
  const auto n = static_cast<std::size_t>(x.dim(x.rank() - 1));
  const std::span<double> out = y.write<double>();
  for (std::size_t at = 0; at < out.size(); at += n * n) {
    const auto matrix = x.as<double>().subspan(at, n * n);
    std::vector<double> work(matrix.begin(), matrix.end());
    require(invert(work, out.subspan(at, n * n), n), "a matrix has no inverse");
  }
  context.set_output(0, std::move(y));
}

// ---- shapes and sets

void expand_dims(KernelContext& context) {
  const Tensor& x = context.input(0);
  Dims dims = x.dims();
  dims.insert(dims.begin() + normalize_axis(context.input(1).integer(), x.rank() + 1), 1);
  context.set_output(0, x.reshaped(std::move(dims)));
}

void distances(KernelContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  require(a.rank() == 2 && b.rank() == 2 && a.dim(1) == b.dim(1), "CDist requires rows of the same length");
  const std::string_view metric = context.string("metric");
  require(metric == "euclidean" || metric == "sqeuclidean", "only the metrics euclidean and sqeuclidean are supported");
  Tensor y = context.make(a.type(), {a.dim(0), b.dim(0)});
  const auto length = static_cast<std::size_t>(a.dim(1)), columns = static_cast<std::size_t>(b.dim(0));
  const std::span<double> out = y.write<double>();
  const double* const left = a.as<double>().data();
  const double* const right = b.as<double>().data();
  context.for_range(y.size(), 64, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < length; ++k) {
        const double apart = left[i / columns * length + k] - right[i % columns * length + k];
        sum += apart * apart;
      }
      out[i] = metric == "euclidean" ? std::sqrt(sum) : sum;
    }
  });
  context.set_output(0, std::move(y));
}

/// The different elements in the order in which they come, where each element is among them, and how often each comes.
void unique_microsoft(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor reals = as_reals(context, x);
  std::map<double, std::int64_t> index_of;
  std::vector<double> different;
  std::vector<std::int64_t> counts;
  Tensor index = context.make(ElementType::int64, {x.size()});
  const std::span<std::int64_t> at = index.write<std::int64_t>();
  Pace pace(context);
  for (std::size_t i = 0; i < at.size(); ++i) {
    pace.advance(64);
    const double value = reals.as<double>()[i];
    require(!std::isnan(value), "distinct elements must not contain NaN");
    const auto [entry, is_new] = index_of.emplace(value, static_cast<std::int64_t>(different.size()));
    if (is_new) different.push_back(value), counts.push_back(0);
    at[i] = entry->second;
    ++counts[static_cast<std::size_t>(entry->second)];
  }
  const auto size = static_cast<std::int64_t>(different.size());
  Tensor y = context.make(real_type, {size}), count = context.make(ElementType::int64, {size});
  std::copy(different.begin(), different.end(), y.write<double>().begin());
  std::copy(counts.begin(), counts.end(), count.write<std::int64_t>().begin());
  context.set_output(0, x.domain() == Domain::real ? y.retyped(x.type()) : quantized(context, y, Affine(), x.type()));
  context.set_output(1, std::move(index));
  context.set_output(2, std::move(count));
}

/// All slices of `size` elements along an axis, `step` apart, as a new last axis.
void unfold(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t axis = normalize_axis(context.integer("dim", -1), x.rank());
  const std::int64_t size = context.integer("size"), step = context.integer("step", 1);
  require(size >= 1 && step >= 1 && size <= x.dim(axis), "size or step is out of range");
  std::vector<std::int64_t> strides = strides_of(x.dims());
  Dims dims = x.dims();
  strides.push_back(strides[static_cast<std::size_t>(axis)]);
  strides[static_cast<std::size_t>(axis)] *= std::min(step, x.dim(axis));
  dims[static_cast<std::size_t>(axis)] = (x.dim(axis) - size) / step + 1;
  dims.push_back(size);
  context.set_output(0, strided(context, x, std::move(dims), strides));
}

void sum_integers(KernelContext& context) {
  const Tensor x = as_reals(context, context.input(0));
  std::vector<std::int64_t> axes = context.integers("axes").value_or(std::vector<std::int64_t>());
  if (axes.empty()) axes = identity_index(x.rank());
  const Tensor sums = reduce<double, double>(
      context, x, normalize_axes(axes, x.rank()), context.integer("keepdims", 1) == 1, real_type,
      [](const ReductionSlice<double>& slice) { return std::accumulate(slice.begin(), slice.end(), 0.0); });
  const bool is_signed = context.input(0).domain() == Domain::integer;
  context.set_output(0, quantized(context, sums, Affine(), is_signed ? ElementType::int32 : ElementType::uint32));
}

void is_all_finite(KernelContext& context) {
  const bool infinities = context.integer("isnan_only") == 0, nans = context.integer("isinf_only") == 0;
  bool finite = true;
  for (const Tensor* x : context.inputs_from()) {
    for (const double value : x->as<double>())
      finite = finite && !(infinities && std::isinf(value)) && !(nans && std::isnan(value));
  }
  context.set_output(0, context.scalar(ElementType::boolean, finite ? 1 : 0));
}

/// Tokens that would repeat an n-gram of the ids before get a score of -infinity.
void block_repeated_ngrams(KernelContext& context) {
  const Tensor& ids = context.input(0);
  Tensor scores = context.input(1);
  const std::int64_t size = context.integer("ngram_size");
  require(ids.rank() == 2 && scores.rank() == 2 && ids.dim(0) == scores.dim(0) && size >= 1,
          "ids, scores or ngram_size do not match");
  const std::int64_t length = ids.dim(1), vocabulary = scores.dim(1);
  const std::span<double> out = scores.write<double>();
  for (std::int64_t b = 0; b < ids.dim(0) && size <= length; ++b) {
    const auto row =
        ids.as<std::int64_t>().subspan(static_cast<std::size_t>(b * length), static_cast<std::size_t>(length));
    const auto tail = row.last(static_cast<std::size_t>(size - 1));
    for (std::int64_t i = 0; i + size <= length; ++i) {
      const auto gram = row.subspan(static_cast<std::size_t>(i), static_cast<std::size_t>(size));
      if (!std::equal(tail.begin(), tail.end(), gram.begin())) continue;
      require(0 <= gram.back() && gram.back() < vocabulary, "an id is outside the vocabulary");
      out[static_cast<std::size_t>(b * vocabulary + gram.back())] = -std::numeric_limits<double>::infinity();
    }
  }
  context.set_output(0, std::move(scores));
}

// ---- CropAndResize

/// Where line `i` of `count` lines over [first, last] lies among `size` lines.
double line_at(std::int64_t i, std::int64_t count, double first, double last, std::int64_t size) {
  const auto most = static_cast<double>(size - 1);
  if (count == 1) return 0.5 * (first + last) * most;
  return first * most + static_cast<double>(i) * (last - first) * most / static_cast<double>(count - 1);
}

/// The same with the error of a runtime; whether a line is inside is decided by exact positions.
double noisy_line(double at, std::int64_t size, const Noise* noise, std::int64_t key) {
  if (!noise) return at;
  return std::clamp(noise->position(at, static_cast<std::uint64_t>(key)), 0.0, static_cast<double>(size - 1));
}

struct Channel {
  const double* data;
  std::int64_t height, width;

  double at(double y, double x) const {
    return data[static_cast<std::int64_t>(y) * width + static_cast<std::int64_t>(x)];
  }
  double bilinear(double y, double x) const {
    const double top = std::floor(y), left = std::floor(x), bottom = std::ceil(y), right = std::ceil(x);
    const double above = at(top, left) + (at(top, right) - at(top, left)) * (x - left);
    const double below = at(bottom, left) + (at(bottom, right) - at(bottom, left)) * (x - left);
    return above + (below - above) * (y - top);
  }
};

void crop_and_resize(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& regions = context.input(1);
  const std::vector<std::int64_t> images = context.input(2).integers(), size = context.input(3).integers();
  require(x.rank() == 4 && regions.rank() == 2 && regions.dim(1) == 4, "the input or the regions have a wrong shape");
  require(static_cast<std::int64_t>(images.size()) == regions.dim(0), "there must be one image index per region");
  require(size.size() == 2 && size[0] > 0 && size[1] > 0, "crop_size must be a height and a width");
  const bool nearest = context.string("mode") == "nearest";
  const double outside = context.real("extrapolation_value");
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  Tensor result = context.make(x.type(), {regions.dim(0), channels, size[0], size[1]});
  const std::span<double> out = result.write<double>();
  for (const std::int64_t image : images) require(0 <= image && image < x.dim(0), "a batch index is out of range");
  context.for_range(regions.dim(0) * channels, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p) {
      const auto region = static_cast<std::size_t>(p / channels);
      const auto corners = regions.as<double>().subspan(region * 4, 4);
      const Channel channel{x.as<double>().data() + (images[region] * channels + p % channels) * height * width, height,
                            width};
      for (std::int64_t i = 0; i < size[0] * size[1]; ++i) {
        const double y = line_at(i / size[1], size[0], corners[0], corners[2], height);
        const double z = line_at(i % size[1], size[1], corners[1], corners[3], width);
        const bool inside =
            y >= 0 && y <= static_cast<double>(height - 1) && z >= 0 && z <= static_cast<double>(width - 1);
        double& to = out[static_cast<std::size_t>(p * size[0] * size[1] + i)];
        if (!inside) {
          to = outside;
        } else if (nearest) {
          to = channel.at(std::round(y), std::round(z));
        } else {
          const std::int64_t key = p / channels * (size[0] + size[1]);
          to = channel.bilinear(noisy_line(y, height, context.noise(), key + i / size[1]),
                                noisy_line(z, width, context.noise(), key + size[0] + i % size[1]));
        }
      }
    }
  });
  context.set_output(0, std::move(result));
}

// ---- MurmurHash3

/// MurmurHash3_x86_32.
std::uint32_t murmur3(std::string_view bytes, std::uint32_t seed) {
  constexpr std::uint32_t c1 = 0xcc9e2d51, c2 = 0x1b873593;
  const auto mixed = [](std::uint32_t k) { return std::rotl(k * c1, 15) * c2; };
  std::uint32_t hash = seed;
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])}; };
  std::size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    hash ^= mixed(byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16 | byte(at + 3) << 24);
    hash = std::rotl(hash, 13) * 5 + 0xe6546b64;
  }
  std::uint32_t rest = 0;
  for (std::size_t i = bytes.size(); i-- > at;) rest = rest << 8 | byte(i);
  if (at < bytes.size()) hash ^= mixed(rest);
  hash ^= static_cast<std::uint32_t>(bytes.size());
  hash = (hash ^ hash >> 16) * 0x85ebca6b;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35;
  return hash ^ hash >> 16;
}

/// An element as its type stores it, little-endian.
template <class T>
std::string stored(ElementType type, T value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else {
    std::string bytes(storage_bits(type) / 8, '\0');
    encode(type, std::span<const T>(&value, 1), std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
}

void murmur_hash3(KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto seed = static_cast<std::uint32_t>(context.integer("seed"));
  Tensor hashes = context.make(ElementType::int64, x.dims());
  const std::span<std::int64_t> out = hashes.write<std::int64_t>();
  dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, Complex> || std::is_same_v<T, bool>)
      throw Fault("the type cannot be hashed");
    else
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = murmur3(stored<T>(x.type(), x.as<T>()[i]), seed);
  });
  if (context.integer("positive", 1) == 0) {
    context.set_output(
        0, map<std::int64_t, std::int64_t>(context, hashes, ElementType::int32, [](std::int64_t h) { return h; }));
  } else {
    context.set_output(0, map<std::int64_t, std::uint64_t>(context, hashes, ElementType::uint32, [](std::int64_t h) {
                         return static_cast<std::uint64_t>(h);
                       }));
  }
}

// ---- Tokenizer

using Words = std::vector<std::string>;

std::int64_t character_count(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; });
}

class Splitter {
 public:
  explicit Splitter(const KernelContext& context) : shortest_(context.integer("mincharnum")) {
    const auto separators = context.strings("separators");
    token_mode_ = context.has_attribute("tokenexp") && !context.string("tokenexp").empty();
    require(token_mode_ != (separators && !separators->empty()), "exactly one of separators and tokenexp is required");
    require(shortest_ >= 1, "mincharnum is less than 1");
    if (token_mode_) {
      add(context.string("tokenexp"));
    } else if (separators->size() == 1 && separators->front().empty()) {
      by_character_ = true;
    } else {
      for (const std::string_view separator : *separators) add(separator);
    }
  }

  Words tokens(const std::string& text) const {
    require(find_invalid_utf8(text) == std::string_view::npos, "a string is not UTF-8");
    if (by_character_) return characters(text);
    return token_mode_ ? matches(text) : pieces(text);
  }

 private:
  void add(std::string_view pattern) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_longest_match(true);
    patterns_.push_back(std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options));
    require(patterns_.back()->ok(), "a pattern is not valid RE2 syntax");
  }
  static Words characters(std::string_view text) {
    Words words;
    while (!text.empty()) {
      words.emplace_back(text.substr(0, utf8_sequence_length(text)));
      text.remove_prefix(words.back().size());
    }
    return words;
  }
  void keep(Words& words, std::string_view word) const {
    if (character_count(word) >= shortest_) words.emplace_back(word);
  }
  /// Calls f(start, end) for every match that is not empty.
  template <class F>
  static void for_matches(const re2::RE2& pattern, const std::string& text, F f) {
    std::size_t at = 0;
    re2::StringPiece match;
    while (at <= text.size() && pattern.Match(text, at, text.size(), re2::RE2::UNANCHORED, &match, 1)) {
      const auto start = static_cast<std::size_t>(match.data() - text.data());
      if (match.empty()) {
        at = start + std::max<std::size_t>(1, utf8_sequence_length(std::string_view(text).substr(start)));
        continue;
      }
      at = start + match.size();
      f(start, at);
    }
  }
  Words matches(const std::string& text) const {
    Words words;
    for_matches(*patterns_.front(), text, [&](std::size_t start, std::size_t end) {
      keep(words, std::string_view(text).substr(start, end - start));
    });
    return words;
  }
  /// Split at the first separator, the pieces at the second, and so on.
  Words pieces(const std::string& text) const {
    Words words{text};
    for (const auto& pattern : patterns_) {
      Words finer;
      for (const std::string& word : words) {
        std::size_t after = 0;
        for_matches(*pattern, word, [&](std::size_t start, std::size_t end) {
          keep(finer, std::string_view(word).substr(after, start - after));
          after = end;
        });
        keep(finer, std::string_view(word).substr(after));
      }
      words = std::move(finer);
    }
    return words;
  }

  std::int64_t shortest_;
  bool token_mode_ = false, by_character_ = false;
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
};

void tokenizer(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() == 1 || x.rank() == 2, "Tokenizer requires [C] or [N, C]");
  const Splitter splitter(context);
  const bool mark = context.integer("mark") != 0;
  std::vector<Words> rows;
  std::size_t longest = 0;
  for (const std::string& text : x.as<std::string>()) {
    rows.push_back(splitter.tokens(text));
    if (mark) {
      rows.back().insert(rows.back().begin(), "\x02");
      rows.back().emplace_back("\x03");
    }
    longest = std::max(longest, rows.back().size());
  }
  Dims dims = x.dims();
  dims.push_back(static_cast<std::int64_t>(longest));
  Tensor y = context.make(ElementType::string, std::move(dims));
  const std::span<std::string> out = y.write<std::string>();
  std::fill(out.begin(), out.end(), std::string(context.string("pad_value")));
  for (std::size_t r = 0; r < rows.size(); ++r)
    std::move(rows[r].begin(), rows[r].end(), out.begin() + static_cast<std::ptrdiff_t>(r * longest));
  context.set_output(0, std::move(y));
}

}  // namespace

void register_microsoft(KernelRegistry& registry) {
  const auto add = [&registry](const char* op, Kernel kernel, const KernelTraits& traits = {}) {
    registry.add(microsoft_domain, op, all_versions(), kernel, traits);
  };
  add("Inverse", inverse, {.noise = noise::terms});
  add("ExpandDims", expand_dims, {.noise = noise::moved});
  add("CDist", distances, {.noise = noise::ordinary});
  add("Unique", unique_microsoft, {.noise = noise::moved});
  add("UnfoldTensor", unfold, {.noise = noise::moved});
  add("ReduceSumInteger", sum_integers, {.is_quantizing = true});
  add("IsAllFinite", is_all_finite);
  add("NGramRepeatBlock", block_repeated_ngrams, {.noise = noise::moved});
  add("CropAndResize", crop_and_resize, {.noise = noise::interpolation});
  add("MurmurHash3", murmur_hash3);
  add("Tokenizer", tokenizer);
}

}  // namespace onnxkit::reference
