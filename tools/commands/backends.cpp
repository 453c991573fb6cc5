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

Outcome run_backends(BackendsArguments arguments) {
  resolve_workers(arguments.workers);
  BackendQuery query;
  query.worker_folders = arguments.workers.folders;
  query.python = arguments.workers.python;
  query.start_limit_ms = arguments.workers.start_limit_ms;
  const std::vector<BackendInfo> found = backends(query);
  std::fputs((arguments.format == "json" ? backends_json(found) : backends_text(found)).c_str(), stdout);
  return Outcome::ok;
}

}  // namespace

void register_backends(CommandList& list) {
  auto arguments = std::make_shared<BackendsArguments>();
  CLI::App* command =
      list.app().add_subcommand("backends", "What can run models here, with versions, and why other backends cannot");
  add_choice<std::string>(*command, "--format", arguments->format, {{"text", "text"}, {"json", "json"}},
                          "Form of the output (docs/backends.md)");
  add_workers(*command, arguments->workers);
  command->footer("Example: onnxkit backends --python ~/venv/bin/python");
  list.add(command, [arguments] { return run_backends(*arguments); });
}

}  // namespace onnxkit::tools
