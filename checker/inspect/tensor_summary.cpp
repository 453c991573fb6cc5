#include "checker/inspect/tensor_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::checker {
namespace {

constexpr std::uint64_t all_samples = std::uint64_t{1} << 22;
constexpr std::uint64_t least_samples = 512;
constexpr std::size_t sample_blocks = 64;
constexpr std::size_t shown_values = 16;
constexpr std::size_t all_values_of_constant = 64;
constexpr std::size_t histogram_bins = 32;
constexpr std::size_t longest_string = 80;

bool is_complex_type(ElementType type) { return type == ElementType::complex64 || type == ElementType::complex128; }

/// The bytes that elements lie in one after another; empty when a typed field holds them.
std::span<const std::byte> packed_bytes(const ir::Tensor& tensor, std::span<const std::byte> external) {
  if (tensor.is_external()) return external;
  const std::string_view raw = tensor.raw_data.view();
  return {reinterpret_cast<const std::byte*>(raw.data()), raw.size()};
}

/// Blocks at equal distances, from the first element to the last. Eight elements of any type take whole bytes.
std::vector<double> sample_of_packed(ElementType type, std::span<const std::byte> bytes, std::uint64_t count,
                                     std::uint64_t most) {
  const std::uint64_t block = most / sample_blocks / 8 * 8;
  const auto bits = static_cast<std::uint64_t>(storage_bits(type));
  std::vector<double> sample(static_cast<std::size_t>(block * sample_blocks));
  for (std::size_t b = 0; b < sample_blocks; ++b) {
    const std::uint64_t first = (count - block) / (sample_blocks - 1) * b / 8 * 8;
    const auto piece =
        bytes.subspan(static_cast<std::size_t>(first / 8 * bits), static_cast<std::size_t>(block / 8 * bits));
    const auto out = std::span(sample).subspan(b * static_cast<std::size_t>(block), static_cast<std::size_t>(block));
    if (domain_of(type) == Domain::real) {
      decode(type, piece, out);
    } else {
      ir::Tensor part;
      part.data_type = static_cast<std::int32_t>(type);
      part.dims = {static_cast<std::int64_t>(block)};
      part.raw_data = std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size());
      if (auto reader = ir::ElementReader::open(part)) reader->read(out);
    }
  }
  return sample;
}

/// Which elements are looked at: all, blocks of packed ones, or the first of a typed field, whose elements cannot be found without those before.
std::vector<double> sample_of(const ir::Tensor& tensor, std::span<const std::byte> external, std::uint64_t most,
                              ir::ElementReader reader) {
  const auto bytes = packed_bytes(tensor, external);
  if (reader.count() > most && !bytes.empty()) return sample_of_packed(reader.type(), bytes, reader.count(), most);
  std::vector<double> sample(static_cast<std::size_t>(std::min(reader.count(), most)));
  sample.resize(reader.read(std::span<double>(sample)));
  return sample;
}

/// Without a histogram where the values themselves are shown.
ElementStatistics statistics_of(ElementType type, std::span<const double> sample, bool with_histogram) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  ElementStatistics found{.sampled = sample.size(), .minimum = nan, .maximum = nan, .mean = nan, .histogram = {}};
  long double sum = 0;
  std::uint64_t finite = 0;
  for (const double x : sample) {
    found.nan += std::isnan(x) ? 1 : 0;
    found.infinite += std::isinf(x) ? 1 : 0;
    found.zeros += x == 0 ? 1 : 0;
    if (!std::isfinite(x)) continue;
    found.minimum = finite == 0 ? x : std::min(found.minimum, x);
    found.maximum = finite == 0 ? x : std::max(found.maximum, x);
    sum += x;
    ++finite;
  }
  if (finite == 0) return found;
  found.mean = static_cast<double>(sum / static_cast<long double>(finite));
  if (!with_histogram) return found;
  const double width = found.maximum / 2 - found.minimum / 2;  // half of it, which no extremes overflow
  const bool by_number = !is_floating(type) && 2 * width < histogram_bins;
  const std::size_t bins = by_number ? static_cast<std::size_t>(2 * width) + 1 : width > 0 ? histogram_bins : 1;
  found.histogram.assign(bins, 0);
  for (const double x : sample) {
    if (!std::isfinite(x)) continue;
    const double share =
        by_number ? (x - found.minimum) : (x / 2 - found.minimum / 2) / width * static_cast<double>(bins);
    ++found.histogram[bins == 1 ? 0 : std::min(bins - 1, static_cast<std::size_t>(share))];
  }
  return found;
}

std::string text_of_real(ElementType type, double x) {
  return type == ElementType::float64 ? fmt::format("{}", x) : fmt::format("{}", static_cast<float>(x));
}

std::vector<std::string> integer_texts(ir::ElementReader& reader, std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  numbers.resize(reader.read(std::span<std::int64_t>(numbers)));
  std::vector<std::string> texts;
  for (const std::int64_t n : numbers) {
    if (reader.type() == ElementType::boolean)
      texts.emplace_back(n != 0 ? "true" : "false");
    else
      texts.push_back(reader.type() == ElementType::uint64 ? fmt::format("{}", static_cast<std::uint64_t>(n))
                                                           : fmt::format("{}", n));
  }
  return texts;
}

std::vector<std::string> first_texts(ir::ElementReader reader, std::size_t count) {
  const ElementType type = reader.type();
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, reader.count()));
  if (!is_floating(type) && !is_complex_type(type)) return integer_texts(reader, count);
  std::vector<double> numbers(is_complex_type(type) ? 2 * count : count);
  numbers.resize(reader.read(std::span<double>(numbers)));
  std::vector<std::string> texts;
  if (!is_complex_type(type)) {
    for (const double x : numbers) texts.push_back(text_of_real(type, x));
    return texts;
  }
  const ElementType part = type == ElementType::complex128 ? ElementType::float64 : ElementType::float32;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
    texts.push_back(fmt::format("({}, {})", text_of_real(part, numbers[i]), text_of_real(part, numbers[i + 1])));
  return texts;
}

