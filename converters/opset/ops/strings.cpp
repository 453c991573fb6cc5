#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {

void register_strings(StepRegistry& registry) {
  registry.introduced({"TfIdfVectorizer"}, 9, never("no older operator counts n-grams"));
  registry.introduced({"StringNormalizer"}, 10, never("no older operator changes or filters strings"));
  registry.introduced({"StringConcat", "StringSplit", "RegexFullMatch"}, 20,
                      never("no older operator works on strings"));
  registry.introduced({"ImageDecoder"}, 20, never("no older operator decodes images"));
}

}  // namespace onnxkit::opset
