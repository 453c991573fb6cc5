// Operators on strings, and the decoder of picture files.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/ml_rules.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

void infer_match(InferContext& context) {
  context.copy_shape(0, 0);
  if (context.has_attribute("pattern")) return;
  context.error({.code = "missing-attribute",
                 .at = at_node(),
                 .message = "RegexFullMatch requires attribute pattern",
                 .expected = "a regular expression",
                 .found = "nothing"});
}

void infer_string_concat(InferContext& context) {
  constexpr std::size_t inputs[] = {0, 1};
  if (auto shape = broadcast(context, inputs)) context.set_shape(0, std::move(*shape));
}

void infer_string_split(InferContext& context) {
  context.set_elem(1, ElementType::int64);
  const Shape* shape = context.input_shape(0);
  if (!shape) return;
  Shape parts = *shape;
  parts.push_back(context.data_dependent("substrings", "the greatest number of substrings"));
  context.set_tensor(0, ElementType::string, std::move(parts));
  context.set_shape(1, *shape);
}

/// Takes [C] or [1, C]. Removing stopwords leaves a number of strings that depends on them.
void infer_normalizer_strings(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape) return;
  const bool matrix = shape->size() == 2 && !context.dims().never_equal(shape->front(), 1);
  if (shape->size() != 1 && !matrix) {
    context.error({.code = shape->size() == 2 ? "shape-mismatch" : "rank-mismatch",
                   .at = at_input(0),
                   .message = "StringNormalizer requires a list of strings",
                   .expected = "[C] or [1, C]",
                   .found = context.text(*shape)});
    return;
  }
  Shape result = *shape;
  if (context.has_attribute("stopwords")) {
    result.back() = context.data_dependent("strings", "the number of strings that are left");
  } else if (!result.back().is_constant() || result.back().is(0)) {
    // Of no strings at all one empty string is made.
    result.back() = context.dims().max(result.back(), 1);
  }
  context.set_shape(0, std::move(result));
}

/// Lists of the vocabulary that do not go together.
void check_vocabulary(InferContext& context) {
  one_attribute(context, {"pool_int64s", "pool_strings"}, true);
  const auto columns = attribute_length(context, "ngram_indexes");
  const auto weights = attribute_length(context, "weights");
  if (columns && weights && *weights != 0 && *weights != *columns) {
    context.error({.code = "attribute-length",
                   .at = at_attribute("weights"),
                   .message = "there must be one weight per n-gram",
                   .expected = fmt::format("{}, as ngram_indexes", *columns),
                   .found = std::to_string(*weights)});
  }
  const std::int64_t least = context.integer("min_gram_length");
  const std::int64_t most = context.integer("max_gram_length");
  require_in_range(context, "min_gram_length", least, 1);
  require_in_range(context, "max_gram_length", most, std::max<std::int64_t>(least, 1));
  require_in_range(context, "max_skip_count", context.integer("max_skip_count"), 0);
  const auto starts = attribute_length(context, "ngram_counts");
  if (starts && most >= 0 && *starts < static_cast<std::size_t>(most)) {
    context.error({.code = "attribute-length",
                   .at = at_attribute("ngram_counts"),
                   .message = "ngram_counts must have one start per n-gram length",
                   .expected = fmt::format("{} or more, as max_gram_length", most),
                   .found = std::to_string(*starts)});
  }
}

void infer_tfidf(InferContext& context) {
  check_vocabulary(context);
  const auto indexes = context.integers("ngram_indexes");
  if (!indexes || indexes->empty()) return;
  const std::int64_t largest = *std::max_element(indexes->begin(), indexes->end());
  if (*std::min_element(indexes->begin(), indexes->end()) < 0 || largest == INT64_MAX) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("ngram_indexes"),
                   .message = "an index is out of range",
                   .expected = "0 or more"});
    return;
  }
  const Shape* shape = context.input_shape(0);
  if (!shape) return;
  if (shape->empty() || shape->size() > 2) {
    context.error({.code = "rank-mismatch",
                   .at = at_input(0),
                   .message = "TfIdfVectorizer requires one list, or several",
                   .expected = "[C] or [N, C]",
                   .found = context.text(*shape)});
    return;
  }
  Shape result = *shape;
  result.back() = largest + 1;
  context.set_shape(0, std::move(result));
}

void infer_image_decoder(InferContext& context) {
  if (rank_differs(context, 0, 1)) return;
  const Dim channels = context.string("pixel_format") == "Grayscale" ? 1 : 3;
  context.set_tensor(0, ElementType::uint8,
                     {context.data_dependent("height", "the image height"),
                      context.data_dependent("width", "the image width"), channels});
}

}  // namespace

void register_strings(InferRegistry& registry) {
  registry.add("RegexFullMatch", all_versions(), infer_match);
  registry.add("StringConcat", all_versions(), infer_string_concat);
  registry.add("StringSplit", all_versions(), infer_string_split);
  registry.add("StringNormalizer", all_versions(), infer_normalizer_strings);
  registry.add("TfIdfVectorizer", all_versions(), infer_tfidf);
  registry.add("ImageDecoder", all_versions(), infer_image_decoder);
}

}  // namespace onnxkit::checker
