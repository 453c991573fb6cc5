#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "onnxkit/ops.h"
#include "tools/command.h"
#include "tools/options/choice.h"
#include "tools/report/operators.h"

namespace onnxkit::tools {
namespace {

struct OpsArguments {
  std::vector<std::string> names;
  std::string domain;
  std::string format = "text";
  std::vector<std::string> schemas;
};

ErrorReporter reporter(const OpsArguments& arguments) { return {"ops", arguments.format == "json"}; }

std::string report(const OpList& list, const OpsArguments& arguments) {
  if (arguments.format == "json") return operators_json(list);
  if (arguments.names.empty()) return operator_table(list);
  std::string text;
  for (const OpInfo& info : list.operators) text += (text.empty() ? "" : "\n\n") + operator_details(info);
  for (const ForeignOp& op : list.foreign) text += (text.empty() ? "" : "\n\n") + foreign_operator_details(op);
  return text;
}

Outcome run_ops(const OpsArguments& arguments) {
  OpQuery query;
  query.names = arguments.names;
  if (!arguments.domain.empty()) query.domain = arguments.domain;
  auto context = Context::make({.schemas = {arguments.schemas.begin(), arguments.schemas.end()}});
  if (!context) return reporter(arguments)(context.error());
  query.context = *std::move(context);
  query.targets = !arguments.names.empty() || arguments.format == "json";
  const auto list = list_operators(query);
  if (!list) return reporter(arguments)(list.error());
  std::fputs(report(*list, arguments).c_str(), stdout);
  return Outcome::ok;
}

}  // namespace

void register_ops(CommandList& list) {
  auto arguments = std::make_shared<OpsArguments>();
  CLI::App* command = list.app().add_subcommand(
      "ops", "Show the versions of operators, their changes, and the targets that support them");
  command
      ->add_option("NAME", arguments->names,
                   "Operators such as Resize or com.microsoft::Gelu; without one, a table of all")
      ->type_name("OPERATOR");
  command->add_option("--domain", arguments->domain, "Only operators of this domain")->type_name("DOMAIN");
  add_choice<std::string>(*command, "--format", arguments->format, {{"text", "text"}, {"json", "json"}},
                          "Output format (docs/ops.md)");
  command
      ->add_option("--schemas", arguments->schemas,
                   "YAML schema pack with more operators (docs/schemas.md); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->footer(
      "Exit status: 0 fine, 2 an unknown operator or domain or other wrong usage, 3 a schema pack could not be read.\n"
      "Example: onnxkit ops Resize Upsample");
  list.add(command, [arguments] { return run_ops(*arguments); });
}

}  // namespace onnxkit::tools
