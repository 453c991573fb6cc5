#include "libonnxkit/diff/outputs.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/compare/outcome/task_registry.h"
#include "libonnxkit/compare/plots.h"
#include "libonnxkit/diff/matching.h"

namespace onnxkit::diffing {
namespace {

/// A tensor of an output: "y", "y[2]", "y.values".
struct Part {
  std::string name;
  Value base, got;
};

/// The keys of a map, or of the maps of a sequence, as ZipMap makes them, which all have the same; null for all else.
const Tensor* keys_of(const Value& value) {
  if (value.kind == ValueKind::map) return &value.tensor;
  if (value.kind != ValueKind::sequence || value.items.empty()) return nullptr;
  const Value& first = value.items.front();
  const bool alike = std::all_of(value.items.begin(), value.items.end(), [&](const Value& item) {
    return item.kind == ValueKind::map && comparison::identical(Value(item.tensor), Value(first.tensor)) &&
           item.items[0].tensor.type() == first.items[0].tensor.type() &&
           item.items[0].tensor.dims() == first.items[0].tensor.dims();
  });
  return alike ? &first.tensor : nullptr;
}

/// The values of such a map; those of a sequence stacked, one row for each map. Nullopt for strings in a sequence.
std::optional<Tensor> values_of(const Value& value) {
  if (value.kind == ValueKind::map) return value.items[0].tensor;
  const Tensor& first = value.items.front().items[0].tensor;
  std::vector<std::int64_t> dims = first.dims();
  dims.insert(dims.begin(), static_cast<std::int64_t>(value.items.size()));
  std::vector<std::byte> bytes;
  for (const Value& item : value.items) {
    const auto row = item.items[0].tensor.bytes();
    bytes.insert(bytes.end(), row.begin(), row.end());
  }
  auto stacked = Tensor::from_bytes(first.type(), std::move(dims), std::move(bytes));
  return stacked ? std::optional(*std::move(stacked)) : std::nullopt;
}

/// The tensors of a value in the order that part_of reads; where the structures of both part, the whole.
void flatten(const std::string& name, const Value& base, const Value& got, std::vector<Part>& parts) {
  const Tensor *keys = keys_of(base), *others = keys_of(got);
  if (keys && others && base.kind == got.kind && base.items.size() == got.items.size() &&
      comparison::identical(Value(*keys), Value(*others))) {
    const auto a = values_of(base), b = values_of(got);
    if (a && b) {
      parts.push_back({name + ".values", *a, *b});
      return;
    }
  }
  const bool has_parts = base.kind == ValueKind::sequence || base.kind == ValueKind::optional;
  if (!has_parts || base.kind != got.kind || base.items.size() != got.items.size() || base.items.empty()) {
    parts.push_back({name, base, got});
    return;
  }
  for (std::size_t i = 0; i < base.items.size(); ++i)
    flatten(fmt::format("{}[{}]", name, i), base.items[i], got.items[i], parts);
}

/// The part of a value at "[2]", ".values" or a path of these; nullopt where the value has another structure.
std::optional<Value> part_of(Value value, std::string_view path) {
  while (!path.empty()) {
    if (path == ".values") {
      auto values = keys_of(value) ? values_of(value) : std::nullopt;
      return values ? std::optional<Value>(*std::move(values)) : std::nullopt;
    }
    const std::size_t end = path.find(']');
    const std::size_t index = std::stoul(std::string(path.substr(1, end - 1)));
    path.remove_prefix(end + 1);
    if (index >= value.items.size()) return std::nullopt;
    value = Value(value.items[index]);
  }
  return value;
}

std::optional<exec::Spread> part_of(const exec::Spread& spread, std::string_view path) {
  auto exact = part_of(spread.exact, path);
  if (!exact) return std::nullopt;
  exec::Spread part{*std::move(exact), {}, ElementType::undefined, spread.amplified};
  for (const Value& sample : spread.samples) {
    auto value = part_of(sample, path);
    if (!value) return std::nullopt;
    part.samples.push_back(*std::move(value));
  }
  return part;
}

/// Real numbers as they are, complex ones as pairs; empty for strings.
std::vector<double> numbers_of(const Tensor& tensor) {
  if (domain_of(tensor.type()) != Domain::complex) return to_reals(tensor);
  const auto type = tensor.type() == ElementType::complex128 ? ElementType::float64 : ElementType::float32;
  const auto pairs = Tensor::view(type, {tensor.size(), 2}, tensor.bytes(), std::make_shared<Tensor>(tensor));
  return pairs ? to_reals(*pairs) : std::vector<double>();
}

bool is_within(const Tensor& a, const Tensor& b, const OutputTolerance& tolerance) {
  const std::vector<double> left = numbers_of(a), right = numbers_of(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) continue;
    if (!std::isfinite(left[i]) || !std::isfinite(right[i])) return false;
    const double limit = tolerance.absolute.value_or(0) + tolerance.relative.value_or(0) * std::abs(left[i]);
    if (!(std::abs(right[i] - left[i]) <= limit)) return false;
  }
  return true;
}

std::optional<OutputTolerance> tolerance_of(const DiffOptions& options, const std::string& output) {
  const auto found = options.tolerances.find(output);
  if (found != options.tolerances.end()) return found->second;
  if (options.tolerance.relative || options.tolerance.absolute) return options.tolerance;
  return std::nullopt;
}

/// Figures, outcome and plots of tensors that can be compared at all.
void measure(OutputDiff& diff, const std::string& output, const Tensor& a, const Tensor& b, const Criteria& criteria,
             const std::vector<NamedValue>& outputs, const DiffOptions& options) {
  if (auto metrics = compare(a, b)) diff.metrics = *std::move(metrics);
  const auto task = options.tasks.find(output);
  const std::string kind(task != options.tasks.end() ? std::string_view(task->second) : guess_task(a));
  Tensor a_scores, b_scores;
  if (const auto scores = options.scores.find(output); scores != options.scores.end()) {
    for (const NamedValue& value : *criteria.answers) {
      if (value.name == scores->second) a_scores = value.value.tensor;
    }
    for (const NamedValue& value : outputs) {
      if (value.name == scores->second) b_scores = value.value.tensor;
    }
  }
  if (auto result = outcome(kind, a, b, a_scores, b_scores)) diff.outcome = *std::move(result);
  if (!diff.metrics) return;
  diff.scatter = comparison::scatter_of(a, b);
  const comparison::Task* const shown = comparison::task_registry().find(kind);
  if (shown && shown->maps) diff.maps = shown->maps(a, b);
}

/// The spread of an output that the first side may call otherwise; null where none can be told.
const exec::Spread* spread_for(const std::string& output, const std::map<std::string, exec::Spread>& spreads,
                               const std::vector<NamedValue>& answers, const DiffOptions& options) {
  if (const auto found = spreads.find(output); found != spreads.end()) return &found->second;
  std::vector<NamedValue> exact;
  for (const auto& [name, spread] : spreads) exact.push_back({name, spread.exact});
  const auto partners = pair_outputs(exact, answers, options.names, Types::same_domain);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].name == output && partners[i]) return &spreads.at(exact[*partners[i]].name);
  }
  return nullptr;
}

