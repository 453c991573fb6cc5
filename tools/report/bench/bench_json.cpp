#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "tools/report/bench/bench_parts.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

constexpr std::int64_t bench_format_version = 1;

/// A name that is not UTF-8 is lost in JSON, so its bytes stand beside it.
std::string hex_bytes(const std::string& text) {
  std::string hex;
  for (const unsigned char byte : text) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::strtol(hex.substr(i, 2).c_str(), nullptr, 16));
  return bytes;
}

Json failure_json(const std::string& at, const Error& error) {
  return {{"at", at}, {"error", diagnostic_json(error.diagnostic)}};
}

[[noreturn]] void bench_refuse(const Json& json) {
  throw Json::out_of_range::create(401, "a number that no report has", &json);
}

/// Throws Json::exception for what is no whole number of the type.
template <class Whole>
Whole bench_whole(const Json& json) {
  if (!json.is_number_integer()) bench_refuse(json);
  const bool fits = json.is_number_unsigned() ? std::in_range<Whole>(json.get<std::uint64_t>())
                                              : std::in_range<Whole>(json.get<std::int64_t>());
  if (!fits) bench_refuse(json);
  return json.get<Whole>();
}

template <class Whole>
Whole bench_whole(const Json& json, const char* key, Whole missing) {
  return json.contains(key) ? bench_whole<Whole>(json.at(key)) : missing;
}

/// Seconds of a run: those that a worker may tell. Throws Json::exception for others.
double bench_time_from(const Json& json) {
  constexpr double longest = 1e9;
  const auto seconds = json.get<double>();
  if (!(seconds >= 0 && seconds <= longest)) bench_refuse(json);
  return seconds;
}

Location location_from(const Json& json) {
  Location location;
  location.scope = json.value("scope", std::vector<std::string>());
  if (json.contains("node")) location.node = bench_whole<std::uint64_t>(json.at("node"));
  location.node_name = json.value("node_name", "");
  location.op = json.value("op", "");
  location.item = json.value("item", "");
  location.item_name = json.value("item_name", "");
  return location;
}

/// What reports show of it.
Error failure_from(const Json& json) {
  const Json& told = json.at("error");
  Error error = make_error("not-supported", told.at("message").get<std::string>());
  Diagnostic& diagnostic = error.diagnostic;
  diagnostic.code = told.value("code", "");
  if (told.contains("place")) diagnostic.location = location_from(told.at("place"));
  diagnostic.notes = told.value("notes", std::vector<std::string>());
  diagnostic.help = told.value("help", "");
  return error;
}

Json bench_latency_json(const Latency& latency) {
  Json json = {{"runs", latency.runs},
               {"median", latency.median},
               {"p90", latency.p90},
               {"p99", latency.p99},
               {"fastest", latency.fastest}};
  if (latency.interval) json["median_interval"] = {latency.interval->low, latency.interval->high};
  return json;
}

