#include "libonnxkit/plan/lowering.h"

// Operators of ai.onnx that run on the reference in every case, and why.
namespace onnxkit::plan {
namespace {

constexpr char sized_by_content[] = "only the run tells the size of the result";
constexpr char not_tensors[] = "sequences and optional values lie in no buffer";
constexpr char strings[] = "strings lie in no buffer";
constexpr char bodies[] = "bodies run on the reference as a whole";
constexpr char random[] = "random numbers are drawn by the reference";
constexpr char derivatives[] = "derivatives are made by the reference";
constexpr char regions[] = "the elements of a bin depend on the regions";
constexpr char joint[] = "it is not taken apart into steps yet";
constexpr char folded_values[] =
    "only the pass fold_constants makes its values: numbers of known size, of constant inputs";

Unlowered refuse(LowerCall&) { return "it has no steps"; }

}  // namespace

void register_unlowered(LoweringRegistry& registry);
void register_unlowered(LoweringRegistry& registry) {
  const auto all = [&](std::string_view reason, std::initializer_list<const char*> ops) {
    for (const char* op : ops) registry.add(op, all_versions(), refuse, {.never = reason});
  };
  all(sized_by_content, {"Compress", "NonMaxSuppression", "NonZero", "Unique"});
  all(not_tensors,
      {"ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceConstruct",
       "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SplitToSequence"});
  all(strings,
      {"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer", "ImageDecoder"});
  all(bodies, {"If", "Loop", "Scan", "SequenceMap"});
  all(random, {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"});
  all(regions, {"MaxRoiPool"});
  all(joint, {"BitCast", "Det", "FlexAttention", "Upsample"});
  for (const char* op : {"CenterCropPad", "Einsum", "MeanVarianceNormalization", "NegativeLogLikelihoodLoss",
                         "RotaryEmbedding", "SoftmaxCrossEntropyLoss", "SwiGLU", "TensorScatter"})
    registry.add(op, all_versions(), refuse, {.never = joint, .is_composed = true});
  for (const char* op :
       {"BlackmanWindow", "Constant", "ConstantOfShape", "HammingWindow", "HannWindow", "MelWeightMatrix", "Range"})
    registry.add(op, all_versions(), refuse, {.never = folded_values, .makes_values = true});
  registry.add("ai.onnx.preview.training", "Gradient", all_versions(), refuse, {.never = derivatives});
}

}  // namespace onnxkit::plan
