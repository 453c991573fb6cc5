#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "onnxkit/diff.h"
#include "tools/command.h"
#include "tools/options/choice.h"
#include "tools/options/workers.h"
#include "tools/report/backends.h"

namespace onnxkit::tools {
namespace {

struct BackendsArguments {
  WorkerOptions workers;
  std::string format = "text";
};

ErrorReporter reporter(const BackendsArguments& arguments) { return {"backends", arguments.format == "json"}; }

Outcome run_backends(const BackendsArguments& arguments) {
  const auto context = Context::make({.workers = worker_settings(arguments.workers)});
  if (!context) return reporter(arguments)(context.error());
  const std::vector<BackendInfo> found = backends({.context = *context});
  std::fputs((arguments.format == "json" ? backends_json(found) : backends_text(found)).c_str(), stdout);
  return Outcome::ok;
}

}  // namespace

void register_backends(CommandList& list) {
  auto arguments = std::make_shared<BackendsArguments>();
  CLI::App* command = list.app().add_subcommand(
      "backends", "List the backends that can run models here, with versions, and why others cannot");
  add_choice<std::string>(*command, "--format", arguments->format, {{"text", "text"}, {"json", "json"}},
                          "Output format (docs/backends.md)");
  add_workers(*command, arguments->workers);
  command->footer("Example: onnxkit backends --python ~/venv/bin/python");
  list.add(command, [arguments] { return run_backends(*arguments); });
}

}  // namespace onnxkit::tools
