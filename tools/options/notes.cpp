#include "tools/options/notes.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace onnxkit::tools {

void add_notes(CLI::App& command, Notes& notes, const char* quiet_help) {
  auto* quiet = command.add_flag_callback(
      "--quiet,-q", [&notes] { notes = Notes::none; }, quiet_help);
  command
      .add_flag_callback(
          "--verbose,-v", [&notes] { notes = Notes::steps; }, "Print each step of the work to standard error")
      ->group("Output")
      ->excludes(quiet);
  quiet->group("Output");
}

void note(Notes notes, std::string_view text) {
  if (notes != Notes::none) std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace onnxkit::tools
