// PyTorch: files of torch.export and of TorchScript. Workers run both.
#include "converters/formats/pt2/pt2.h"
#include "converters/formats/torchscript/module.h"
#include "converters/formats/torchscript/torchscript.h"
#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/formats/frame/registry.h"

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

Result<ir::Model> read_torch_export(const Source& source, const ReadOptions&, ReadReport& report) {
  return with_file(pt2::read(source.file, report.diagnostics), source);
}

Match detect_torchscript(const Source& source) {
  return source.file && source.has("PK") && torchscript::is_torchscript(source.file) ? Match::certain : Match::no;
}

Result<ir::Model> read_torchscript(const Source& source, const ReadOptions& options, ReadReport& report) {
  return with_file(torchscript::read(source.file, options.input_shapes, report.diagnostics), source);
}

Result<void> write_torch_export(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options,
                                SaveReport&) {
  auto file = AtomicFile::create(path);
  if (!file) return std::move(file).error();
  std::vector<Diagnostic> refusals;
  const auto written = pt2::write(
      model, [&](std::string_view bytes) { return file->write(bytes); }, refusals);
  if (!written) {
    if (options.refusals) *options.refusals = std::move(refusals);
    return written;
  }
  return file->publish();
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
                .write = write_torch_export});
  registry.add({.name = "torchscript",
                .title = "a TorchScript model",
                .extensions = {".pt", ".pth"},
                .backend = "torch",
                .takes_shapes = true,
                .detect = detect_torchscript,
                .read = read_torchscript});
}

}  // namespace onnxkit::formats
