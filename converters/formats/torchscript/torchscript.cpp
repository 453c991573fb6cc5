#include "converters/formats/torchscript/torchscript.h"

#include "converters/formats/pt2/functionalize.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/torchscript/lower.h"
#include "converters/formats/torchscript/mappings.h"

namespace onnxkit::pt2 {
void register_all_pt2_mappings(Mappings& mappings);
}

namespace onnxkit::torchscript {

void register_all_torchscript_mappings(Mappings& mappings);

foreign::ReadOperators read_operators() {
  pt2::Mappings aten;
  pt2::register_all_pt2_mappings(aten);
  Mappings mappings(aten);
  register_all_torchscript_mappings(mappings);
  return mappings.operators();
}

Result<ir::Model> read(std::shared_ptr<const MappedFile> file, const std::map<std::string, InputShape>& shapes,
                       std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  auto module = read_module(std::move(file));
  if (!module) return std::move(module).error();
  auto model = lower(*module, shapes);
  if (!model) return std::move(model).error();
  if (auto done = pt2::functionalize(model->graph, *model->strings); !done) return std::move(done).error();
  pt2::Mappings aten;
  pt2::register_all_pt2_mappings(aten);
  Mappings mappings(aten);
  register_all_torchscript_mappings(mappings);
  return foreign::import_model(*model, mappings, findings, trace);
}

}  // namespace onnxkit::torchscript
