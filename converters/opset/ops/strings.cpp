#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {

void register_strings(StepRegistry& registry) {
  registry.introduced({"TfIdfVectorizer"}, 9, never("no older operators count n-grams"));
  registry.introduced({"StringNormalizer"}, 10, never("no older operators change or filter text"));
  registry.introduced({"StringConcat", "StringSplit", "RegexFullMatch"}, 20, never("no older operators work on text"));
  registry.introduced({"ImageDecoder"}, 20, never("no older operators decode images"));
}

}  // namespace onnxkit::opset
