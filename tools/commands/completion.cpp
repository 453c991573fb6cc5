#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>

#include "onnxkit/diagnostic.h"
#include "scripts/cmake/embedded.h"
#include "tools/command.h"

namespace onnxkit::tools {

std::span<const EmbeddedText> completion_scripts();  // tools/completion/scripts, a file for each shell

namespace {

Outcome print_script(const CLI::App& command, const std::string& shell) {
  std::vector<std::string> shells;
  for (const EmbeddedText& script : completion_scripts()) {
    shells.emplace_back(script.name);
    if (script.name != shell) continue;
    std::fwrite(script.text.data(), 1, script.text.size(), stdout);
    return Outcome::ok;
  }
  return usage_error(command, "no completion for " + quote(shell) + did_you_mean(shell, shells));
}

}  // namespace

void register_completion(CommandList& list) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = list.app().add_subcommand("completion", "Print the script by which a shell completes commands");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->type_name("bash|zsh|fish")->required();
  command->footer(
      "Installed packages have these scripts where shells look for them. Otherwise:\n"
      "  source <(onnxkit completion bash)                                   # in ~/.bashrc\n"
      "  onnxkit completion zsh > ~/.zsh/_onnxkit                            # a folder of fpath\n"
      "  onnxkit completion fish > ~/.config/fish/completions/onnxkit.fish");
  list.add(command, [command, shell] { return print_script(*command, *shell); });
}

}  // namespace onnxkit::tools
