// PyTorch: files of torch.export, which are read and written, of TorchScript, read and written, and source code, which is written. Workers run the first two.
#include "converters/formats/aten/to_aten.h"
#include "converters/formats/pt2/program_writer.h"
#include "converters/formats/pt2/pt2.h"
#include "converters/formats/torch_source/source_writer.h"
#include "converters/formats/torchscript/module.h"
#include "converters/formats/torchscript/module_writer.h"
#include "converters/formats/torchscript/torchscript.h"
#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/ir/clone.h"

namespace onnxkit::formats {
namespace {

Match detect_torch_export(const Source& source) {
  if (!source.file || !source.has("PK")) return Match::no;
  if (pt2::is_pt2(source.file)) return Match::certain;
  return has_extension(source.path, {".pt2"}) ? Match::named
                                              : Match::no;  // a damaged one: its reader says what is wrong
}

Result<ir::Model> with_file(Result<ir::Model> model, const Source& source) {
  if (model) return model;
  Error error = std::move(model).error();
  error.diagnostic.location.file = source.path.string();
  return error;
}

Result<ir::Model> read_torch_export(const Source& source, const ReadOptions& options, ReadReport& report) {
  return with_file(pt2::read(source.file, report.diagnostics, options.mapped), source);
}

Match detect_torchscript(const Source& source) {
  return source.file && source.has("PK") && torchscript::is_torchscript(source.file) ? Match::certain : Match::no;
}

Result<ir::Model> read_torchscript(const Source& source, const ReadOptions& options, ReadReport& report) {
  return with_file(
      torchscript::read(source.file, {options.input_shapes, options.values}, report.diagnostics, options.mapped),
      source);
}

/// The model with ATen's operators. What they cannot express goes into the options' refusals.
Result<foreign::Model> aten_model(ir::Model& model, const SaveOptions& options) {
  std::vector<Diagnostic> refusals;
  auto program = aten::to_aten(model, refusals, options.mapped);
  if (!program && options.refusals) *options.refusals = std::move(refusals);
  return program;
}

using WriteProgram = Result<void> (*)(const foreign::Model& model, const ByteSink& sink);

Result<void> write_file(const foreign::Model& program, const std::filesystem::path& path, WriteProgram write) {
  auto file = AtomicFile::create(path);
  if (!file) return std::move(file).error();
  const auto written = write(program, [&](std::string_view bytes) { return file->write(bytes); });
  return written ? file->publish() : written;
}

template <WriteProgram write>
Result<void> write_torch_file(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options,
                              SaveReport&) {
  ir::Model copy = ir::clone(model);
  const auto program = aten_model(copy, options);
  return program ? write_file(*program, path, write) : Result<void>(program.error());
}

/// Everything that writing does, but for the bytes.
template <WriteProgram... write>
Result<void> try_torch_file(const ir::Model& model, const SaveOptions& options) {
  ir::Model copy = ir::clone(model);
  const auto program = aten_model(copy, options);
  if (!program) return program.error();
  Result<void> done;
  ((done = done ? write(*program, [](std::string_view) { return Result<void>(); }) : done), ...);
  return done;
}

Result<void> write_source_text(const foreign::Model& program, const ByteSink& sink) {
  return sink(torch_source::source_text(program));
}

/// The code finds its weights by its own name.
Result<void> write_torch_source(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options,
                                SaveReport&) {
  ir::Model copy = ir::clone(model);
  const auto program = aten_model(copy, options);
  if (!program) return program.error();
  std::filesystem::path weights = path;
  weights.replace_extension(".safetensors");
  if (auto written = write_file(*program, weights, torch_source::write_weights); !written) return written;
  return write_file(*program, path, write_source_text);
}

}  // namespace

void register_torch(Registry& registry);
void register_torch(Registry& registry) {
  registry.add({.name = "torch-export",
                .title = "a model of torch.export",
                .extensions = {".pt2"},
                .backend = "torch",
                .detect = detect_torch_export,
                .read = read_torch_export,
                .write = write_torch_file<pt2::write_program>,
                .try_write = try_torch_file<pt2::write_program>,
                .written_operators = aten::written_operators,
                .read_operators = pt2::read_operators});
  registry.add({.name = "torchscript",
                .title = "a TorchScript model",
                .extensions = {".pt", ".pth"},
                .backend = "torch",
                .takes_shapes = true,
                .detect = detect_torchscript,
                .read = read_torchscript,
                .write = write_torch_file<torchscript::write_module>,
                .try_write = try_torch_file<torchscript::write_module>,
                .written_operators = aten::written_operators,
                .read_operators = torchscript::read_operators});
  registry.add({.name = "torch-source",
                .title = "a module of PyTorch as code",
                .output_extensions = {".py"},
                .companion = ".safetensors",
                .write = write_torch_source,
                .try_write = try_torch_file<torch_source::write_weights, write_source_text>,
                .written_operators = aten::written_operators});
}

}  // namespace onnxkit::formats
