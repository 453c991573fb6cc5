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
#include "converters/formats/pt2/wrapped.h"
#include "libonnxkit/wire/zip/archive.h"

namespace onnxkit::pt2 {

void register_all_pt2_mappings(Mappings& mappings);

foreign::ReadOperators read_operators() {
  Mappings mappings;
  register_all_pt2_mappings(mappings);
  return mappings.operators();
}

Result<ir::Model> to_onnx(Program& program, std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  inline_wrapped(program.model.graph);
  const auto written = functionalize(program.model.graph, *program.model.strings);
  if (!written) return written.error();
  std::vector<Written> changes = std::move(program.changes);
  changes.insert(changes.end(), written->begin(), written->end());
  foreign::expose_changes(program.model, changes);
  Mappings mappings;
  register_all_pt2_mappings(mappings);
  return foreign::import_model(program.model, mappings, findings, trace);
}

namespace {

using containers::check_byte_order;
using containers::root_of;

constexpr std::string_view format_entry = "archive_format";
constexpr std::string_view old_program_entry = "serialized_exported_program.json";  // before torch 2.8

Result<std::string> text_entry(const wire::ZipArchive& archive, const std::string& name) {
  const wire::ZipEntry* entry = archive.find(name);
  if (!entry) return make_error("malformed-model", "the archive has no entry " + quote(name));
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  return archive.unpack(*entry, most);
}

/// A copy with quotes around Python's words for numbers that JSON lacks: PyTorch wrote them bare before 2.7.
std::string with_quoted_numbers(std::string_view text) {
  constexpr std::string_view words[] = {"-Infinity", "Infinity", "NaN"};
  std::string copy;
  copy.reserve(text.size());
  bool is_in_string = false;
  while (!text.empty()) {
    std::size_t size = 1;
    if (text.front() == '"') {
      is_in_string = !is_in_string;
    } else if (is_in_string && text.front() == '\\') {
      size = std::min<std::size_t>(2, text.size());
    } else if (!is_in_string) {
      const auto* word = std::find_if(std::begin(words), std::end(words),
                                      [&](std::string_view candidate) { return text.starts_with(candidate); });
      if (word != std::end(words)) {
        copy.append("\"").append(*word).append("\"");
        text.remove_prefix(word->size());
        continue;
      }
    }
    copy.append(text.substr(0, size));
    text.remove_prefix(size);
  }
  return copy;
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

/// Of a program before torch 2.8: files of a user may make a folder of their own, the first of the archive.
const wire::ZipEntry* old_program_of(const wire::ZipArchive& archive) {
  const wire::ZipEntry* entry = archive.find(root_of(archive) + std::string(old_program_entry));
  return entry ? entry : archive.find(old_program_entry);
}

std::string folder_of(const wire::ZipEntry& entry) { return entry.name.substr(0, entry.name.rfind('/') + 1); }

}  // namespace

bool is_pt2(const std::shared_ptr<const MappedFile>& file) {
  if (!file->view().starts_with("PK")) return false;
  const auto archive = wire::ZipArchive::open(file);
  if (!archive) return false;
  return old_program_of(*archive) || archive->find(root_of(*archive) + std::string(format_entry)) ||
         archive->find(format_entry);
}

Result<ir::Model> read(std::shared_ptr<const MappedFile> file, std::vector<Diagnostic>& findings,
                       foreign::Trace* trace) {
  auto archive = wire::ZipArchive::open(std::move(file));
  if (!archive) return std::move(archive).error();
  const std::string root = root_of(*archive);
  if (auto order = check_byte_order(*archive, root); !order) return std::move(order).error();
  const wire::ZipEntry* old_program = old_program_of(*archive);
  const auto name = old_program ? Result<std::string>(std::string()) : chosen_program(*archive, root);
  if (!name) return name.error();
  const auto text = text_entry(*archive, old_program ? old_program->name : root + "models/" + *name + ".json");
  if (!text) return text.error();
  auto document = containers::JsonDocument::parse(old_program ? with_quoted_numbers(*text) : *text);
  if (!document) return std::move(document).error();
  auto program = read_program((*document)->root());
  if (!program) return std::move(program).error();
  auto added = old_program ? add_pickled_weights(*archive, folder_of(*old_program), *program)
                           : add_weights(*archive, root, *name, *program);
  if (!added) return std::move(added).error();
  program->model.documents.emplace_back(*std::move(document));
  return to_onnx(*program, findings, trace);
}

}  // namespace onnxkit::pt2
