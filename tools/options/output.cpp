#include "tools/options/output.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "tools/options/choice.h"

namespace onnxkit::tools {

void add_output(CLI::App& command, OutputOptions& options, const std::vector<Format>& formats) {
  std::vector<std::pair<std::string, Format>> words;
  for (const auto& [word, format] : {std::pair{"text", Format::text}, {"json", Format::json}, {"sarif", Format::sarif}})
    if (std::find(formats.begin(), formats.end(), format) != formats.end()) words.emplace_back(word, format);
  add_choice(command, "--format", options.format, words, "Output format")->group("Output");
  add_choice<ColorChoice>(
      command, "--color", options.color,
      {{"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}},
      "Colours in text; auto: on a terminal or if FORCE_COLOR is set, unless NO_COLOR is set")
      ->group("Output");
}

bool color_on(ColorChoice choice, std::FILE* stream) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value != nullptr ? value : "");
  };
  if (!set("NO_COLOR").empty()) return false;
  if (const std::string_view forced = set("FORCE_COLOR"); !forced.empty() && forced != "0") return true;
  return set("TERM") != "dumb" && ::isatty(::fileno(stream)) != 0;
}

}  // namespace onnxkit::tools