/// The spread with its channels where those of `like` are: as the user says, else when only that fits.
exec::Spread in_layout_of(exec::Spread spread, const std::string& output, const Value& like, const Criteria& criteria,
                          const DiffOptions& options) {
  if (!spread.exact.is_tensor() || !like.is_tensor()) return spread;
  const auto moved = [&](Value value) {
    value = in_axes_of({{output, std::move(value)}}, options, criteria.noise_floor_owner, criteria.base_owner)[0].value;
    const auto order = layout_order(value.tensor.dims(), like.tensor.dims());
    auto tensor = order ? permuted(value.tensor, *order) : std::nullopt;
    return tensor ? Value(*std::move(tensor)) : value;
  };
  exec::Spread result = spread;
  result.exact = moved(std::move(spread.exact));
  for (Value& sample : result.samples) {
    if (sample.is_tensor()) sample = moved(std::move(sample));
  }
  return result;
}

/// Sets of inputs are compared together: what each may be by chance, all may not be.
void compare_pooled(comparison::TensorVerdict& tensor_verdict, const std::string& output, const Criteria& criteria) {
  FloorMeasure& floor = tensor_verdict.floor;
  if (criteria.sets == 1 || !floor.healthy || floor.elements == 0) return;
  Pool& pool = (*criteria.pools)[{output, floor.profile}];
  pool.elements += floor.elements;
  pool.squares += floor.rms * floor.rms * static_cast<double>(floor.elements);
  const double rms = std::sqrt(pool.squares / static_cast<double>(pool.elements));
  const double limit = comparison::rms_limit(pool.elements, criteria.sets);
  if (rms <= limit) return;
  floor.healthy = false;
  tensor_verdict.verdict = Verdict::not_rounding;
  tensor_verdict.why =
      fmt::format("over the {} sets up to this one the rms is {:.3g} sigma; rounding explains at most {:.3g}",
                  criteria.index + 1, rms, limit);
}