std::uint64_t shown_of(std::uint64_t elements, std::size_t all) { return elements <= all ? elements : shown_values; }

void add_strings(TensorSummary& summary, std::span<const Text> strings, std::size_t all) {
  const auto count = std::min<std::uint64_t>(strings.size(), shown_of(strings.size(), all));
  for (const Text& text : strings.first(static_cast<std::size_t>(count)))
    summary.values.push_back(quote(text, longest_string));
}

/// A list or number among the attributes of a Constant.
TensorSummary listed(ElementType type, std::uint64_t count, bool is_list) {
  TensorSummary summary;
  summary.type = name_of(type);
  summary.elements = count;
  if (is_list) summary.shape = {static_cast<std::int64_t>(count)};
  summary.bytes = count * static_cast<std::uint64_t>(storage_bits(type)) / 8;
  return summary;
}

template <class T>
TensorSummary numbers_of(ElementType type, std::span<const T> numbers, bool is_list, std::uint64_t most) {
  TensorSummary summary = listed(type, numbers.size(), is_list);
  if (most == 0) return summary;
  for (const T x : numbers.first(static_cast<std::size_t>(
           std::min<std::uint64_t>(numbers.size(), shown_of(numbers.size(), all_values_of_constant)))))
    summary.values.push_back(fmt::format("{}", x));
  const auto read = numbers.first(static_cast<std::size_t>(std::min<std::uint64_t>(numbers.size(), most)));
  summary.statistics =
      statistics_of(type, std::vector<double>(read.begin(), read.end()), summary.values.size() < numbers.size());
  return summary;
}

}  // namespace

SampleBudget::SampleBudget(std::vector<std::uint64_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  std::uint64_t left = all_samples;
  most_ = all_samples;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    most_ = std::max(left / (sizes.size() - i), least_samples);
    if (sizes[i] > most_) return;
    left -= std::min(left, sizes[i]);
  }
}

TensorSummary outline_of(const ir::Tensor& tensor) {
  const ElementType type = ir::element_type_of(tensor);
  TensorSummary summary;
  summary.name = tensor.name;
  summary.type = name_of(type);
  summary.shape = tensor.dims;
  const auto count = ir::element_count(tensor);
  summary.elements = static_cast<std::uint64_t>(count.value_or(0));
  summary.bytes = count ? ir::expected_bytes(type, *count).value_or(0) : 0;
  summary.is_external = tensor.is_external();
  return summary;
}

TensorSummary outline_of(const ir::SparseTensor& sparse) {
  TensorSummary summary = sparse.values ? outline_of(*sparse.values) : TensorSummary{};
  summary.is_sparse = true;
  summary.shape = sparse.dims;
  return summary;
}

void add_values(TensorSummary& summary, const ir::Tensor& tensor, const ir::ExternalBytes& external, std::uint64_t most,
                std::size_t all) {
  const ElementType type = ir::element_type_of(tensor);
  if (type == ElementType::string) return add_strings(summary, tensor.string_data, all);
  std::span<const std::byte> outside;
  if (tensor.is_external()) {
    if (!external) return;
    const auto bytes = external(tensor);
    if (!bytes) {
      summary.unread = bytes.error().diagnostic.message;
      return;
    }
    outside = *bytes;
  }
  const auto reader = ir::ElementReader::open(tensor, outside);
  if (!reader) {
    summary.unread = "the data does not fit type and shape";
    return;
  }
  summary.values = first_texts(*reader, static_cast<std::size_t>(shown_of(reader->count(), all)));
  if (is_complex_type(type)) return;
  const bool shows_all = summary.values.size() == reader->count();
  summary.statistics = statistics_of(type, sample_of(tensor, outside, most, *reader), !shows_all);
}

std::optional<TensorSummary> constant_of(const ir::Node& node, const ir::ExternalBytes& external, std::uint64_t most) {
  for (const ir::Attribute& attribute : node.attributes) {
    if (const ir::Tensor* tensor = attribute.tensor()) {
      TensorSummary summary = outline_of(*tensor);
      if (most > 0) add_values(summary, *tensor, external, most, all_values_of_constant);
      return summary;
    }
    if (const auto* sparse = attribute.as<std::unique_ptr<ir::SparseTensor>>(); sparse && *sparse) {
      TensorSummary summary = outline_of(**sparse);
      if (most > 0 && (*sparse)->values)
        add_values(summary, *(*sparse)->values, external, most, all_values_of_constant);
      return summary;
    }
    if (const auto* i = attribute.as<std::int64_t>())
      return numbers_of(ElementType::int64, std::span(i, 1), false, most);
    if (const auto* f = attribute.as<float>()) return numbers_of(ElementType::float32, std::span(f, 1), false, most);
    if (const auto* ints = attribute.as<std::vector<std::int64_t>>())
      return numbers_of(ElementType::int64, std::span<const std::int64_t>(*ints), true, most);
    if (const auto* floats = attribute.as<std::vector<float>>())
      return numbers_of(ElementType::float32, std::span<const float>(*floats), true, most);
    const auto* one = attribute.as<Text>();
    const auto* many = attribute.as<std::vector<Text>>();
    if (!one && !many) continue;
    const auto strings = one ? std::span(one, 1) : std::span<const Text>(*many);
    TensorSummary summary = listed(ElementType::string, strings.size(), many != nullptr);
    if (most > 0) add_strings(summary, strings, all_values_of_constant);
    return summary;
  }
  return std::nullopt;
}

}  // namespace onnxkit::checker
