#include "tools/report/run.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/report/diagnostics.h"
#include "tools/report/json.h"
#include "tools/report/units.h"

namespace onnxkit::tools {
namespace {

constexpr std::size_t most_shown = 8;       // elements printed of a small tensor
constexpr std::size_t most_in_json = 1000;  // elements given of a tensor in JSON
constexpr std::size_t most_rows = 4;
constexpr std::size_t top = 5;

struct Range {
  double low = 0, high = 0, mean = 0;
  std::size_t nans = 0, infinities = 0;
  bool any = false;  ///< some element is finite
};

std::string range_text(const Range& range) {
  std::string text = range.any ? fmt::format("from {:.6g} to {:.6g}, mean {:.6g}", range.low, range.high, range.mean)
                               : std::string("no finite element");
  if (range.nans > 0) text += fmt::format(", {} NaN", range.nans);
  if (range.infinities > 0) text += fmt::format(", {} infinite", range.infinities);
  return text;
}

/// Element `at` of numbers that lie in a tensor as T does in memory.
template <class T>
T stored(const Tensor& tensor, std::size_t at) {
  T value;
  std::memcpy(&value, tensor.bytes().data() + at * sizeof(T), sizeof(T));
  return value;
}

std::complex<double> complex_at(const Tensor& tensor, std::size_t at) {
  return tensor.type() == ElementType::complex64 ? std::complex<double>(stored<std::complex<float>>(tensor, at))
                                                 : stored<std::complex<double>>(tensor, at);
}

bool is_complex(ElementType type) { return type == ElementType::complex64 || type == ElementType::complex128; }

/// The elements from `first` on as double, which does not hold all of them exactly. `first` times the bits of an element are whole bytes.
std::vector<double> reals_of(const Tensor& tensor, std::size_t first, std::size_t count) {
  const auto bits = static_cast<std::size_t>(storage_bits(tensor.type()));
  const auto bytes = tensor.bytes().subspan(first * bits / 8, (count * bits + 7) / 8);
  const auto part = Tensor::view(tensor.type(), {static_cast<std::int64_t>(count)}, bytes, nullptr);
  return part ? to_reals(*part) : std::vector<double>();
}

/// The elements, which together may take as much memory as there is: as double they are made in blocks.
class Contents {
 public:
  explicit Contents(const Tensor& tensor) : tensor_(tensor) {
    const bool is_real = tensor.type() != ElementType::string && !is_complex(tensor.type());
    if (is_real) reals_ = reals_of(tensor, 0, std::min(size(), most_in_json));
  }

  /// Not for strings, complex numbers and empty tensors.
  bool has_reals() const { return !reals_.empty(); }
  /// Elements can be told one by one.
  bool are_known() const { return has_reals() || tensor_.type() == ElementType::string || is_complex(tensor_.type()); }

  /// Calls take(index, element) for `count` elements from `first` on.
  template <class F>
  void for_each_real(std::size_t first, std::size_t count, F take) const {
    constexpr std::size_t block = 4096;
    for (std::size_t at = first; at < first + count;) {
      const std::size_t start = at - at % block, end = std::min(start + block, first + count);
      const std::vector<double> reals = reals_of(tensor_, start, end - start);
      for (; at < end; ++at) take(at, reals[at - start]);
    }
  }

  Range range() const {
    Range range;
    std::size_t finite = 0;
    for_each_real(0, size(), [&](std::size_t, double x) {
      range.nans += std::isnan(x);
      range.infinities += std::isinf(x);
      if (!std::isfinite(x)) return;
      range.low = range.any ? std::min(range.low, x) : x;
      range.high = range.any ? std::max(range.high, x) : x;
      range.any = true;
      range.mean += x;
      ++finite;
    });
    if (finite > 0) range.mean /= static_cast<double>(finite);
    return range;
  }

  struct Score {
    std::size_t at;  ///< in its row
    double number;
  };
  /// Of a row of elements, from the highest down; of equal ones the first goes first, NaN last.
  std::vector<Score> highest(std::size_t first, std::size_t length) const {
    const auto key = [](double number) { return std::isnan(number) ? -HUGE_VAL : number; };
    std::vector<Score> best;
    for_each_real(first, length, [&](std::size_t at, double number) {
      if (best.size() == top && key(number) <= key(best.back().number)) return;
      if (best.size() == top) best.pop_back();
      const auto place =
          std::find_if(best.begin(), best.end(), [&](const Score& score) { return key(score.number) < key(number); });
      best.insert(place, {at - first, number});
    });
    return best;
  }

