// The forms of ONNX itself: binary protobuf, the ONNX text syntax, and protobuf's JSON form.
#include <algorithm>

#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/json.h"
#include "libonnxkit/wire/text.h"
#include "libonnxkit/wire/text/looks.h"

namespace onnxkit::formats {
namespace {

Result<ir::Model> read_onnx_binary(const Source& source, const ReadOptions&, ReadReport&) {
  const Source content{.path = {}, .file = source.file};
  auto model = wire::read_binary(source.file, source.path, [&] { return registry().title_of(content); });
  if (model || model.error().diagnostic.code != "not-onnx") return model;
  Error error = model.error();
  if (const Format* other = registry().recognised(content)) error.diagnostic.help = other->help;
  return error;
}

Result<void> encode_onnx_binary(const ir::Model& model, const wire::Placements& placements, const ByteSink& sink,
                                SaveReport&) {
  return wire::write_binary(model, sink, placements);
}

/// The model with its tensors as `placements` say.
Result<ir::Model> placed(const ir::Model& model, const wire::Placements& placements) {
  return wire::read_binary(MappedFile::from_bytes(wire::to_bytes(model, placements)));
}

Match detect_onnx_text(const Source& source) {
  if (has_extension(source.path, {".onnxtxt"})) return Match::named;
  return wire::looks_like_text_syntax(source.bytes()) ? Match::possible : Match::no;
}

Result<ir::Model> read_onnx_text(const Source& source, const ReadOptions&, ReadReport&) {
  return wire::parse_text(source.bytes(), source.path.string());
}

Result<void> encode_onnx_text(const ir::Model& model, const wire::Placements& placements, const ByteSink& sink,
                              SaveReport& report) {
  if (placements.empty()) return sink(wire::print_text(model));
  const auto moved = placed(model, placements);
  return moved ? encode_onnx_text(*moved, {}, sink, report) : moved.error();
}

Match detect_onnx_json(const Source& source) {
  if (has_extension(source.path, {".onnxjson", ".json"})) return Match::named;
  return wire::looks_like_json(source.bytes()) ? Match::possible : Match::no;
}

/// Whether JSON has a key of a model, in either spelling of protobuf.
bool has_key_of_model(std::string_view json) {
  constexpr std::string_view keys[] = {"\"graph\"",       "\"irVersion\"",    "\"ir_version\"",
                                       "\"opsetImport\"", "\"opset_import\"", "\"functions\""};
  return std::any_of(std::begin(keys), std::end(keys),
                     [&](std::string_view key) { return json.find(key) != json.npos; });
}

Result<ir::Model> read_onnx_json(const Source& source, const ReadOptions&, ReadReport&) {
  auto model = wire::parse_json(source.bytes(), source.path.string());
  if (model || model.error().diagnostic.code != "json-syntax" || has_key_of_model(source.bytes())) return model;
  Error error = make_error("not-onnx", "not an ONNX model: this looks like JSON without a model in it");
  error.diagnostic.location.file = source.path.string();
  error.diagnostic.help = "look into the file: servers answer a failed download so";
  return error;
}

Result<void> encode_onnx_json(const ir::Model& model, const wire::Placements& placements, const ByteSink& sink,
                              SaveReport& report) {
  if (!placements.empty()) {
    const auto moved = placed(model, placements);
    return moved ? encode_onnx_json(*moved, {}, sink, report) : moved.error();
  }
  auto json = wire::print_json(model);
  if (!json) return std::move(json).error();
  report.unknown_fields = std::move(json->unknown_fields);
  return sink(json->text);
}

}  // namespace

void register_onnx(Registry& registry);
void register_onnx(Registry& registry) {
  registry.add({.name = "binary",
                .title = "a binary ONNX model",
                .extensions = {".onnx"},
                .output_extensions = {".pb", ""},
                .read = read_onnx_binary,
                .encode = encode_onnx_binary,
                .is_protobuf = true});
  registry.add({.name = "text",
                .title = "the ONNX text form",
                .extensions = {".onnxtxt"},
                .output_extensions = {".txt"},
                .detect = detect_onnx_text,
                .read = read_onnx_text,
                .encode = encode_onnx_text});
  registry.add({.name = "json",
                .title = "JSON",
                .extensions = {".onnxjson"},
                .shared_extensions = {".json"},
                .detect = detect_onnx_json,
                .read = read_onnx_json,
                .encode = encode_onnx_json});
}

}  // namespace onnxkit::formats
