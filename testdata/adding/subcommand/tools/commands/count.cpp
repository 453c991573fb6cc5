#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "onnxkit/inspect.h"
#include "tools/command.h"
#include "tools/model_file.h"

namespace onnxkit::tools {
namespace {

Outcome run_count(const std::string& path) {
  const auto model = open_model(path);
  if (!model) return report_error(model.error());
  const auto report = inspect(*model);
  if (!report) return report_error(report.error());
  std::size_t nodes = 0;
  for (const GraphSummary& graph : report->graphs) nodes += graph.nodes.size();
  std::printf("%zu\n", nodes);
  return Outcome::ok;
}

}  // namespace

void register_count(CommandList& list) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = list.app().add_subcommand("count", "Print the number of nodes of a model");
  command->add_option("MODEL", *path, "Model file, - for standard input")->type_name("")->required();
  command->footer("Exit status: 0 fine, 2 wrong usage, 3 the model could not be read.");
  list.add(command, [path] { return run_count(*path); });
}

}  // namespace onnxkit::tools
