#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/report/bench_samples.h"
#include "tests/report/samples.h"
#include "tools/report/diff/diff.h"

// report_samples FOLDER: writes the reports of every sample of diff as NAME.txt, NAME.json and NAME.html, and into FOLDER/bench those of bench, with
// NAME.trace beside them and what is read back as NAME.again.
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
  std::filesystem::create_directory(folder / "bench");
  for (const auto& [sample, benchmarks, before] : onnxkit::tests::bench_samples()) {
    const auto changes = onnxkit::tools::compare_benchmarks(before, benchmarks, 0.05);
    const auto* comparison = before.empty() ? nullptr : &changes;
    const std::string name = "bench/" + sample, json = onnxkit::tools::bench_json(benchmarks, comparison);
    write(name + ".txt", onnxkit::tools::bench_text(benchmarks, false));
    write(name + ".markdown", onnxkit::tools::bench_markdown(benchmarks));
    write(name + ".csv", onnxkit::tools::bench_csv(benchmarks));
    write(name + ".json", json);
    write(name + ".html", onnxkit::tools::bench_html(benchmarks, comparison));
    write(name + ".trace", onnxkit::tools::bench_trace(benchmarks));
    const auto again = onnxkit::tools::benchmarks_in(json, name);
    write(name + ".again", again ? onnxkit::tools::bench_json(*again, comparison) : again.error().diagnostic.message);
  }
}
