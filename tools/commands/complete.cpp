#include "tools/completion/complete.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "onnxkit/diagnostic.h"
#include "tools/command.h"

namespace onnxkit::tools {
namespace {

/// The paths that fit, then the words that do, each with a tab and its description.
Outcome print_completion(CLI::App& app, const std::vector<std::string>& words) {
  const Completion completion = complete(app, words);
  std::string text = completion.paths == PathKind::files     ? "files\n"
                     : completion.paths == PathKind::folders ? "folders\n"
                                                             : "none\n";
  for (const Candidate& candidate : completion.words) text += candidate.word + "\t" + candidate.description + "\n";
  std::fputs(text.c_str(), stdout);
  return Outcome::ok;
}

}  // namespace

/// What the scripts of `onnxkit completion` call; not among the commands of the help.
void register_complete(CommandList& list) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = list.app().add_subcommand("complete", "List the words that may come next on a command line");
  command->add_option("WORD", *words, "The words of the command line; the last is completed")->type_name("");
  list.add_hidden(command, [words, &app = list.app()] { return print_completion(app, *words); });
}

}  // namespace onnxkit::tools