  std::string text(std::size_t at) const {
    switch (tensor_.type()) {
      case ElementType::string:
        return quote(tensor_.strings()[at], 40);
      case ElementType::boolean:
        return reals_[at] != 0 ? "true" : "false";
      case ElementType::int64:
        return fmt::format("{}", stored<std::int64_t>(tensor_, at));
      case ElementType::uint64:
        return fmt::format("{}", stored<std::uint64_t>(tensor_, at));
      case ElementType::complex64:
      case ElementType::complex128: {
        const std::complex<double> z = complex_at(tensor_, at);
        return fmt::format("{:.7g}{:+.7g}j", z.real(), z.imag());
      }
      default:
        return is_integer(tensor_.type()) ? fmt::format("{:.0f}", reals_[at]) : fmt::format("{:.7g}", reals_[at]);
    }
  }

  Json json(std::size_t at) const {
    switch (tensor_.type()) {
      case ElementType::string:
        return tensor_.strings()[at];
      case ElementType::int64:
        return stored<std::int64_t>(tensor_, at);
      case ElementType::uint64:
        return stored<std::uint64_t>(tensor_, at);
      case ElementType::complex64:
      case ElementType::complex128: {
        const std::complex<double> z = complex_at(tensor_, at);
        return Json::array({real_json(z.real()), real_json(z.imag())});
      }
      default:
        return is_integer(tensor_.type()) ? Json(static_cast<std::int64_t>(reals_[at])) : real_json(reals_[at]);
    }
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(tensor_.size()); }

  const Tensor& tensor_;
  std::vector<double> reals_;  ///< the first ones
};

std::string elements_text(const Tensor& tensor, const Contents& contents) {
  std::string text = "[";
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.size()); ++i)
    text += (i > 0 ? ", " : "") + contents.text(i);
  return text + "]";
}

/// Rows of scores: reals whose last axis is long and the longest, so that it is neither an image's nor a box's.
bool looks_like_scores(const Tensor& tensor) {
  if (!is_floating(tensor.type()) || tensor.dims().empty() || tensor.dims().back() < static_cast<std::int64_t>(2 * top))
    return false;
  const std::int64_t rows = tensor.size() / tensor.dims().back();
  const std::size_t rank = tensor.dims().size();
  return rank <= 2 || rows <= static_cast<std::int64_t>(most_rows) || (rank == 3 && rows <= tensor.dims().back());
}

void add_scores(std::string& text, const Tensor& tensor, const Contents& contents, const std::string& indent) {
  const auto length = static_cast<std::size_t>(tensor.dims().back());
  const std::size_t count = static_cast<std::size_t>(tensor.size()) / length;
  for (std::size_t row = 0; row < std::min(count, most_rows); ++row) {
    text += indent + "top 5:";
    for (const auto& [at, number] : contents.highest(row * length, length))
      text += fmt::format("  {} ({:.5g})", at, number);
    text += "\n";
  }
  if (count > most_rows) text += fmt::format("{}... {} more\n", indent, count - most_rows);
}

void add_tensor(std::string& text, const Tensor& tensor, const std::string& indent) {
  const Contents contents(tensor);
  if (tensor.size() <= static_cast<std::int64_t>(most_shown)) {
    if (contents.are_known() || tensor.size() == 0) text += indent + elements_text(tensor, contents) + "\n";
    return;
  }
  if (!contents.has_reals()) return;
  text += indent + range_text(contents.range()) + "\n";
  if (looks_like_scores(tensor)) add_scores(text, tensor, contents, indent);
}

void add_value(std::string& text, const Value& value, const std::string& indent) {
  if (value.is_tensor()) return add_tensor(text, value.tensor, indent);
  for (std::size_t i = 0; i < std::min(value.items.size(), most_shown); ++i) {
    text += fmt::format("{}{}: {}\n", indent, i, type_text(value.items[i]));
    add_value(text, value.items[i], indent + "  ");
  }
  if (value.items.size() > most_shown) text += fmt::format("{}... {} more\n", indent, value.items.size() - most_shown);
}