/// Verdict by the noise floor, from the finest profile on.
Result<void> compare_by_noise_floor(OutputDiff& diff, const std::string& output, std::string_view path,
                                    const Part& part, const Criteria& criteria, const DiffOptions& options) {
  if (!criteria.noise_floor) return {};
  for (const Profile profile : criteria.profiles) {
    std::optional<exec::Spread> spread;
    comparison::TensorVerdict tensor_verdict;
    for (const bool more : {false, true}) {
      if (more && !tensor_verdict.in_doubt) break;
      // Of numbers, more of the same tells sigma better; what flips by rarer errors is told by larger ones.
      const double amplitude = tensor_verdict.floor.elements > 0 ? 1 : 4;
      const auto spreads = more ? criteria.noise_floor->more_spreads(*criteria.set, criteria.index, profile, amplitude)
                                : criteria.noise_floor->spreads(*criteria.set, criteria.index, profile);
      if (!spreads) return spreads.error();
      const exec::Spread* whole = spread_for(output, **spreads, *criteria.answers, options);
      if (!whole) {
        diff.why = "the model that defines the noise floor has no matching output";
        return {};
      }
      spread = part_of(*whole, path);
      if (spread && criteria.noise_floor_is_foreign)
        spread = in_layout_of(*std::move(spread), output, part.base, criteria, options);
      if (!spread || !spread->exact.is_tensor()) {
        diff.verdict = Verdict::undecidable;
        diff.why = "rounding can change the structure of the output";
        return {};
      }
      tensor_verdict = comparison::verdict_of(*spread, part.got.tensor, profile,
                                              criteria.is_exact ? nullptr : &part.base.tensor, criteria.sets);
    }
    compare_pooled(tensor_verdict, part.name, criteria);
    diff.verdict = tensor_verdict.verdict;
    diff.flips = tensor_verdict.flips;
    diff.why = tensor_verdict.why;
    diff.floors.push_back(tensor_verdict.floor);
    // In a coarser arithmetic the answer may have no numbers there either, as the root of what should be zero.
    const bool same_shape = spread->exact.tensor.dims() == part.got.tensor.dims();
    if (tensor_verdict.verdict == Verdict::mismatch && !same_shape) return {};
    if (!is_finding(tensor_verdict.verdict)) {
      if (tensor_verdict.verdict == Verdict::identical) diff.verdict = Verdict::rounding;
      diff.profile = profile;
      return {};
    }
  }
  return {};
}

Result<OutputDiff> compare_part(const std::string& output, std::string_view path, const Part& part,
                                const Criteria& criteria, const std::vector<NamedValue>& outputs,
                                const DiffOptions& options) {
  OutputDiff diff;
  diff.name = part.name;
  diff.type = type_text(part.base);
  diff.set = criteria.set->name;
  if (part.base.kind != ValueKind::tensor || part.got.kind != ValueKind::tensor) {
    diff.verdict = comparison::identical(part.base, part.got) ? Verdict::identical : Verdict::mismatch;
    if (diff.verdict == Verdict::mismatch)
      diff.why = fmt::format("the value is {} instead of {}", type_text(part.got), type_text(part.base));
    return diff;
  }
  const Tensor &a = part.base.tensor, &b = part.got.tensor;
  const auto tolerance = tolerance_of(options, output);
  if (a.type() != b.type()) {
    diff.verdict = Verdict::mismatch;
    diff.why = fmt::format("the type is {} instead of {}", name_of(b.type()), name_of(a.type()));
    return diff;
  }
  measure(diff, output, a, b, criteria, outputs, options);
  if (comparison::identical(part.base, part.got)) {
    diff.verdict = Verdict::identical;
    const Domain domain = domain_of(a.type());
    for (const Profile profile : criteria.profiles) {
      if (domain == Domain::real || domain == Domain::complex)
        (*criteria.pools)[{part.name, profile}].elements += static_cast<std::uint64_t>(a.size());
    }
    return diff;
  }
  if (auto compared = compare_by_noise_floor(diff, output, path, part, criteria, options); !compared)
    return compared.error();
  const std::uint64_t nan = diff.metrics ? diff.metrics->nan_mismatches : 0;
  const std::uint64_t inf = diff.metrics ? diff.metrics->inf_mismatches : 0;
  const std::string other_numbers =
      fmt::format("{}{}{} on one side only", nan > 0 ? fmt::format("NaN in {} of {} elements", nan, b.size()) : "",
                  nan > 0 && inf > 0 ? ", infinity in "
                  : inf > 0          ? "infinity in "
                                     : "",
                  inf > 0 ? std::to_string(inf) : "");
  if (diff.verdict == Verdict::mismatch && nan + inf > 0) diff.why = other_numbers;
  const bool has_numbers = domain_of(a.type()) != Domain::string;
  if (tolerance && has_numbers && a.dims() == b.dims()) {
    diff.verdict = is_within(a, b, *tolerance) ? Verdict::within : Verdict::beyond;
  } else if (!criteria.noise_floor) {
    const bool same_shape = a.dims() == b.dims();
    diff.verdict = same_shape && nan + inf == 0 ? Verdict::not_compared : Verdict::mismatch;
    diff.why = !same_shape     ? fmt::format("the shape is [{}] instead of [{}]", fmt::join(b.dims(), ", "),
                                             fmt::join(a.dims(), ", "))
               : nan + inf > 0 ? other_numbers
                               : "no noise floor is available and no tolerance was set";
  }
  return diff;
}

}  // namespace

Result<std::vector<OutputDiff>> compare_outputs(const Criteria& criteria, const std::vector<NamedValue>& outputs,
                                                const DiffOptions& options) {
  std::vector<OutputDiff> all;
  for (std::size_t i = 0; i < criteria.answers->size(); ++i) {
    const NamedValue& base = (*criteria.answers)[i];
    std::vector<Part> parts;
    flatten(base.name, base.value, outputs[i].value, parts);
    for (const Part& part : parts) {
      auto diff = compare_part(base.name, std::string_view(part.name).substr(base.name.size()), part, criteria, outputs,
                               options);
      if (!diff) return diff.error();
      all.push_back(*std::move(diff));
    }
  }
  return all;
}

}  // namespace onnxkit::diffing
