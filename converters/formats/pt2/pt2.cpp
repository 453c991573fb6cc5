#include "converters/formats/pt2/pt2.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "converters/containers/json.h"
#include "converters/containers/torch_archive.h"
#include "converters/foreign/import.h"
#include "converters/formats/pt2/functionalize.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/program.h"
#include "converters/formats/pt2/weights.h"
#include "libonnxkit/wire/zip/archive.h"

namespace onnxkit::pt2 {

void register_all_pt2_mappings(Mappings& mappings);

foreign::ReadOperators read_operators() {
  Mappings mappings;
  register_all_pt2_mappings(mappings);
  return mappings.operators();
}

Result<ir::Model> to_onnx(Program& program, std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  const auto written = functionalize(program.model.graph, *program.model.strings);
  if (!written) return written.error();
  std::vector<Written> changes = std::move(program.changes);
  changes.insert(changes.end(), written->begin(), written->end());
  expose_changes(program.model, changes);
  Mappings mappings;
  register_all_pt2_mappings(mappings);
  return foreign::import_model(program.model, mappings, findings, trace);
}

namespace {

using containers::check_byte_order;
using containers::root_of;

constexpr std::string_view format_entry = "archive_format";
constexpr std::string_view old_program_entry = "serialized_exported_program.json";

Result<std::string> text_entry(const wire::ZipArchive& archive, const std::string& name) {
  const wire::ZipEntry* entry = archive.find(name);
  if (!entry) return make_error("malformed-model", "the archive has no entry " + quote(name));
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  return archive.unpack(*entry, most);
}

/// The names of the programs in the archive.
std::vector<std::string> programs_of(const wire::ZipArchive& archive, const std::string& root) {
  std::vector<std::string> names;
  const std::string folder = root + "models/";
  constexpr std::string_view ending = ".json";
  for (const wire::ZipEntry& entry : archive.entries()) {
    if (entry.name.size() <= folder.size() + ending.size() || !entry.name.starts_with(folder)) continue;
    if (!entry.name.ends_with(ending)) continue;
    names.push_back(entry.name.substr(folder.size(), entry.name.size() - folder.size() - ending.size()));
  }
  return names;
}

Result<std::string> chosen_program(const wire::ZipArchive& archive, const std::string& root) {
  std::vector<std::string> names = programs_of(archive, root);
  if (std::find(names.begin(), names.end(), "model") != names.end()) return std::string("model");
  if (names.size() == 1) return names.front();
  const bool is_compiled =
      std::any_of(archive.entries().begin(), archive.entries().end(),
                  [](const wire::ZipEntry& entry) { return entry.name.find("/aotinductor/") != std::string::npos; });
  if (names.empty() && is_compiled)
    return make_error("not-supported", "the archive has compiled code only, no program");
  Error error =
      make_error("not-supported", names.empty() ? "the archive has no program" : "the archive has several programs");
  for (const std::string& name : names)
    error.diagnostic.found += (error.diagnostic.found.empty() ? "" : ", ") + quote(name);
  return error;
}

}  // namespace

bool is_pt2(const std::shared_ptr<const MappedFile>& file) {
  if (!file->view().starts_with("PK")) return false;
  const auto archive = wire::ZipArchive::open(file);
  if (!archive) return false;
  const std::string root = root_of(*archive);
  for (const std::string_view entry : {format_entry, old_program_entry})
    if (archive->find(root + std::string(entry)) || archive->find(entry)) return true;
  return false;
}

Result<ir::Model> read(std::shared_ptr<const MappedFile> file, std::vector<Diagnostic>& findings,
                       foreign::Trace* trace) {
  auto archive = wire::ZipArchive::open(std::move(file));
  if (!archive) return std::move(archive).error();
  const std::string root = root_of(*archive);
  if (auto order = check_byte_order(*archive, root); !order) return std::move(order).error();
  if (archive->find(root + std::string(old_program_entry)) || archive->find(std::string(old_program_entry))) {
    Error error = make_error("not-supported", "archives of torch.export before version 2.8 are not read yet");
    error.diagnostic.help = "load it with torch.export.load and save it again with a newer PyTorch";
    return error;
  }
  const auto name = chosen_program(*archive, root);
  if (!name) return name.error();
  const auto text = text_entry(*archive, root + "models/" + *name + ".json");
  if (!text) return text.error();
  auto document = containers::JsonDocument::parse(*text);
  if (!document) return std::move(document).error();
  auto program = read_program((*document)->root());
  if (!program) return std::move(program).error();
  if (auto added = add_weights(*archive, root, *name, *program); !added) return std::move(added).error();
  program->model.documents.emplace_back(*std::move(document));
  return to_onnx(*program, findings, trace);
}

}  // namespace onnxkit::pt2
