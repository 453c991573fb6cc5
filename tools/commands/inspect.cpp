#include "onnxkit/inspect.h"

#include "libonnxkit/base/system/atomic_file.h"
#include "onnxkit/plan.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/model_file.h"
#include "tools/options/choice.h"
#include "tools/options/inference.h"
#include "tools/options/limits.h"
#include "tools/options/sides.h"
#include "tools/options/workers.h"
#include "tools/progress.h"
#include "tools/report/inspect/inspect.h"
#include "tools/report/inspect/marks.h"

namespace onnxkit::tools {
namespace {

enum class Drawing { text, json, dot, svg, html };

struct InspectArguments {
  std::string model;
  std::string output;
  Drawing format = Drawing::text;
  bool by_layer = false, plan = false;
  std::string backend = "cpu";
  std::vector<std::string> reports;
  Limits limits;  ///< of the run that a plan may need
  bool allow_outside_data = false;
  InferenceOptions inference;
  Notes notes = Notes::usual;
};

ErrorReporter reporter(const InspectArguments& arguments) {
  const bool to_stdout = arguments.output.empty() || arguments.output == "-";
  return {"inspect", to_stdout && arguments.format == Drawing::json};
}

/// The page, with what the files of --with-report say.
Result<std::string> page(const InspectReport& report, const InspectArguments& arguments) {
  std::vector<ReportFile> files;
  for (const std::string& path : arguments.reports) {
    auto text = read_file(path);
    if (!text) return text.error();
    files.push_back({path, *std::move(text)});
  }
  const auto marks = marks_of(report, files);
  if (!marks) return marks.error();
  for (const std::string& warning : marks->warnings)
    std::fputs(("onnxkit inspect: warning: " + warning + "\n").c_str(), stderr);
  return inspect_html(report, *marks);
}

Result<std::string> render(const InspectReport& report, const InspectArguments& arguments) {
  switch (arguments.format) {
    case Drawing::text:
      return inspect_text(report);
    case Drawing::json:
      return inspect_json(report);
    case Drawing::dot:
      return inspect_dot(report);
    case Drawing::svg:
      return inspect_svg(report);
    case Drawing::html:
      return page(report, arguments);
  }
  return std::string();
}

/// What the progress bar says while it is drawn.
std::string drawing_label(const InspectReport& report, Drawing format) {
  constexpr std::size_t large = 1000;
  std::size_t nodes = 0;
  for (const GraphSummary& graph : report.graphs) nodes += graph.nodes.size();
  if (format != Drawing::svg) return "drawing";
  return nodes < large ? "drawing with Graphviz" : "drawing with Graphviz, which --format html does not require";
}

Result<std::string> describe(const InspectArguments& arguments) {
  Progress progress("inspecting", 2, arguments.notes);
  progress.start(arguments.model);
  auto model = open_model(arguments.model);
  if (!model) return model.error();
  const auto context = Context::make({.schemas = arguments.inference.schemas});
  if (!context) return context.error();
  const auto dims = declare_dims(*model, arguments.inference.dims, DeclaredSizes::replace);
  if (!dims) return dims.error();
  auto report = inspect(*model, {.dims = *dims,
                                 .values = arguments.format == Drawing::json || arguments.format == Drawing::html,
                                 .context = *context});
  if (!report) return in_file(report.error(), arguments.model);
  report->path = arguments.model;  // standard input and pipes have none
  progress.next(drawing_label(*report, arguments.format));
  const auto text = render(*report, arguments);
  return text && arguments.by_layer ? Result<std::string>(*text + layers_text(*report)) : text;
}

/// What the backend makes of the model, for inputs as `run` generates them.
Result<std::string> describe_plan(const InspectArguments& arguments) {
  Progress progress("planning", 1, arguments.notes);
  progress.start(arguments.model);
  auto model = open_model(arguments.model);
  if (!model) return model.error();
  auto backend = parse_backend(arguments.backend);
  if (!backend) return backend.error();
  // With the backends that make no plan, which are told so.
  auto context = Context::make({.schemas = arguments.inference.schemas, .workers = worker_settings({})});
  if (!context) return context.error();
  auto dims = declare_dims(*model, arguments.inference.dims, DeclaredSizes::keep);
  if (!dims) return dims.error();
  const Interrupt interrupt;
  RunOptions options;
  options.backend = backend->name;
  options.backend_options = backend->options;
  options.context = *std::move(context);
  options.dims = *std::move(dims);
  options.limits = arguments.limits;
  options.allow_outside_data = arguments.allow_outside_data;
  options.stop = interrupt.token();
  if (is_binary_file(arguments.model)) options.unchanged_file = arguments.model;
  const auto summary = summarize_plan(*model, {}, options);
  if (!summary) return in_file(summary.error(), arguments.model);
  return arguments.format == Drawing::json ? plan_json(arguments.model, *summary)
                                           : plan_text(arguments.model, *summary);
}

/// Options that do not go together.
std::string misuse(const CLI::App& command, const InspectArguments& arguments) {
  const bool is_plan_format = arguments.format == Drawing::text || arguments.format == Drawing::json;
  if (arguments.plan && !is_plan_format) return "--plan is text or JSON";
  if (arguments.plan && arguments.by_layer) return "--plan and --by-layer are two tables: choose one";
  if (!arguments.plan && command.count("--backend") > 0) return "--backend makes the plan that --plan shows";
  if (arguments.by_layer && arguments.format != Drawing::text)
    return "--by-layer is a table for --format text; JSON has its figures";
  if (!arguments.reports.empty() && arguments.format != Drawing::html)
    return "--with-report marks nodes of the page that --format html makes";
  return {};
}

/// Without --format, what the name of the output says.
Result<Drawing> drawing_of(const std::string& output) {
  constexpr std::pair<std::string_view, Drawing> known[] = {
      {"", Drawing::text},   {".txt", Drawing::text}, {".json", Drawing::json}, {".dot", Drawing::dot},
      {".gv", Drawing::dot}, {".svg", Drawing::svg},  {".html", Drawing::html}, {".htm", Drawing::html}};
  const std::string extension = std::filesystem::path(output).extension();
  for (const auto& [name, format] : known)
    if (name == extension) return format;
  Error error = make_error("unsupported-format", "no format that inspect writes is named *" + extension);
  error.diagnostic.expected = ".txt, .json, .dot, .gv, .svg, .html or none";
  error.diagnostic.help = "--format chooses the format of a file of any name";
  return error;
}

Outcome run_inspect(const CLI::App& command, InspectArguments& arguments) {
  if (command.count("--format") == 0 && arguments.output != "-") {
    const auto format = drawing_of(arguments.output);
    if (!format) return reporter(arguments)(format.error());
    arguments.format = *format;
  }
  if (const std::string fault = misuse(command, arguments); !fault.empty())
    return reporter(arguments)(make_error("usage", fault));
  const auto text = arguments.plan ? describe_plan(arguments) : describe(arguments);
  if (!text) return reporter(arguments)(text.error());
  if (arguments.output.empty() || arguments.output == "-") {
    std::fwrite(text->data(), 1, text->size(), stdout);
    return Outcome::ok;
  }
  const auto written = replace_file(arguments.output, *text);
  return written ? Outcome::ok : reporter(arguments)(written.error());
}

}  // namespace

void register_inspect(CommandList& list) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = list.app().add_subcommand(
      "inspect", "Show the contents of a model: values, weights, operators, costs, a drawing of the graph");
  command->add_option("MODEL", arguments->model, "Model file, - for standard input")->type_name("")->required();
  add_choice<Drawing>(
      *command, "--format", arguments->format,
      {{"text", Drawing::text},
       {"json", Drawing::json},
       {"dot", Drawing::dot},
       {"svg", Drawing::svg},
       {"html", Drawing::html}},
      "Output format; svg requires Graphviz, which takes minutes for thousands of nodes; html is a single "
      "self-contained page");
  command
      ->add_option("-o,--output", arguments->output,
                   "File to write instead of standard output; its name sets the format if --format does not")
      ->type_name("FILE");
  command->add_flag("--by-layer", arguments->by_layer,
                    "Also print a table of the main graph's nodes: multiply-adds, parameters, bytes of outputs");
  command->add_flag("--plan", arguments->plan,
                    "Show the plan of a backend instead: what its passes fused and what they did not, with the reason, "
                    "and the steps, for sizes as in run; runs models with loops or with sizes that only a run tells");
  command
      ->add_option("--backend,-b", arguments->backend,
                   "Whose plan: cpu or cuda, with options as in cpu:without-pass=recognise_gelu")
      ->type_name("BACKEND")
      ->capture_default_str();
  command
      ->add_option("--with-report", arguments->reports,
                   "Show on the nodes of the page what a JSON report of check or of diff --layers says of them; may be "
                   "repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_limits(*command, arguments->limits, "--plan");
  command
      ->add_flag("--allow-outside-data", arguments->allow_outside_data,
                 "Allow external data outside the model's folder")
      ->needs("--plan");
  add_inference(*command, arguments->inference);
  add_notes(*command, arguments->notes);
  command->footer(
      "Exit status: 0 fine, 2 wrong usage, 3 a file could not be read or written, or Graphviz failed.\n"
      "Examples:\n"
      "  onnxkit inspect model.onnx\n"
      "  onnxkit inspect model.onnx --dim batch=1 --by-layer\n"
      "  onnxkit inspect model.onnx --dim batch=1 --plan\n"
      "  onnxkit inspect model.onnx --format html -o model.html\n"
      "  onnxkit check model.onnx --format json > check.json\n"
      "  onnxkit inspect model.onnx --format html -o model.html --with-report check.json\n"
      "  onnxkit inspect model.onnx --format json | jq .operators");
  list.add(command, [command, arguments] { return run_inspect(*command, *arguments); });
}

}  // namespace onnxkit::tools
