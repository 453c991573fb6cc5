#include "tools/report/run.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
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

Range range_of(const std::vector<double>& values) {
  Range range;
  std::size_t finite = 0;
  for (const double x : values) {
    range.nans += std::isnan(x);
    range.infinities += std::isinf(x);
    if (!std::isfinite(x)) continue;
    range.low = range.any ? std::min(range.low, x) : x;
    range.high = range.any ? std::max(range.high, x) : x;
    range.any = true;
    range.mean += x;
    ++finite;
  }
  if (finite > 0) range.mean /= static_cast<double>(finite);
  return range;
}

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

/// The elements, and with them those that double cannot hold.
class Contents {
 public:
  explicit Contents(const Tensor& tensor) : tensor_(tensor), reals_(to_reals(tensor)) {}

  /// Empty for strings and complex numbers.
  const std::vector<double>& reals() const { return reals_; }
  /// Elements can be told one by one.
  bool are_known() const {
    return !reals_.empty() || tensor_.type() == ElementType::string || is_complex(tensor_.type());
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
  const Tensor& tensor_;
  const std::vector<double> reals_;
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

std::vector<std::size_t> highest(std::span<const double> row) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return std::isnan(row[i]) ? -HUGE_VAL : row[i]; };
  std::partial_sort(order.begin(), order.begin() + top, order.end(),
                    [&](std::size_t a, std::size_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  order.resize(top);
  return order;
}

void add_scores(std::string& text, std::span<const double> rows, std::size_t length, const std::string& indent) {
  const std::size_t count = rows.size() / length;
  for (std::size_t row = 0; row < std::min(count, most_rows); ++row) {
    const std::span<const double> scores = rows.subspan(row * length, length);
    text += indent + "top 5:";
    for (const std::size_t i : highest(scores)) text += fmt::format("  {} ({:.5g})", i, scores[i]);
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
  if (contents.reals().empty()) return;
  text += indent + range_text(range_of(contents.reals())) + "\n";
  if (looks_like_scores(tensor))
    add_scores(text, contents.reals(), static_cast<std::size_t>(tensor.dims().back()), indent);
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
  if (!contents.reals().empty()) {
    const Range range = range_of(contents.reals());
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
