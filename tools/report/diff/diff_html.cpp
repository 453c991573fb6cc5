#include <nlohmann/json.hpp>

#include "tools/report/diff/diff.h"
#include "tools/report/page.h"

namespace onnxkit::tools {

std::string diff_html(const DiffReport& report) {
  return page_of("diff_page",
                 {{"/*STYLE*/", "diff_style"},
                  {"/*LICENCE*/", "d3_licence"},
                  {"/*D3*/", "d3"},
                  {"/*NUMBERS*/", "numbers"},
                  {"/*FIGURES*/", "figures"},
                  {"/*ELEMENTS*/", "elements"},
                  {"/*PLOTS*/", "diff_plots"},
                  {"/*SCRIPT*/", "diff_script"}},
                 diff_object(report, true));
}

}  // namespace onnxkit::tools
