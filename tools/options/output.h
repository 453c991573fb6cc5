#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace onnxkit::tools {

enum class Format { text, json, sarif };
enum class ColorChoice { automatic, always, never };

struct OutputOptions {
  Format format = Format::text;
  ColorChoice color = ColorChoice::automatic;
};

/// `--format` with the given choices, and `--color`.
void add_output(CLI::App& command, OutputOptions& options, const std::vector<Format>& formats);

/// Whether to colour what goes to `stream`: automatic means a terminal that is not "dumb" or FORCE_COLOR in the environment, and no NO_COLOR there.
bool color_on(ColorChoice choice, std::FILE* stream);

}  // namespace onnxkit::tools
