#include "libonnxkit/workers/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace onnxkit::workers {
namespace {

constexpr std::size_t most_trace_lines = 20, longest_trace_line = 1000, longest_message = 16'000;
constexpr std::size_t most_values = 100'000;  ///< inputs, and outputs: with --layers each node's

constexpr std::array<std::pair<std::string_view, ErrorCode>, 5> codes_of_kinds = {
    {{"unsupported", ErrorCode("worker-unsupported")},
     {"invalid", ErrorCode("worker-invalid")},
     {"failed", ErrorCode("worker-failed")},
     {"memory", ErrorCode("worker-memory")},
     {"unavailable", ErrorCode("worker-unavailable")}}};

Error broken(std::string what) { return make_error("worker-protocol", std::move(what)); }

/// The value, unless something was wrong on the way to it.
template <class T>
Result<T> checked(T value, const Fields& fields) {
  if (!fields.ok()) return broken(fields.fault());
  return Result<T>(std::move(value));
}

/// The last lines of a text.
std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.size() > most_trace_lines) lines.erase(lines.begin(), lines.end() - most_trace_lines);
  std::vector<std::string> last;
  for (const std::string_view line : lines) last.push_back(excerpt(line, longest_trace_line));
  return last;
}

/// A trace without the message that it ends with.
std::string_view before_message(std::string_view trace, std::string_view message) {
  const auto trimmed = [](std::string_view text, const char* ends) {
    return text.substr(0, text.find_last_not_of(ends) + 1);
  };
  trace = trimmed(trace, " \r\n");
  if (!trace.ends_with(message)) return trace;
  return trimmed(trace.substr(0, trace.size() - message.size()), ": \r\n");
}

/// A default in whatever form it came.
std::string default_text(const Json& value) {
  if (value.is_null()) return {};
  return excerpt(value.is_string() ? value.get<std::string>() : value.dump());
}

std::map<std::string, exec::OptionDesc> read_options(const Json& options, Fields& fields) {
  std::map<std::string, exec::OptionDesc> read;
  if (!options.is_null() && !options.is_object()) fields.fail("options", "not an object");
  if (!options.is_object()) return read;
  if (options.size() > most_texts) {
    fields.fail("options", fmt::format("{} of them, {} are allowed", options.size(), most_texts));
    return read;
  }
  for (const auto& [name, option] : options.items()) {
    exec::OptionDesc& to = read[name];
    const std::string where = "options." + name;
    to.help = default_text(Fields::member(option, "help"));
    to.fallback = default_text(Fields::member(option, "default"));
    if (!Fields::member(option, "values").is_null()) to.values = fields.texts(option, "values", where);
  }
  return read;
}

std::map<std::string, std::int64_t> read_opsets(const Json& opsets, Fields& fields) {
  std::map<std::string, std::int64_t> read;
  if (!opsets.is_null() && !opsets.is_object()) fields.fail("opsets", "not an object");
  if (!opsets.is_object()) return read;
  if (opsets.size() > most_texts)
    fields.fail("opsets", fmt::format("{} of them, {} are allowed", opsets.size(), most_texts));
  if (!fields.ok()) return read;
  for (const auto& [domain, version] : opsets.items())
    read[domain] = static_cast<std::int64_t>(fields.natural(version, "opsets"));
  return read;
}

exec::ValueDesc read_desc(const Json& described, Fields& fields, const std::string& where) {
  exec::ValueDesc desc;
  desc.name = fields.text(described, "name", where);
  desc.kind = read_kind(Fields::member(described, "kind"), fields, where);
  desc.type = read_type(Fields::member(described, "type"), fields, where);
  desc.optional = fields.flag(described, "optional", false, where);
  desc.has_shape = !Fields::member(described, "shape").is_null();
  if (!desc.has_shape) return desc;
  for (const Json& size : fields.array(described, "shape", where)) {
    const bool known = !size.is_null() && !size.is_string();
    desc.dims.push_back(known ? static_cast<std::int64_t>(fields.natural(size, where + ".shape")) : -1);
  }
  return desc;
}

std::vector<exec::ValueDesc> read_descs(const Json& answer, const char* key, Fields& fields) {
  std::vector<exec::ValueDesc> descs;
  const Json& list = fields.array(answer, key, "");
  if (list.size() > most_values) {
    fields.fail(key, fmt::format("{} of them, {} are allowed", list.size(), most_values));
    return descs;
  }
  for (const Json& described : list)
    descs.push_back(read_desc(described, fields, fmt::format("{}[{}]", key, descs.size())));
  return descs;
}

