#pragma once

#include <string>

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// The manual page of the program, or of one of its commands, as troff source for man(1): what the help says, in sections.
std::string man_page(const CLI::App& command);

}  // namespace onnxkit::tools
