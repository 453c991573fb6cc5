#include "tools/report/bench/bench_parts.h"
#include "tools/report/page.h"

namespace onnxkit::tools {

std::string bench_html(const std::vector<Benchmark>& benchmarks, const BenchComparison* comparison) {
  Json data = bench_object(benchmarks);
  if (comparison) data["comparison"] = comparison_json(*comparison);
  return page_of("bench_page",
                 {{"/*STYLE*/", "diff_style"},
                  {"/*LICENCE*/", "d3_licence"},
                  {"/*D3*/", "d3"},
                  {"/*NUMBERS*/", "numbers"},
                  {"/*FIGURES*/", "figures"},
                  {"/*ELEMENTS*/", "elements"},
                  {"/*PLOTS*/", "bench_plots"},
                  {"/*SCRIPT*/", "bench_script"}},
                 data);
}

}  // namespace onnxkit::tools