/// The first of them: a runtime that warns of each node is still of use.
std::vector<std::string> read_warnings(const Json& answer, Fields& fields) {
  const Json& list = fields.array(answer, "warnings", "");
  if (list.size() <= most_texts) return fields.texts(answer, "warnings", "");
  const Json first = {{"warnings", std::vector<Json>(list.begin(), list.begin() + most_texts)}};
  std::vector<std::string> warnings = fields.texts(first, "warnings", "");
  warnings.push_back(fmt::format("... ({} more warnings)", list.size() - most_texts));
  return warnings;
}

std::vector<exec::RunSample> read_samples(const Json& answer, int repeat, Fields& fields) {
  std::vector<exec::RunSample> samples;
  const Json& list = fields.array(answer, "samples", "");
  if (list.size() != static_cast<std::size_t>(repeat))
    fields.fail("samples", fmt::format("{} of {} runs", list.size(), repeat));
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() < 2 || pair.size() > 3) {
      fields.fail("samples", "not all are [wall, cpu] or [wall, cpu, device]");
      break;
    }
    exec::RunSample sample{.wall = fields.seconds(pair[0], "samples")};
    if (!pair[1].is_null()) sample.cpu = fields.seconds(pair[1], "samples");
    if (pair.size() > 2 && !pair[2].is_null()) sample.device = fields.seconds(pair[2], "samples");
    samples.push_back(sample);
  }
  return samples;
}

/// [start or null, seconds] of each run.
std::vector<exec::StepSpan> read_spans(const Json& step, std::size_t runs, Fields& fields, const std::string& where) {
  std::vector<exec::StepSpan> spans;
  const Json& list = fields.array(step, "spans", where);
  if (list.size() != runs) fields.fail(where, fmt::format("spans of {} runs instead of {}", list.size(), runs));
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2) fields.fail(where, "not all spans are [start, seconds]");
    if (!fields.ok()) break;
    exec::StepSpan& span = spans.emplace_back();
    if (!pair[0].is_null()) span.start = fields.seconds(pair[0], where);
    span.seconds = fields.seconds(pair[1], where);
  }
  return spans;
}

exec::StepTime read_step(const Json& described, std::size_t runs, Fields& fields, const std::string& where) {
  exec::StepTime step;
  step.name = fields.text(described, "name", where);
  step.op = fields.text(described, "op", where);
  step.covers = fields.texts(described, "covers", where);
  if (const Json& place = Fields::member(described, "place"); !place.is_null())
    step.place = fields.natural(place, where + ".place");
  if (const Json& bytes = Fields::member(described, "bytes"); !bytes.is_null())
    step.bytes = fields.natural(bytes, where + ".bytes");
  if (const Json& calls = Fields::member(described, "calls"); !calls.is_null())
    step.calls = fields.natural(calls, where + ".calls");
  step.spans = read_spans(described, runs, fields, where);
  return step;
}

}  // namespace

Result<Json> read_answer(std::string_view text, std::int64_t id, std::size_t segments) {
  Json answer = parse_object(text);
  if (answer.is_discarded()) return broken("an answer that is not a JSON object");
  Fields fields;
  const std::uint64_t answered = fields.natural(Fields::member(answer, "id"), "id");
  if (fields.ok() && answered != static_cast<std::uint64_t>(id))
    fields.fail("", fmt::format("an answer to request {} instead of {}", answered, id));
  if (!Fields::member(answer, "ok").is_boolean()) fields.fail("", "\"ok\" must be true or false");
  const Json& counted = Fields::member(answer, "segments");
  const std::uint64_t count = counted.is_null() ? 0 : fields.natural(counted, "segments");
  if (fields.ok() && count != segments)
    fields.fail("", fmt::format("{} segments were announced, but {} arrived", count, segments));
  return checked(std::move(answer), fields);
}

Error read_error(const Json& answer) {
  Fields fields;
  const Json& error = Fields::member(answer, "error");
  const std::string kind = fields.text(error, "kind", "error");
  const Json& said = Fields::member(error, "message");
  if (!said.is_string()) fields.fail("error", "\"message\" must be a string");
  if (!fields.ok()) return broken(fields.fault());
  const auto& message = said.get_ref<const std::string&>();
  const auto* const known =
      std::find_if(codes_of_kinds.begin(), codes_of_kinds.end(), [&](const auto& code) { return code.first == kind; });
  if (known == codes_of_kinds.end()) return broken(fmt::format("an error of unknown kind {}", quote(kind)));
  Error read = make_error(known->second, excerpt(message, longest_message));
  const Json& trace = Fields::member(error, "trace");
  if (trace.is_string())
    read.diagnostic.notes = last_lines(before_message(trace.get_ref<const std::string&>(), message));
  return read;
}