Json known_json(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json bench_profile_json(const BenchProfile& profile) {
  Json steps = Json::array();
  for (const BenchStep& step : profile.steps) {
    steps.push_back({{"name", step.name},
                     {"op", step.op},
                     {"nodes", step.nodes},
                     {"seconds", step.seconds},
                     {"start", step.start},
                     {"last", step.last},
                     {"calls", step.calls},
                     {"operations", known_json(step.operations)},
                     {"bytes", known_json(step.bytes)},
                     {"floor", known_json(step.floor)}});
  }
  Json json = {{"seconds", profile.seconds}, {"runs", profile.runs}, {"device", profile.device}};
  if (profile.roof)
    json["roof"] = {{"operations_per_second", profile.roof->operations_per_second},
                    {"bytes_per_second", profile.roof->bytes_per_second},
                    {"threads", profile.roof->threads}};
  json["steps"] = std::move(steps);
  return json;
}

/// In whole nanoseconds, which are shorter to write than what clocks tell.
Json bench_time_json(const std::optional<double>& seconds) {
  return seconds ? Json(std::round(*seconds * 1e9) / 1e9) : Json();
}

Json bench_rounds_json(const std::vector<BenchRound>& rounds) {
  Json list = Json::array();
  for (const BenchRound& round : rounds) {
    Json runs = Json::array();
    for (const RunTime& run : round) {
      runs.push_back({bench_time_json(run.wall), bench_time_json(run.cpu)});
      if (run.device) runs.back().push_back(bench_time_json(run.device));
    }
    list.push_back(std::move(runs));
  }
  return list;
}

Json bench_side_json(const BenchSideReport& side) {
  Json json = {{"label", side.label},          {"backend", side.backend}, {"version", side.version},
               {"device", side.device},        {"model", side.model},     {"options", side.options},
               {"arithmetic", side.arithmetic}};
  if (!side.warnings.empty()) json["warnings"] = side.warnings;
  if (side.failure) {
    json["failure"] = failure_json(side.failed_at, *side.failure);
    return json;
  }
  json["load_seconds"] = side.load_seconds;
  json["first_seconds"] = side.first_seconds;
  json["warmups"] = side.warmups;
  json["stationary"] = side.stationary;
  json["wall"] = bench_latency_json(side.wall);
  if (side.cpu) json["cpu"] = bench_latency_json(*side.cpu);
  if (side.on_device) json["on_device"] = bench_latency_json(*side.on_device);
  if (side.ratio) json["ratio"] = bench_ratio_json(*side.ratio);
  if (side.cpu_ratio) json["cpu_ratio"] = bench_ratio_json(*side.cpu_ratio);
  if (side.peak_bytes) json["peak_bytes"] = *side.peak_bytes;
  if (side.grown_bytes) json["grown_bytes"] = *side.grown_bytes;
  if (side.device_bytes) json["device_bytes"] = *side.device_bytes;
  if (side.verdict) json["verdict"] = name_of(*side.verdict);
  if (side.rounding) json["rounding"] = name_of(*side.rounding);
  json["why"] = side.why;
  if (!side.notes.empty()) json["notes"] = side.notes;
  if (side.profile) json["profile"] = bench_profile_json(*side.profile);
  if (!side.unprofiled.empty()) json["unprofiled"] = side.unprofiled;
  json["rounds"] = bench_rounds_json(side.rounds);
  return json;
}

std::optional<double> known_in(const Json& json, const char* key) {
  return json.contains(key) && json.at(key).is_number() ? std::optional(json.at(key).get<double>()) : std::nullopt;
}

BenchProfile bench_profile_from(const Json& json) {
  BenchProfile profile;
  profile.seconds = json.at("seconds").get<double>();
  profile.runs = bench_whole<std::size_t>(json.at("runs"));
  profile.device = json.at("device").get<std::string>();
  if (json.contains("roof")) {
    const Json& roof = json.at("roof");
    profile.roof = {roof.at("operations_per_second").get<double>(), roof.at("bytes_per_second").get<double>(),
                    bench_whole<int>(roof.at("threads"))};
  }
  for (const Json& one : json.at("steps")) {
    BenchStep& step = profile.steps.emplace_back();
    step.name = one.at("name").get<std::string>();
    step.op = one.at("op").get<std::string>();
    step.nodes = one.at("nodes").get<std::vector<std::string>>();
    step.seconds = one.at("seconds").get<double>();
    step.start = one.at("start").get<double>();
    step.last = one.at("last").get<double>();
    step.calls = bench_whole<std::uint64_t>(one.at("calls"));
    step.operations = known_in(one, "operations");
    step.bytes = known_in(one, "bytes");
    step.floor = known_in(one, "floor");
  }
  return profile;
}

std::optional<Interval> interval_in(const Json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  return Interval{json.at(key).at(0).get<double>(), json.at(key).at(1).get<double>()};
}

std::optional<Latency> latency_in(const Json& side, const char* key) {
  if (!side.contains(key)) return std::nullopt;
  const Json& json = side.at(key);
  Latency latency;
  latency.runs = bench_whole<std::size_t>(json.at("runs"));
  latency.median = json.at("median").get<double>();
  latency.p90 = json.at("p90").get<double>();
  latency.p99 = json.at("p99").get<double>();
  latency.fastest = json.at("fastest").get<double>();
  latency.interval = interval_in(json, "median_interval");
  return latency;
}

std::optional<Ratio> ratio_in(const Json& side, const char* key) {
  if (!side.contains(key)) return std::nullopt;
  const Json& json = side.at(key);
  return Ratio{json.at("value").get<double>(), interval_in(json, "interval").value_or(Interval()),
               json.at("differs").get<bool>()};
}

void read_rounds(const Json& json, BenchSideReport& side) {
  for (const Json& round : json.at("rounds")) {
    BenchRound& runs = side.rounds.emplace_back();
    for (const Json& run : round) {
      RunTime& time = runs.emplace_back();
      time.wall = bench_time_from(run.at(0));
      if (!run.at(1).is_null()) time.cpu = bench_time_from(run.at(1));
      if (run.size() > 2) time.device = bench_time_from(run.at(2));
    }
  }
}

/// As it was written, but for a failure, of which the message is kept. Members that older reports lack stay empty.
BenchSideReport bench_side_from(const Json& json) {
  BenchSideReport side;
  side.label = json.at("label").get<std::string>();
  side.backend = json.value("backend", "");
  side.version = json.value("version", "");
  side.device = json.value("device", "");
  side.model = json.value("model", "");
  side.options = json.value("options", std::map<std::string, std::string>());
  side.arithmetic = json.value("arithmetic", "");
  side.warnings = json.value("warnings", std::vector<std::string>());
  if (json.contains("failure")) {
    side.failed_at = json.at("failure").at("at").get<std::string>();
    side.failure = failure_from(json.at("failure"));
  }
  if (!json.contains("rounds")) return side;
  side.load_seconds = json.value("load_seconds", 0.0);
  side.first_seconds = json.value("first_seconds", 0.0);
  side.warmups = bench_whole(json, "warmups", std::size_t{0});
  side.stationary = json.value("stationary", true);  // nothing is said where nothing was told
  side.wall = latency_in(json, "wall").value_or(Latency());
  side.cpu = latency_in(json, "cpu");
  side.on_device = latency_in(json, "on_device");
  side.ratio = ratio_in(json, "ratio");
  side.cpu_ratio = ratio_in(json, "cpu_ratio");
  if (json.contains("peak_bytes")) side.peak_bytes = bench_whole<std::uint64_t>(json.at("peak_bytes"));
  if (json.contains("grown_bytes")) side.grown_bytes = bench_whole<std::uint64_t>(json.at("grown_bytes"));
  if (json.contains("device_bytes")) side.device_bytes = bench_whole<std::uint64_t>(json.at("device_bytes"));
  const std::string verdict = json.value("verdict", "");
  for (int i = 0; i <= static_cast<int>(Verdict::mismatch); ++i)
    if (verdict == name_of(static_cast<Verdict>(i))) side.verdict = static_cast<Verdict>(i);
  side.rounding = profile_named(json.value("rounding", ""));
  side.why = json.value("why", "");
  side.notes = json.value("notes", std::vector<std::string>());
  if (json.contains("profile")) side.profile = bench_profile_from(json.at("profile"));
  side.unprofiled = json.value("unprofiled", "");
  read_rounds(json, side);
  return side;
}

std::optional<std::int64_t> integer_in(const Json& json, const char* key) {
  return json.contains(key) && json.at(key).is_number_integer() ? std::optional(json.at(key).get<std::int64_t>())
                                                                : std::nullopt;
}

Benchmark benchmark_from(const Json& json) {
  Benchmark benchmark;
  benchmark.model = json.at("model").get<std::string>();
  if (json.contains("model_bytes")) benchmark.model = bytes_of_hex(json.at("model_bytes").get<std::string>());
  if (json.contains("failure")) benchmark.failure = failure_from(json.at("failure"));
  if (json.contains("seed")) benchmark.seed = bench_whole<std::uint64_t>(json.at("seed"));
  benchmark.input_values = json.value("input_values", "");
  benchmark.has_all_runs = json.value("all_runs", false);
  if (json.contains("max_seconds")) benchmark.max_seconds = json.at("max_seconds").get<double>();
  benchmark.model_states = json.value("model_states", std::vector<std::string>());
  benchmark.runtimes = json.value("runtimes", std::map<std::string, std::string>());
  if (json.contains("fastest")) benchmark.fastest = json.at("fastest").get<std::vector<std::string>>();
  benchmark.batch = integer_in(json, "batch");
  benchmark.threads = integer_in(json, "threads");
  BenchReport& report = benchmark.report;
  report.inputs = json.value("inputs", "");
  if (json.contains("input_types"))
    for (const Json& input : json.at("input_types"))
      report.input_types.push_back({input.at("name").get<std::string>(), input.at("type").get<std::string>()});
  if (json.contains("machine")) {
    report.processor = json.at("machine").value("processor", "");
    report.processors = bench_whole(json.at("machine"), "processors", 0);
    report.memory_bytes = bench_whole(json.at("machine"), "memory_bytes", std::uint64_t{0});
  }
  report.warnings = json.value("warnings", std::vector<std::string>());
  report.lost_processors = json.value("lost_processors", false);
  report.seconds = json.value("seconds", 0.0);
  report.starts = bench_whole(json, "starts", std::size_t{1});
  report.reached_goal = json.value("reached_goal", true);
  report.cancelled = json.value("cancelled", false);
  for (const Json& side : json.at("sides")) report.sides.push_back(bench_side_from(side));
  return benchmark;
}

}  // namespace

