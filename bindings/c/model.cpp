#include <new>

#include "bindings/c/handles.h"
#include "bindings/c/option_reader.h"
#include "onnxkit/diagnostic.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::c {
namespace {

using nlohmann::json;

std::string findings_json(const std::vector<Diagnostic>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Diagnostic& finding : findings) list.push_back(tools::diagnostic_json(finding));
  return tools::json_text(list);
}

/// Numbers and names.
std::optional<std::vector<std::string>> sizes_of(const json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::string> sizes;
  for (const json& size : list) {
    if (size.is_string())
      sizes.push_back(size.get<std::string>());
    else if (size.is_number_integer())
      sizes.push_back(size.dump());
    else
      return std::nullopt;
  }
  return sizes;
}

std::optional<InputShape> shape_of(const json& member) {
  if (member.is_array()) {
    auto sizes = sizes_of(member);
    return sizes ? std::optional(InputShape{*std::move(sizes)}) : std::nullopt;
  }
  if (!member.is_object() || !member.contains("sizes")) return std::nullopt;
  auto sizes = sizes_of(member["sizes"]);
  if (!sizes) return std::nullopt;
  InputShape shape{*std::move(sizes)};
  if (!member.contains("type")) return shape;
  const auto type = member["type"].is_string() ? element_type_named(member["type"].get<std::string>()) : std::nullopt;
  if (!type) return std::nullopt;
  shape.type = *type;
  return shape;
}

void read_shapes(OptionReader& options, std::map<std::string, InputShape>& shapes) {
  const json* member = options.find("shapes");
  if (!member) return;
  constexpr const char* form = R"(an object with {"x": [1, 3, "N"]} or {"x": {"sizes": [1], "type": "int64"}})";
  if (!member->is_object()) return options.wrong("shapes", form);
  for (const auto& [name, value] : member->items()) {
    auto shape = shape_of(value);
    if (!shape) return options.wrong("shapes", form);
    shapes.insert_or_assign(name, *std::move(shape));
  }
}

Result<ReadOptions> read_options(const char* text) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  ReadOptions read;
  options->read("format", read.format);
  options->read("signature", read.signature);
  options->read("values", read.values);
  read_shapes(*options, read.input_shapes);
  if (auto done = options->finish(); !done) return done.error();
  return read;
}

Result<SaveOptions> save_options(const char* text, bool is_file) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  SaveOptions save;
  options->read("format", save.format);
  std::vector<std::pair<std::string, Weights>> words = {{"keep", Weights::keep}, {"embed", Weights::embed}};
  if (is_file) {
    words.emplace_back("extract", Weights::extract);
    options->read("data_file", save.sidecar);
    options->read("file_per_tensor", save.file_per_tensor);
    options->read("threshold", save.threshold);
    options->read("force", save.force);
  }
  options->read_word("weights", save.weights, words);
  options->read("allow_outside_data", save.allow_outside_data);
  if (auto done = options->finish(); !done) return done.error();
  return save;
}

/// What a reader gave; its findings are told whether it did or not.
Result<void> take(Result<Model> read, const ReadReport& report, onnxkit_model** model, onnxkit_text** findings) {
  set(findings, findings_json(report.diagnostics));
  if (!read) return read.error();
  *model = new onnxkit_model{*std::move(read)};
  return {};
}

}  // namespace

}  // namespace onnxkit::c

using namespace onnxkit;
using namespace onnxkit::c;

extern "C" {

onnxkit_error* onnxkit_model_read(const char* path, const char* options, onnxkit_model** model,
                                  onnxkit_text** findings) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(path, "path"); !there) return there;
    const auto read = read_options(options);
    if (!read) return read.error();
    ReadReport report;
    auto given = read_model(path, *read, &report);
    return take(std::move(given), report, model, findings);
  });
}

onnxkit_error* onnxkit_model_read_bytes(const void* bytes, size_t size, const char* name, const char* options,
                                        onnxkit_model** model, onnxkit_text** findings) {
  return guarded([&]() -> Result<void> {
    if (auto there = size == 0 ? Result<void>() : needs(bytes, "bytes"); !there) return there;
    const auto read = read_options(options);
    if (!read) return read.error();
    ReadReport report;
    std::string copy(static_cast<const char*>(bytes), size);
    auto given = read_model_bytes(std::move(copy), text_or_empty(name), *read, &report);
    return take(std::move(given), report, model, findings);
  });
}

onnxkit_error* onnxkit_model_write(const onnxkit_model* model, const char* path, const char* options,
                                   onnxkit_text** findings) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(path, "path"); !there) return there;
    if (auto there = needs(model, "model"); !there) return there;
    auto save = save_options(options, true);
    if (!save) return save.error();
    std::vector<Diagnostic> told;
    save->refusals = &told;
    auto saved = write_model(model->model, path, *save);
    if (saved) told.insert(told.end(), saved->diagnostics.begin(), saved->diagnostics.end());
    set(findings, findings_json(told));
    return saved ? Result<void>() : saved.error();
  });
}

onnxkit_error* onnxkit_model_bytes(const onnxkit_model* model, const char* options, onnxkit_text** bytes) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(model, "model"); !there) return there;
    const auto save = save_options(options, false);
    if (!save) return save.error();
    std::string written;
    const ByteSink sink = [&written](std::string_view part) -> Result<void> {
      written += part;
      return {};
    };
    const auto saved = write_model(model->model, sink, *save);
    if (!saved) return saved.error();
    set(bytes, std::move(written));
    return {};
  });
}

onnxkit_model* onnxkit_model_copy(const onnxkit_model* model) {
  return or_null([&] { return new onnxkit_model{model->model}; });
}

void onnxkit_model_free(onnxkit_model* model) { delete model; }

}  // extern "C"
