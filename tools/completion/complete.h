#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// A word that may come next on a command line.
struct Candidate {
  std::string word, description;
};

enum class PathKind { none, files, folders };

struct Completion {
  std::vector<Candidate> words;     ///< that begin as the one that is typed
  PathKind paths = PathKind::none;  ///< what else may come next
};

/// What may stand for the last of the words of a command line, which is being typed and may be empty; the program's name is none of them.
Completion complete(CLI::App& app, const std::vector<std::string>& words);

}  // namespace onnxkit::tools