std::string in_json(const std::string& name) {
  return Json::parse(Json(name).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

Json bench_ratio_json(const Ratio& ratio) {
  return {{"value", ratio.value}, {"interval", {ratio.interval.low, ratio.interval.high}}, {"differs", ratio.differs}};
}

namespace {

Json benchmark_json(const Benchmark& benchmark) {
  const BenchReport& report = benchmark.report;
  Json sides = Json::array(), types = Json::array();
  for (const BenchSideReport& side : report.sides) {
    sides.push_back(bench_side_json(side));
    if (const auto rate = bench_rate(benchmark, side)) sides.back()["per_second"] = *rate;
  }
  for (const BenchInput& input : report.input_types) types.push_back({{"name", input.name}, {"type", input.type}});
  Json json = {
      {"model", benchmark.model},
      {"batch", benchmark.batch ? Json(*benchmark.batch) : Json()},
      {"threads", benchmark.threads ? Json(*benchmark.threads) : Json()},
      {"inputs", report.inputs},
      {"input_types", std::move(types)},
      {"machine",
       {{"processor", report.processor}, {"processors", report.processors}, {"memory_bytes", report.memory_bytes}}},
      {"warnings", report.warnings},
      {"lost_processors", report.lost_processors},
      {"seconds", report.seconds},
      {"starts", report.starts},
      {"reached_goal", report.reached_goal},
      {"cancelled", report.cancelled}};
  if (in_json(benchmark.model) != benchmark.model) json["model_bytes"] = hex_bytes(benchmark.model);
  if (benchmark.seed) json["seed"] = *benchmark.seed;
  if (benchmark.max_seconds) json["max_seconds"] = *benchmark.max_seconds;
  if (!benchmark.input_values.empty()) json["input_values"] = benchmark.input_values;
  if (benchmark.has_all_runs) json["all_runs"] = true;
  if (!benchmark.model_states.empty()) json["model_states"] = benchmark.model_states;
  if (!benchmark.runtimes.empty()) json["runtimes"] = benchmark.runtimes;
  if (benchmark.is_kept) json["kept"] = true;
  if (benchmark.failure) json["failure"] = failure_json("model", *benchmark.failure);
  if (const BenchSideReport* base = bench_base(report); base && sides.size() > 1) json["ratios_to"] = base->label;
  if (!report.sides.empty()) json["fastest"] = fastest_of(benchmark);
  json["sides"] = std::move(sides);
  return json;
}

constexpr const char* blanks = " \t\r\n";
bool is_blank(const std::string& text) { return text.find_first_not_of(blanks) == std::string::npos; }
bool begins_object(const std::string& text) { return text[text.find_first_not_of(blanks)] == '{'; }

}  // namespace

Json bench_object(const std::vector<Benchmark>& benchmarks) {
  Json list = Json::array();
  for (const Benchmark& benchmark : benchmarks) list.push_back(benchmark_json(benchmark));
  return {{"format", "onnxkit-bench"}, {"format_version", bench_format_version}, {"benchmarks", std::move(list)}};
}

std::string bench_json(const std::vector<Benchmark>& benchmarks, const BenchComparison* comparison) {
  Json json = bench_object(benchmarks);
  if (comparison) json["comparison"] = comparison_json(*comparison);
  return json_text(json);
}

Result<std::vector<Benchmark>> benchmarks_in(const std::string& text, const std::string& path) {
  const auto fault = [&](ErrorCode code, std::string message) {
    Error error = make_error(code, std::move(message));
    error.diagnostic.location.file = path;
    return error;
  };
  constexpr const char *foreign = "this is not a report of onnxkit bench (--format json)",
                       *damaged = "the report is damaged: it ends early, or was changed";
  if (is_blank(text)) return fault("json-syntax", "the file is empty, not a report of onnxkit bench (--format json)");
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    return fault("json-syntax",
                 text.find("onnxkit-bench") == std::string::npos || !begins_object(text) ? foreign : damaged);
  if (!json.is_object() || json.value("format", Json()) != "onnxkit-bench") return fault("json-syntax", foreign);
  const auto version = integer_in(json, "format_version");
  if (version && *version > bench_format_version)
    return fault("not-supported",
                 fmt::format("a newer onnxkit wrote the report: its format_version is {}, and {} is read here",
                             *version, bench_format_version));
  try {
    std::vector<Benchmark> benchmarks;
    for (const Json& one : json.at("benchmarks")) benchmarks.push_back(benchmark_from(one));
    return benchmarks;
  } catch (const Json::exception&) {
    return fault("json-syntax", damaged);
  }
}

}  // namespace onnxkit::tools