Result<WorkerInfo> read_hello(const Json& answer) {
  Fields fields;
  WorkerInfo info;
  const std::uint64_t version = fields.natural(Fields::member(answer, "protocol"), "protocol");
  if (fields.ok() && version != protocol_version)
    fields.fail("", fmt::format("it uses version {} of the protocol, not {}", version, protocol_version));
  info.runtime = fields.text(answer, "runtime", "");
  info.version = fields.text(answer, "version", "");
  info.devices = fields.texts(answer, "devices", "");
  info.formats = fields.texts(answer, "formats", "");
  info.options = read_options(Fields::member(answer, "options"), fields);
  info.opsets = read_opsets(Fields::member(answer, "opsets"), fields);
  return checked(std::move(info), fields);
}

Result<LoadedModel> read_load(const Json& answer) {
  Fields fields;
  LoadedModel model;
  model.id = static_cast<std::int64_t>(fields.natural(Fields::member(answer, "model"), "model"));
  model.inputs = read_descs(answer, "inputs", fields);
  model.outputs = read_descs(answer, "outputs", fields);
  if (!Fields::member(answer, "warnings").is_null()) model.report.warnings = read_warnings(answer, fields);
  if (!Fields::member(answer, "arithmetic").is_null()) model.report.arithmetic = fields.text(answer, "arithmetic", "");
  model.report.seconds = fields.seconds(Fields::member(answer, "seconds"), "seconds");
  return checked(std::move(model), fields);
}

Result<std::vector<exec::InnerDesc>> read_inner(const Json& answer) {
  Fields fields;
  std::vector<exec::InnerDesc> values;
  const Json& list = fields.array(answer, "values", "");
  if (list.size() > most_values)
    fields.fail("values", fmt::format("{} of them, {} are allowed", list.size(), most_values));
  for (const Json& described : list) {
    if (!fields.ok()) break;
    const std::string where = fmt::format("values[{}]", values.size());
    values.push_back({fields.text(described, "name", where), fields.text(described, "op", where),
                      fields.texts(described, "from", where)});
  }
  return checked(std::move(values), fields);
}

Result<exec::RunProfile> read_profile(const Json& answer, int repeat) {
  Fields fields;
  exec::RunProfile profile;
  const Json& walls = fields.array(answer, "walls", "");
  if (walls.empty() || walls.size() > static_cast<std::size_t>(repeat))
    fields.fail("walls", fmt::format("{} of {} runs", walls.size(), repeat));
  for (const Json& wall : walls) profile.walls.push_back(fields.seconds(wall, "walls"));
  if (!Fields::member(answer, "device").is_null()) profile.device = fields.text(answer, "device", "");
  const Json& list = fields.array(answer, "steps", "");
  if (list.size() > most_values)
    fields.fail("steps", fmt::format("{} of them, {} are allowed", list.size(), most_values));
  for (const Json& described : list) {
    if (!fields.ok()) break;
    profile.steps.push_back(read_step(described, walls.size(), fields, fmt::format("steps[{}]", profile.steps.size())));
  }
  return checked(std::move(profile), fields);
}

Result<exec::RunAnswer> read_run(const Json& answer, const Segments& segments, std::span<const std::string> names,
                                 int repeat) {
  Fields fields;
  exec::RunAnswer run;
  const Json& outputs = fields.array(answer, "outputs", "");
  if (fields.ok() && outputs.size() != names.size())
    fields.fail("", fmt::format("{} outputs instead of {}", outputs.size(), names.size()));
  for (const Json& described : outputs) {
    if (!fields.ok()) break;
    const std::size_t index = run.outputs.size();
    const std::string name = fields.text(described, "name", fmt::format("outputs[{}]", index));
    const std::string where = fmt::format("output {}", quote(name));
    if (fields.ok() && name != names[index]) fields.fail(where, fmt::format("instead of {}", quote(names[index])));
    run.outputs.push_back({name, read_value(described, segments, fields, where)});
  }
  run.samples = read_samples(answer, repeat, fields);
  if (const Json& bytes = Fields::member(answer, "device_bytes"); !bytes.is_null())
    run.device_bytes = fields.natural(bytes, "device_bytes");
  return checked(std::move(run), fields);
}

}  // namespace onnxkit::workers
