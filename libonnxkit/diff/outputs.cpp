#include "libonnxkit/diff/outputs.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/compare/metrics/metrics.h"
#include "libonnxkit/compare/outcome/outcome.h"
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
  exec::Spread part = spread;
  part.samples.clear();
  part.exact = *std::move(exact);
  for (const Value& sample : spread.samples) {
    // A sample of another structure tells nothing of the part.
    auto value = part_of(sample, path);
    if (value) {
      part.samples.push_back(*std::move(value));
    } else if (const auto left = static_cast<std::size_t>(&spread.samples.back() - &sample); left < spread.amplified) {
      --part.amplified;
    } else if (left < spread.amplified + spread.edges) {
      --part.edges;
    }
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

/// Keys and values that a decoder hands on to its next run have the sizes of a picture, and are none: "present.0.key", "present_key_values".
bool is_cache(std::string_view output) { return output.starts_with("present"); }

/// Figures, outcome and plots of tensors that can be compared at all.
void measure(OutputDiff& diff, const std::string& output, const Tensor& a, const Tensor& b, const Criteria& criteria,
             const std::vector<NamedValue>& outputs, const DiffOptions& options) {
  if (auto metrics = comparison::compare(a, b)) diff.metrics = *std::move(metrics);
  const auto task = options.tasks.find(output);
  const bool has_scores = options.scores.contains(output);
  const std::string kind(task != options.tasks.end() ? std::string_view(task->second)
                         : has_scores                ? "detections"
                         : is_cache(output)          ? no_task
                                                     : comparison::guess_task(a));
  Tensor a_scores, b_scores;
  if (const auto scores = options.scores.find(output); scores != options.scores.end()) {
    for (const NamedValue& value : *criteria.answers) {
      if (value.name == scores->second) a_scores = value.value.tensor;
    }
    for (const NamedValue& value : outputs) {
      if (value.name == scores->second) b_scores = value.value.tensor;
    }
  }
  if (auto result = comparison::outcome(kind, a, b, a_scores, b_scores)) diff.outcome = *std::move(result);
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
  pool.draws += floor.draws;
  pool.squares += floor.rms * floor.rms * static_cast<double>(floor.elements);
  const double rms = std::sqrt(pool.squares / static_cast<double>(pool.elements));
  const double limit = comparison::rms_limit(pool.draws, criteria.sets);
  if (rms <= limit) return;
  floor.healthy = false;
  tensor_verdict.verdict = Verdict::not_rounding;
  tensor_verdict.why =
      fmt::format("over the {} sets up to this one the rms is {:.3g} sigma; rounding explains at most {:.3g}",
                  criteria.index + 1, rms, limit);
}

/// Which samples a verdict is made from: the first, more of them, or some that flip quantized elements near an edge.
enum class Samples : std::uint8_t { first, more, edges, more_edges };

/// How many samples of edges there are. An element that one flip of two moves is missed by few of them in one case of sixteen.
constexpr int few_edges = 4, many_edges = 16;

/// What a part of an output is compared with.
struct Question {
  const std::string& output;
  std::string_view path;
  const Part& part;
  const Criteria& criteria;
  const DiffOptions& options;
};

bool has_same_shape(const Part& part) { return part.base.tensor.dims() == part.got.tensor.dims(); }

/// `exposed` is the share of quantized elements that the samples of edges flipped so far.
bool is_asked(Samples samples, const comparison::TensorVerdict& so_far, Profile profile, double exposed,
              const Question& question) {
  if (samples == Samples::first) return true;
  if (samples == Samples::more) return so_far.in_doubt;
  return (samples == Samples::edges || exposed > 0) && is_finding(so_far.verdict) && has_same_shape(question.part) &&
         profile != Profile::int8 && question.criteria.noise_floor->has_quantizers();
}

/// Null where the floor's model has no such output.
Result<const exec::Spread*> whole_spread(const Question& question, Samples samples, Profile profile, bool by_flips) {
  const Criteria& criteria = question.criteria;
  NoiseFloor& noise_floor = *criteria.noise_floor;
  // Of numbers, more of the same tells sigma better; what flips by rarer errors is told by larger ones.
  const double amplitude = by_flips ? 4 : 1;
  const auto spreads = samples == Samples::first ? noise_floor.spreads(*criteria.set, criteria.index, profile)
                       : samples == Samples::more
                           ? noise_floor.more_spreads(*criteria.set, criteria.index, profile, amplitude)
                           : noise_floor.edge_spreads(*criteria.set, criteria.index, profile,
                                                      samples == Samples::edges ? few_edges : many_edges);
  if (!spreads) return spreads.error();
  return spread_for(question.output, **spreads, *criteria.answers, question.options);
}

std::string share_text(double share) { return fmt::format("{:.2g} % of the quantized elements", 100 * share); }

/// With elements near an edge flipped; what these do not explain stays as it was.
void take_edges(comparison::TensorVerdict& so_far, comparison::TensorVerdict with_edges, double exposed) {
  if (!is_finding(with_edges.verdict)) {
    so_far = std::move(with_edges);
    so_far.why =
        fmt::format("{}{} lie so near an edge between two steps that rounding can flip them, which explains it",
                    so_far.why.empty() ? "" : so_far.why + "; ", share_text(exposed));
  } else if (so_far.why.empty() && exposed > 0) {
    so_far.why = fmt::format("{} lie near an edge between two steps; flipping them does not explain the deviation",
                             share_text(exposed));
  }
}

/// The verdict in one arithmetic; without one there is a reason in `why`.
Result<comparison::TensorVerdict> verdict_in(Profile profile, const Question& question) {
  const auto& [output, path, part, criteria, options] = question;
  comparison::TensorVerdict verdict;
  double exposed = 0;
  for (const Samples samples : {Samples::first, Samples::more, Samples::edges, Samples::more_edges}) {
    if (!is_asked(samples, verdict, profile, exposed, question)) continue;
    const auto whole = whole_spread(question, samples, profile, verdict.by_flips);
    if (!whole) return whole.error();
    if (!*whole) {
      verdict.why = "the model that defines the noise floor has no matching output";
      return verdict;
    }
    std::optional<exec::Spread> spread = part_of(**whole, path);
    if (spread && criteria.noise_floor_is_foreign)
      spread = in_layout_of(*std::move(spread), output, part.base, criteria, options);
    const bool has_samples = spread && ((*whole)->samples.empty() || !spread->samples.empty());
    if (!has_samples || !spread->exact.is_tensor()) {
      verdict = {};
      verdict.why = "rounding can change the structure of the output; no sample has this one";
      return verdict;
    }
    auto found = comparison::verdict_of(*spread, part.got.tensor, profile,
                                        criteria.is_exact ? nullptr : &part.base.tensor, criteria.sets);
    if (samples == Samples::first || samples == Samples::more) {
      verdict = std::move(found);
      continue;
    }
    exposed = spread->exposed;
    take_edges(verdict, std::move(found), exposed);
  }
  return verdict;
}

/// Verdict by the noise floor, from the finest profile on.
Result<void> compare_by_noise_floor(OutputDiff& diff, const Question& question) {
  const Criteria& criteria = question.criteria;
  if (!criteria.noise_floor) return {};
  for (const Profile profile : criteria.profiles) {
    auto verdict = verdict_in(profile, question);
    if (!verdict) return verdict.error();
    compare_pooled(*verdict, question.part.name, criteria);
    diff.verdict = verdict->verdict;
    diff.flips = verdict->flips;
    diff.why = verdict->why;
    if (verdict->floor.elements > 0) diff.floors.push_back(verdict->floor);
    // In a coarser arithmetic the answer may have no numbers there either, as the root of what should be zero.
    if (verdict->verdict == Verdict::mismatch && !has_same_shape(question.part)) return {};
    if (!is_finding(verdict->verdict)) {
      if (verdict->verdict == Verdict::identical) diff.verdict = Verdict::rounding;
      if (verdict->verdict != Verdict::not_compared) diff.profile = profile;
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
  if (auto compared = compare_by_noise_floor(diff, {output, path, part, criteria, options}); !compared)
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
