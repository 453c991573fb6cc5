#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "onnxkit/run.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/results.h"

namespace onnxkit::tests::time_limit {
namespace {

/// A graph without inputs that works for many seconds and needs little memory.
struct LongNode {
  const char* name;
  std::string body;
};

std::string filled(const std::string& name, const std::string& sizes, const std::string& value = "float[1] {0.5}") {
  return " " + name + "_sizes = Constant <value = int64[" +
         std::to_string(std::count(sizes.begin(), sizes.end(), ',') + 1) + "] {" + sizes + "}> () " + name +
         " = ConstantOfShape <value = " + value + "> (" + name + "_sizes)";
}

const LongNode long_nodes[] = {
    {"ConvTranspose", filled("x", "1, 1, 64, 64, 64") + filled("k", "1, 1, 64, 64, 64") + " y = ConvTranspose (x, k)"},
    {"Conv", filled("x", "1, 1, 96, 96, 96") + filled("k", "1, 1, 48, 48, 48") + " y = Conv (x, k)"},
    {"MaxPool", filled("x", "1, 4, 1024, 1024") + " y = MaxPool <kernel_shape = [511, 511]> (x)"},
    {"LRN", filled("x", "1, 8192, 64, 64") + " y = LRN <size = 4097> (x)"},
    {"RoiAlign", filled("x", "1, 64, 64, 64") + filled("b", "1", "int64[1] {0}") +
                     " r = Constant <value = float[1, 4] {0, 0, 100000, 100000}> () y = RoiAlign (x, r, b)"},
    {"MaxRoiPool", filled("x", "1, 64, 512, 512") + filled("r", "200, 5", "float[1] {0}") +
                       " y = MaxRoiPool <pooled_shape = [8192, 8]> (x, r)"},
    {"CDist", filled("x", "6000, 2000") + " y = com.microsoft.CDist <metric = \"euclidean\"> (x, x)"},
    {"Multinomial", filled("x", "8, 4000") + " i = Multinomial <sample_size = 20000000> (x) y = Cast <to = 1> (i)"},
    {"Det", filled("x", "4000, 4000") + " y = Det (x)"},
    {"Einsum", filled("x", "512, 512, 64") + " y = Einsum <equation = \"ijk,ilk->jl\"> (x, x)"},
    {"LSTM", filled("x", "2000, 32, 256") + filled("w", "1, 2048, 256") + filled("r", "1, 2048, 512") +
                 " y = LSTM <hidden_size = 512> (x, w, r)"},
    {"DFT", filled("x", "1, 1000003, 1") + " y = DFT (x)"},
};

}  // namespace

TEST_CASE("run: the time limit holds inside long operators") {
  for (const LongNode& node : long_nodes) {
    CAPTURE(node.name);
    const Model model =
        parse_model("<ir_version: 9, opset_import: [\"\" : 20, \"com.microsoft\" : 1]>\nmain () => (float[] y) {" +
                    node.body + " }");
    RunOptions options;
    options.limits.time_ms = 100;
    options.limits.threads = 1;
    // Of the processor, as other work may keep it from this.
    const std::clock_t begin = std::clock();
    const auto report = run(model, {}, options);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    CHECK(code_of(report) == "time-limit");
    CHECK(seconds < 4);
  }
}

}  // namespace onnxkit::tests::time_limit
