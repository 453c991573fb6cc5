#include "onnxkit/version.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "tools/command.h"

namespace onnxkit::tools {

void register_version(CommandList& list) {
  CLI::App* command = list.app().add_subcommand("version", "Print the version");
  list.add(command, [] {
    std::printf("onnxkit %s\n", std::string(version()).c_str());
    return Outcome::ok;
  });
}

}  // namespace onnxkit::tools
