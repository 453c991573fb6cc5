// Operators that are refused with a reason of their own.
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {

void register_refused(Mappings& mappings);
void register_refused(Mappings& mappings) {
  mappings.refuse({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge", "RefEnter",
                   "RefExit", "RefNextIteration"},
                  {"its loop or branch of TensorFlow 1 does not have the structure that tf.while_loop and tf.cond give",
                   "save the model again with control flow of version 2 enabled"});
  mappings.refuse(
      {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "Assign", "AssignAdd", "AssignSub"},
      {"it changes a variable, which a model in ONNX does not keep from run to run",
       "export a signature that is given the state as an argument and returns the new one; what only changes in "
       "training is "
       "left out when the model is called with training=False"});
  mappings.refuse({"HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2", "MutableDenseHashTableV2",
                   "AnonymousHashTable", "AnonymousMutableHashTable", "LookupTableFind", "LookupTableFindV2",
                   "LookupTableSize", "LookupTableSizeV2", "LookupTableInsertV2", "LookupTableImportV2"},
                  {"it looks up keys in a table that the program fills, and ONNX has no such tables",
                   "export a signature that is given what is found there, such as numbers in place of words"});
  mappings.refuse({"AsString",
                   "StringJoin",
                   "StringSplit",
                   "StringSplitV2",
                   "StringLower",
                   "StringUpper",
                   "StringStrip",
                   "StringLength",
                   "StringFormat",
                   "StringNGrams",
                   "StringToNumber",
                   "StringToHashBucket",
                   "StringToHashBucketFast",
                   "StringToHashBucketStrong",
                   "Substr",
                   "RegexReplace",
                   "RegexFullMatch",
                   "StaticRegexReplace",
                   "StaticRegexFullMatch",
                   "ReduceJoin",
                   "UnicodeDecode",
                   "UnicodeEncode",
                   "UnicodeTranscode",
                   "UnicodeDecodeWithOffsets",
                   "EncodeBase64",
                   "DecodeBase64"},
                  {"it computes with text", "export a signature that is given numbers"});
  mappings.refuse({"DecodeJpeg", "DecodePng", "DecodeImage", "DecodeBmp", "DecodeGif", "DecodeAndCropJpeg", "DecodeRaw",
                   "DecodePaddedRaw", "DecodeWav", "DecodeCSV", "ParseExample", "ParseExampleV2", "ParseSingleExample",
                   "ParseTensor", "ReadFile"},
                  {"it decodes files or records, which are text to a model",
                   "export a signature that is given the decoded tensors"});
  mappings.refuse(
      {"RandomUniform",
       "RandomUniformInt",
       "RandomStandardNormal",
       "ParameterizedTruncatedNormal",
       "TruncatedNormal",
       "RandomShuffle",
       "RandomGamma",
       "RandomPoissonV2",
       "Multinomial",
       "StatelessMultinomial",
       "StatelessRandomUniform",
       "StatelessRandomUniformInt",
       "StatelessRandomUniformFullInt",
       "StatelessRandomNormal",
       "StatelessTruncatedNormal",
       "StatelessRandomUniformV2",
       "StatelessRandomUniformIntV2",
       "StatelessRandomUniformFullIntV2",
       "StatelessRandomNormalV2",
       "StatelessTruncatedNormalV2",
       "StatelessRandomGammaV2",
       "StatelessRandomGammaV3",
       "StatelessRandomBinomial",
       "StatelessRandomPoisson",
       "StatelessRandomGetKeyCounter",
       "StatelessRandomGetKeyCounterAlg",
       "StatelessRandomGetAlg",
       "StatelessShuffle",
       "StatefulUniform",
       "StatefulUniformInt",
       "StatefulStandardNormalV2",
       "RngReadAndSkip"},
      {"it draws random numbers, which no other framework draws alike",
       "call the model with training=False when exporting, and leave layers that change pictures at random out", true});
  mappings.refuse({"PyFunc", "PyFuncStateless", "EagerPyFunc"}, {"it calls a function of the Python program"});
  mappings.refuse({"VarHandleOp", "VariableV2", "Variable"},
                  {"no value is stored for this variable", "save the model after its variables have values"});
  mappings.refuse({"Placeholder"}, {"nothing is given for it: it is not an input of the signature"});
}

}  // namespace onnxkit::saved_model
