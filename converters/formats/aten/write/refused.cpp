// Operators that ATen cannot express, for which more can be said than that.
#include "converters/formats/aten/writers.h"

namespace onnxkit::aten {

void register_refused(Writers& writers);
void register_refused(Writers& writers) {
  writers.refuse({"NonMaxSuppression"},
                 {"ATen has no operator that drops overlapping boxes, and how many stay is known only box by box",
                  "end the model before it: torchvision.ops.nms does the same with its inputs"});
  writers.refuse({"MaxRoiPool"}, {"ATen has no pooling of regions",
                                  "torchvision.ops.roi_pool does the same on the inputs of this node"});
  writers.refuse({"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"},
                 {"PyTorch draws other random numbers from a seed, so that nothing could be compared",
                  "make what it draws an input of the model"});
  writers.refuse(
      {"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
       "SequenceMap", "SplitToSequence", "ConcatFromSequence"},
      {"it works on a sequence, and what is written holds tensors alone", "write it with Split, Concat and Gather"});
  writers.refuse({"Optional", "OptionalGetElement", "OptionalHasElement"},
                 {"it works on an optional value, and what is written holds tensors alone", ""});
  writers.refuse({"StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "TfIdfVectorizer"},
                 {"PyTorch has no tensors of text", "begin the model behind it, with numbers"});
  writers.refuse({"ImageDecoder"}, {"ATen has no decoder of pictures", "decode them before the network"});
  writers.refuse({"com.microsoft::Attention", "com.microsoft::MultiHeadAttention", "com.microsoft::GroupQueryAttention",
                  "com.microsoft::DecoderMaskedMultiHeadAttention", "com.microsoft::PackedAttention",
                  "com.microsoft::PackedMultiHeadAttention", "com.microsoft::QAttention"},
                 {"ONNX Runtime's own attention, with its packed weights, masks and past, has no mapping",
                  "convert the model from before ONNX Runtime's optimizer fused its attention"});
}

}  // namespace onnxkit::aten
