#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include <fmt/core.h>

#include "tools/report/inspect/inspect.h"

extern char** environ;

namespace onnxkit::tools {
namespace {

/// A quoted Graphviz string; bytes that are not printable ASCII or UTF-8 letters are left to `quote`.
std::string dot_string(std::string_view text) { return quote(text, 80); }

void add_graph(std::string& text, const GraphSummary& graph, std::size_t cluster) {
  const auto id = [cluster](const char* kind, std::size_t i) { return fmt::format("{}_{}_{}", kind, cluster, i); };
  text += fmt::format("  subgraph cluster_{} {{\n    label={};\n", cluster, dot_string(graph.path));
  std::unordered_map<std::string, std::string> source;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    source.emplace(graph.inputs[i].name, id("input", i));
    text += fmt::format("    {} [shape=oval, style=filled, fillcolor=\"#dcefdc\", label={}, tooltip={}];\n",
                        id("input", i), dot_string(graph.inputs[i].name), dot_string(graph.inputs[i].type));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) {
      if (!output.empty()) source.emplace(output, id("node", i));
    }
    text += fmt::format("    {} [label={}, tooltip={}];\n", id("node", i), dot_string(graph.nodes[i].op),
                        dot_string(graph.nodes[i].name));
  }
  const auto add_edge = [&](const std::string& value, const std::string& to, const std::string& type) {
    const auto from = source.find(value);
    if (from != source.end()) text += fmt::format("    {} -> {} [label={}];\n", from->second, to, dot_string(type));
  };
  std::unordered_map<std::string, std::string> type_of;
  for (const ValueSummary& input : graph.inputs) type_of.emplace(input.name, input.type);
  for (const NodeSummary& node : graph.nodes) {
    for (std::size_t o = 0; o < node.outputs.size(); ++o) type_of.emplace(node.outputs[o], node.output_types[o]);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& input : graph.nodes[i].inputs) add_edge(input, id("node", i), type_of[input]);
    for (const std::string& captured : graph.nodes[i].captures) add_edge(captured, id("node", i), type_of[captured]);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text += fmt::format("    {} [shape=oval, style=filled, fillcolor=\"#f3dcdc\", label={}];\n", id("output", i),
                        dot_string(graph.outputs[i].name));
    add_edge(graph.outputs[i].name, id("output", i), graph.outputs[i].type);
  }
  text += "  }\n";
}

Error no_graphviz(std::string why) {
  Error error =
      make_error(ErrorKind::unsupported, "no-graphviz", "Graphviz could not draw the graph: " + std::move(why));
  error.diagnostic.help = "install Graphviz (the program dot), or use --format html, which does not require it";
  return error;
}

struct Pipe {
  int read = -1, write = -1;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  ~Pipe() {
    close(read);
    close(write);
  }
};

/// Feeds `input` to the process and takes its output, both at once so that neither pipe can block the other.
bool exchange(Pipe& to_child, Pipe& from_child, std::string_view input, std::string& output) {
  ::fcntl(to_child.write, F_SETFL, O_NONBLOCK);
  char buffer[65536];
  while (true) {
    pollfd ends[] = {{from_child.read, POLLIN, 0}, {to_child.write, POLLOUT, 0}};
    if (::poll(ends, to_child.write >= 0 ? 2 : 1, -1) < 0 && errno != EINTR) return false;
    if (to_child.write >= 0 && ends[1].revents != 0) {
      const ssize_t n = ::write(to_child.write, input.data(), input.size());
      if (n > 0) input.remove_prefix(static_cast<std::size_t>(n));
      if (input.empty() || (n < 0 && errno != EAGAIN && errno != EINTR)) Pipe::close(to_child.write);
    }
    if (ends[0].revents != 0) {
      const ssize_t n = ::read(from_child.read, buffer, sizeof buffer);
      if (n == 0) return true;
      if (n > 0) output.append(buffer, static_cast<std::size_t>(n));
    }
  }
}

}  // namespace

std::string inspect_dot(const InspectReport& report) {
  std::string text = "digraph model {\n  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=11];\n";
  text += "  edge [fontname=\"Helvetica\", fontsize=9];\n";
  for (std::size_t i = 0; i < report.graphs.size(); ++i) add_graph(text, report.graphs[i], i);
  return text + "}\n";
}

Result<std::string> inspect_svg(const InspectReport& report) {
  Pipe to_child, from_child;
  if (!to_child.open() || !from_child.open()) return no_graphviz(std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_child.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_child.write, STDOUT_FILENO);
  char program[] = "dot", format[] = "-Tsvg";
  char* arguments[] = {program, format, nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return no_graphviz(std::strerror(failed));
  Pipe::close(to_child.read);
  Pipe::close(from_child.write);
  std::string svg;
  const bool complete = exchange(to_child, from_child, inspect_dot(report), svg);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!complete || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return no_graphviz("dot failed");
  return svg;
}

}  // namespace onnxkit::tools
