#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/report/samples.h"
#include "tools/report/diff/diff.h"

// report_samples FOLDER: writes every sample's reports as NAME.txt, NAME.json and NAME.html.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: report_samples FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const auto write = [&folder](const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  };
  for (const auto& [name, report] : onnxkit::tests::sample_reports()) {
    write(name + ".txt", onnxkit::tools::diff_text(report, false));
    write(name + ".json", onnxkit::tools::diff_json(report));
    write(name + ".html", onnxkit::tools::diff_html(report));
  }
}