Json tensor_json(const Tensor& tensor) {
  Json json = {{"type", name_of(tensor.type())}, {"shape", tensor.dims()}};
  const Contents contents(tensor);
  if (contents.has_reals()) {
    const Range range = contents.range();
    if (range.any) json.update({{"min", range.low}, {"max", range.high}, {"mean", range.mean}});
    json.update({{"nan", range.nans}, {"infinite", range.infinities}});
  }
  if (static_cast<std::size_t>(tensor.size()) > most_in_json || (tensor.size() > 0 && !contents.are_known()))
    return json;
  Json values = Json::array();
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.size()); ++i) values.push_back(contents.json(i));
  json["values"] = std::move(values);
  return json;
}

Json value_json(const Value& value) {
  switch (value.kind) {
    case ValueKind::tensor:
      return tensor_json(value.tensor);
    case ValueKind::none:
      return nullptr;
    default:
      break;
  }
  Json items = Json::array();
  for (const Value& item : value.items) items.push_back(value_json(item));
  if (value.kind == ValueKind::map) return {{"keys", tensor_json(value.tensor)}, {"map", std::move(items.at(0))}};
  return {{value.kind == ValueKind::sequence ? "sequence" : "optional", std::move(items)}};
}

}  // namespace

std::string run_text(const RunReport& report) {
  std::size_t width = 0;
  for (const RunInput& input : report.inputs) width = std::max(width, quote(input.name).size());
  for (const NamedValue& output : report.outputs) width = std::max(width, quote(output.name).size());
  std::string text = "inputs\n";
  for (const RunInput& input : report.inputs) {
    if (input.origin == "initializer") continue;
    text += fmt::format("  {:<{}}  {}  ({})\n", quote(input.name), width, type_text(input.value),
                        without_controls(input.origin));
  }
  text += "outputs\n";
  for (const NamedValue& output : report.outputs) {
    text += fmt::format("  {:<{}}  {}\n", quote(output.name), width, type_text(output.value));
    add_value(text, output.value, std::string(width + 4, ' '));
  }
  for (const std::string& warning : report.warnings) text += fmt::format("warning: {}\n", without_controls(warning));
  return text;
}

std::string run_json(const std::string& model, const std::string& backend, const RunReport& report, bool with_times) {
  Json inputs = Json::array(), outputs = Json::array();
  for (const RunInput& input : report.inputs)
    inputs.push_back({{"name", input.name}, {"type", type_text(input.value)}, {"origin", input.origin}});
  for (const NamedValue& output : report.outputs)
    outputs.push_back({{"name", output.name}, {"type", type_text(output.value)}, {"value", value_json(output.value)}});
  Json json = {{"format", "onnxkit-run"}, {"format_version", 1}, {"model", model}, {"backend", backend}};
  if (with_times) json["seconds"] = {{"prepare", report.prepare_seconds}, {"run", report.run_seconds}};
  json["inputs"] = std::move(inputs);
  json["outputs"] = std::move(outputs);
  json["warnings"] = report.warnings;
  return json_text(json);
}

std::string profile_text(std::vector<NodeTime> nodes) {
  constexpr std::size_t most_nodes = 20;
  std::map<std::string, std::pair<double, std::size_t>> by_op;
  double total = 0;
  for (const NodeTime& node : nodes) {
    auto& [seconds, count] = by_op[node.location.op];
    seconds += node.seconds;
    ++count;
    total += node.seconds;
  }
  std::vector<std::pair<std::string, std::pair<double, std::size_t>>> ops(by_op.begin(), by_op.end());
  std::sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  std::string text = fmt::format("{:>10}  {:>6}  {:>6}  operator\n", "ms", "share", "nodes");
  for (const auto& [op, sum] : ops) {
    text += fmt::format("{:>10.3f}  {:>5.1f}%  {:>6}  {}\n", sum.first * 1e3, total > 0 ? 100 * sum.first / total : 0,
                        sum.second, without_controls(op));
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const NodeTime& a, const NodeTime& b) { return a.seconds > b.seconds; });
  if (nodes.size() > most_nodes) nodes.resize(most_nodes);
  text += fmt::format("{:>10}  {:>12}  node\n", "ms", "bytes alive");
  for (const NodeTime& node : nodes) {
    text += fmt::format("{:>10.3f}  {:>12}  {} ({})\n", node.seconds * 1e3, counted(node.live_bytes),
                        without_controls(node.location.path()), without_controls(node.location.op));
  }
  return text;
}

}  // namespace onnxkit::tools
