#include <malloc.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include <CLI/CLI.hpp>

#include "onnxkit/diagnostic.h"
#include "onnxkit/version.h"
#include "tools/command.h"
#include "tools/help.h"

namespace onnxkit::tools {
void register_all_commands(CommandList& list);
}

int main(int argc, char** argv) {
  using onnxkit::tools::Outcome;
  // A reader that closes the pipe is no error: writing fails quietly, and finish_output tells it from a full disk.
  std::signal(SIGPIPE, SIG_IGN);
  // Beyond the limit for the size of files writing fails with a reason.
  std::signal(SIGXFSZ, SIG_IGN);
#ifdef __GLIBC__
  // Models are many small blocks that go together: lists of free ones by size are merged again and again, and the system is asked for little at a
  // time, which takes 16 % of the CPU time of an upgrade of 200,000 functions.
  mallopt(M_MXFAST, 0);
  mallopt(M_TOP_PAD, 1 << 26);
#endif
  try {
    CLI::App app("onnxkit checks, converts, runs and compares ONNX models.", "onnxkit");
    app.formatter(onnxkit::tools::help_formatter(onnxkit::tools::help_width()));
    app.set_version_flag("--version", "onnxkit " + std::string(onnxkit::version()), "Print the version and exit");
    app.footer(
        "Exit status: 0 no finding, 1 a finding, 2 wrong usage, 3 an input could not be read or an output could not be "
        "written.\n"
        "'onnxkit COMMAND --help' describes each command.");
    onnxkit::tools::CommandList commands(app);
    onnxkit::tools::register_all_commands(commands);
    app.set_help_all_flag("--help-all",
                          "Print the help of all commands");  // after the commands, which would inherit it
    const Outcome outcome = onnxkit::tools::parse_and_run(app, commands, argc, argv);
    return static_cast<int>(onnxkit::tools::finish_output(outcome));
  } catch (const std::bad_alloc&) {
    std::fputs("onnxkit: error[out-of-memory]: the system has not enough memory\n", stderr);
    return static_cast<int>(Outcome::failure);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "onnxkit: internal error: %s\n", onnxkit::without_controls(fault.what()).c_str());
    return static_cast<int>(Outcome::failure);
  }
}
