#pragma once

#include <cstdint>
#include <string_view>

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// What a command says on standard error beside errors and findings.
enum class Notes : std::uint8_t {
  none,   ///< nothing
  usual,  ///< summaries, remarks and, on a terminal, a progress bar
  steps,  ///< a line for each step in place of the bar
};

/// `--quiet`, which a command with more on standard output may explain otherwise, and `--verbose`.
void add_notes(CLI::App& command, Notes& notes,
               const char* quiet_help = "Print neither summaries nor remarks nor progress");

/// Prints the text to standard error unless the command is to be quiet.
void note(Notes notes, std::string_view text);

}  // namespace onnxkit::tools
