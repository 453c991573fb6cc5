#include "converters/weights/weights.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "converters/weights/file.h"
#include "converters/weights/match.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::weights {
namespace {

using containers::StoredTensor;
using containers::StoredTensors;

std::string shape_text(std::int32_t elem, std::span<const std::int64_t> dims) {
  return fmt::format("{}[{}]", name_of(static_cast<ElementType>(elem)), fmt::join(dims, ", "));
}

Diagnostic finding_at(const ir::Tensor& initializer, std::string code, std::string message) {
  Diagnostic finding;
  finding.code = std::move(code);
  finding.message = std::move(message);
  finding.location.scope = {"main"};
  finding.location.item = "initializer";
  finding.location.item_name = initializer.name.view();
  return finding;
}

/// Rows as columns.
std::string transposed_bytes(const StoredTensor& tensor) {
  const auto rows = static_cast<std::size_t>(tensor.dims[0]), columns = static_cast<std::size_t>(tensor.dims[1]);
  const std::size_t width = rows * columns == 0 ? 0 : tensor.bytes.size() / (rows * columns);
  std::string turned(tensor.bytes.size(), '\0');
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      std::memcpy(turned.data() + (column * rows + row) * width, tensor.bytes.data() + (row * columns + column) * width,
                  width);
  return turned;
}

void put(ir::Model& model, ir::Tensor& initializer, const StoredTensor& tensor, bool is_transposed) {
  std::string_view content(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  if (is_transposed) {
    model.files.push_back(MappedFile::from_bytes(transposed_bytes(tensor)));
    content = model.files.back()->view();
  }
  ir::Tensor filled;
  filled.dims = initializer.dims;
  filled.data_type = initializer.data_type;
  filled.name = initializer.name;
  filled.doc_string = initializer.doc_string;
  filled.metadata_props = std::move(initializer.metadata_props);
  filled.raw_data = content;
  initializer = std::move(filled);
}

/// What keeps the model from getting all of its weights.
void add_findings(const ir::Graph& graph, const StoredTensors& stored, const std::vector<Match>& misfits,
                  const WeightsOptions& options, WeightsReport& report) {
  for (const Match& misfit : misfits) {
    const ir::Tensor& initializer = graph.initializers[misfit.initializer];
    const StoredTensor& tensor = stored.tensors[misfit.tensor];
    Diagnostic finding = finding_at(initializer, "weight-shape",
                                    fmt::format("tensor {} does not fit the initializer", quote(tensor.name)));
    finding.expected = shape_text(initializer.data_type.value_or(0), initializer.dims);
    finding.found = shape_text(static_cast<std::int32_t>(tensor.elem), tensor.dims);
    if (options.partial) finding.severity = Severity::warning;
    report.findings.push_back(std::move(finding));
  }
  for (const std::string& name : report.missing) {
    if (options.partial) continue;
    const auto id = std::find_if(graph.initializers.begin(), graph.initializers.end(),
                                 [&](const ir::Tensor& tensor) { return tensor.name.view() == name; });
    Diagnostic finding = finding_at(*id, "weight-missing", "the file has no tensor for this initializer");
    finding.expected = shape_text(id->data_type.value_or(0), id->dims);
    report.findings.push_back(std::move(finding));
  }
}

}  // namespace

Result<WeightsReport> load_weights(ir::Model& model, const std::filesystem::path& file, const WeightsOptions& options) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  auto stored = read_weights_file(file, options.most_bytes);
  if (!stored) return std::move(stored).error();
  ir::Graph& graph = *model.graph;
  std::vector<Match> misfits;
  const std::vector<Match> matches = match_weights(graph, stored->tensors, misfits);
  WeightsReport report;
  std::vector<bool> is_found(graph.initializers.size(), false), is_used(stored->tensors.size(), false);
  for (const Match& match : matches) {
    is_found[match.initializer] = is_used[match.tensor] = true;
    report.matches.push_back({std::string(graph.initializers[match.initializer].name.view()),
                              stored->tensors[match.tensor].name, match.how, match.is_transposed});
  }
  for (const Match& misfit : misfits) is_found[misfit.initializer] = is_used[misfit.tensor] = true;
  for (std::size_t i = 0; i < graph.initializers.size(); ++i)
    if (!is_found[i] && is_weight(graph.initializers[i]))
      report.missing.emplace_back(graph.initializers[i].name.view());
  for (std::size_t t = 0; t < stored->tensors.size(); ++t)
    if (!is_used[t]) report.unused.push_back(stored->tensors[t].name);
  add_findings(graph, *stored, misfits, options, report);
  if (!report.fits()) return report;
  for (const auto& mapped : stored->files) model.files.push_back(mapped);
  for (const Match& match : matches)
    put(model, graph.initializers[match.initializer], stored->tensors[match.tensor], match.is_transposed);
  return report;
}

}  // namespace onnxkit::weights
