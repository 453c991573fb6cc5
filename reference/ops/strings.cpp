// Operators on strings, and the decoder of picture files. One version each.
#include <locale.h>
#include <algorithm>
#include <cwctype>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include <fmt/core.h>
#include <re2/re2.h>

#include "libonnxkit/base/text/utf8.h"
#include "libonnxkit/wire/picture/picture.h"
#include "reference/kernels/broadcast.h"

namespace onnxkit::reference {
namespace {

void string_concat(KernelContext& context) {
  context.set_output(
      0, map<std::string, std::string, std::string>(context, context.input(0), context.input(1), ElementType::string,
                                                    [](const std::string& a, const std::string& b) { return a + b; }));
}

/// RE2 matches in linear time, so no pattern can hang.
void regex_full_match(KernelContext& context) {
  // RE2 can neither be copied nor moved.
  const auto regex = context.derived<std::unique_ptr<const re2::RE2>>([&] {
    const std::string_view pattern = context.string("pattern");
    re2::RE2::Options options;
    options.set_log_errors(false);
    auto made = std::make_unique<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
    require(made->ok(), [&] { return "the pattern is not valid RE2 syntax: " + made->error(); });
    return made;
  });
  context.set_output(
      0, map<std::string, bool>(context, context.input(0), ElementType::boolean,
                                [&regex](const std::string& x) { return re2::RE2::FullMatch(x, **regex); }));
}

// ---- StringSplit

using Pieces = std::vector<std::string_view>;

constexpr std::string_view blanks = " \t\n\v\f\r";

/// Runs of blanks separate; those at both ends do not count.
Pieces split_at_blanks(std::string_view text, std::uint64_t most_splits) {
  Pieces pieces;
  const auto trim = [&text] {
    const std::size_t first = text.find_first_not_of(blanks);
    text.remove_prefix(std::min(first, text.size()));
  };
  for (trim(); !text.empty(); trim()) {
    if (pieces.size() == most_splits) {
      pieces.push_back(text.substr(0, text.find_last_not_of(blanks) + 1));
      break;
    }
    pieces.push_back(text.substr(0, text.find_first_of(blanks)));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

Pieces split_at(std::string_view text, std::string_view delimiter, std::uint64_t most_splits) {
  Pieces pieces;
  for (;;) {
    const std::size_t end = pieces.size() == most_splits ? std::string_view::npos : text.find(delimiter);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + delimiter.size());
  }
}

void string_split(KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::string_view delimiter = context.string("delimiter");
  const auto most = static_cast<std::uint64_t>(context.integer("maxsplit", -1));  // negative: no limit
  Tensor counts = context.make(ElementType::int64, x.dims());
  const std::span<std::int64_t> count = counts.write<std::int64_t>();
  std::vector<Pieces> all;
  std::int64_t longest = 0;
  for (const std::string& text : x.as<std::string>()) {
    all.push_back(delimiter.empty() ? split_at_blanks(text, most) : split_at(text, delimiter, most));
    count[all.size() - 1] = static_cast<std::int64_t>(all.back().size());
    longest = std::max(longest, count[all.size() - 1]);
  }
  Dims dims = x.dims();
  dims.push_back(longest);
  Tensor y = context.make(ElementType::string, std::move(dims));
  const std::span<std::string> out = y.write<std::string>();
  for (std::size_t i = 0; i < all.size(); ++i)
    std::copy(all[i].begin(), all[i].end(), out.begin() + static_cast<std::ptrdiff_t>(i) * longest);
  context.set_output(0, std::move(y));
  context.set_output(1, std::move(counts));
}

// ---- StringNormalizer

enum class Case { unchanged, lower, upper };

/// Upper and lower case of characters one by one, as the C library's table of Unicode has them.
class CaseTable {
 public:
  explicit CaseTable(std::string_view locale)
      : dotless_i_(locale.starts_with("tr") || locale.starts_with("az")),
        table_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr), freelocale) {
    require(table_ != nullptr, "the system has no table for upper and lower case");
  }

  std::string change(std::string_view text, Case to) const {
    std::string result;
    while (!text.empty()) {
      const std::size_t length = utf8_sequence_length(text);
      require(length > 0, "a string is not UTF-8");
      append(result, changed(decode(text.substr(0, length)), to));
      text.remove_prefix(length);
    }
    return result;
  }

 private:
  static std::uint32_t decode(std::string_view sequence) {
    const auto lead = static_cast<unsigned char>(sequence[0]);
    if (sequence.size() == 1) return lead;
    std::uint32_t code = lead & (0x7fu >> sequence.size());
    for (const char byte : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3fu);
    return code;
  }
  static void append(std::string& text, std::uint32_t code) {
    const auto tail = [&text](std::uint32_t bits) { text.push_back(static_cast<char>(0x80 | (bits & 0x3f))); };
    if (code < 0x80) {
      text.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
      text.push_back(static_cast<char>(0xc0 | code >> 6));
      tail(code);
    } else if (code < 0x10000) {
      text.push_back(static_cast<char>(0xe0 | code >> 12));
      tail(code >> 6), tail(code);
    } else {
      text.push_back(static_cast<char>(0xf0 | code >> 18));
      tail(code >> 12), tail(code >> 6), tail(code);
    }
  }
  std::uint32_t changed(std::uint32_t code, Case to) const {
    if (to == Case::unchanged) return code;
    if (dotless_i_ && to == Case::upper && code == 'i') return 0x130;
    if (dotless_i_ && to == Case::lower && code == 'I') return 0x131;
    const auto wide = static_cast<std::wint_t>(code);
    return to == Case::upper ? towupper_l(wide, table_.get()) : towlower_l(wide, table_.get());
  }

  bool dotless_i_;
  std::unique_ptr<std::remove_pointer_t<locale_t>, void (*)(locale_t)> table_;
};

struct Normalizer {
  CaseTable cases;
  Case to, compared;
  std::set<std::string> stopwords;  ///< as they are compared
};

Normalizer read_normalizer(const KernelContext& context) {
  const std::string_view action = context.string("case_change_action");
  Normalizer read{.cases = CaseTable(context.string("locale")),
                  .to = action == "LOWER"   ? Case::lower
                        : action == "UPPER" ? Case::upper
                                            : Case::unchanged,
                  .compared = context.integer("is_case_sensitive") != 0 ? Case::unchanged : Case::lower,
                  .stopwords = {}};
  for (const std::string_view word : context.strings("stopwords").value_or(std::vector<std::string_view>()))
    read.stopwords.insert(read.cases.change(word, read.compared));
  return read;
}

void string_normalizer(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() == 1 || (x.rank() == 2 && x.dim(0) == 1), "StringNormalizer requires [C] or [1, C]");
  const auto normalizer = context.derived<Normalizer>([&] { return read_normalizer(context); });
  const CaseTable& cases = normalizer->cases;
  std::vector<std::string> kept;
  for (const std::string& word : x.as<std::string>()) {
    if (normalizer->stopwords.contains(cases.change(word, normalizer->compared))) continue;
    kept.push_back(cases.change(word, normalizer->to));
  }
  if (kept.empty()) kept.emplace_back();
  Dims dims = x.dims();
  dims.back() = static_cast<std::int64_t>(kept.size());
  Tensor y = context.make(ElementType::string, std::move(dims));
  std::move(kept.begin(), kept.end(), y.write<std::string>().begin());
  context.set_output(0, std::move(y));
}

// ---- TfIdfVectorizer

/// The n-grams of the pool, each with its index in the result and its weight.
template <class T>
class Ngrams {
 public:
  struct Entry {
    std::size_t column;
    double weight;
  };

  template <class Pool>
  Ngrams(const KernelContext& context, const Pool& pool) {
    const auto starts = context.integers("ngram_counts").value_or(std::vector<std::int64_t>());
    const auto columns = context.integers("ngram_indexes").value_or(std::vector<std::int64_t>());
    const auto weights = context.reals("weights");
    require(!columns.empty(), "ngram_indexes is empty");
    require(!weights || weights->size() == columns.size(), "there must be one weight per n-gram");
    std::size_t next = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::int64_t first = starts[i];
      const std::int64_t last = i + 1 < starts.size() ? starts[i + 1] : static_cast<std::int64_t>(pool.size());
      const auto length = static_cast<std::int64_t>(i + 1);
      require(0 <= first && first <= last && last <= static_cast<std::int64_t>(pool.size()),
              "ngram_counts does not match the pool");
      require((last - first) % length == 0, "the pool contains an incomplete n-gram");
      for (std::int64_t at = first; at < last; at += length, ++next) {
        require(next < columns.size() && columns[next] >= 0, "ngram_indexes does not match the pool");
        entries_.emplace(std::vector<T>(pool.begin() + at, pool.begin() + at + length),
                         Entry{static_cast<std::size_t>(columns[next]), weights ? (*weights)[next] : 1.0});
      }
    }
    width_ = *std::max_element(columns.begin(), columns.end());
    require(width_ < std::numeric_limits<std::int64_t>::max(), "ngram_indexes are too large");
    ++width_;
  }

  std::int64_t width() const { return width_; }
  const std::map<std::vector<T>, Entry>& entries() const { return entries_; }

 private:
  std::map<std::vector<T>, Entry> entries_;
  std::int64_t width_;
};

struct NgramSearch {
  std::int64_t shortest, longest, most_skipped;
};

/// Calls found(entry) for every n-gram of the pool in a row.
template <class T, class F>
void find_ngrams(const KernelContext& context, const Ngrams<T>& ngrams, std::span<const T> row,
                 const NgramSearch& search, F found) {
  const auto size = static_cast<std::int64_t>(row.size());
  std::vector<T> gram;
  for (std::int64_t length = search.shortest; length <= std::min(search.longest, size); ++length) {
    // A single item skips nothing.
    const std::int64_t most_skipped = length == 1 ? 0 : std::min(search.most_skipped, size);
    for (std::int64_t step = 1; step <= most_skipped + 1 && (length - 1) * step < size; ++step) {
      context.check_iteration(0);
      for (std::int64_t first = 0; first + (length - 1) * step < size; ++first) {
        gram.clear();
        for (std::int64_t k = 0; k < length; ++k) gram.push_back(row[static_cast<std::size_t>(first + k * step)]);
        const auto entry = ngrams.entries().find(gram);
        if (entry != ngrams.entries().end()) found(entry->second);
      }
    }
  }
}

template <class T, class Pool>
Tensor vectorize(const KernelContext& context, const Tensor& x, const Pool& pool) {
  const auto known = context.derived<Ngrams<T>>([&] { return Ngrams<T>(context, pool); });
  const Ngrams<T>& ngrams = *known;
  const NgramSearch search{context.integer("min_gram_length"), context.integer("max_gram_length"),
                           context.integer("max_skip_count")};
  require(1 <= search.shortest && search.shortest <= search.longest && search.most_skipped >= 0,
          "the lengths of n-grams or the skip count are out of range");
  const std::string_view mode = context.string("mode");
  const bool once = mode == "IDF", weighted = once || mode == "TFIDF";
  require(weighted || mode == "TF", "mode must be TF, IDF or TFIDF");
  require(x.rank() == 1 || x.rank() == 2, "TfIdfVectorizer requires [C] or [N, C]");
  Dims dims = x.dims();
  dims.back() = ngrams.width();
  Tensor y = context.make(ElementType::float32, std::move(dims));
  const std::span<double> out = y.write<double>();
  const auto length = static_cast<std::size_t>(x.dims().back()), width = static_cast<std::size_t>(ngrams.width());
  const std::size_t rows = x.rank() == 1 ? 1 : static_cast<std::size_t>(x.dim(0));
  for (std::size_t r = 0; r < rows; ++r) {
    std::set<const typename Ngrams<T>::Entry*> seen;
    find_ngrams(context, ngrams, x.as<T>().subspan(r * length, length), search,
                [&](const typename Ngrams<T>::Entry& entry) {
                  if (once && !seen.insert(&entry).second) return;
                  out[r * width + entry.column] += weighted ? entry.weight : 1;
                });
  }
  return y;
}

void tfidf_vectorizer(KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto strings = context.strings("pool_strings");
  const auto integers = context.integers("pool_int64s");
  require(strings.has_value() != integers.has_value(), "exactly one of pool_strings and pool_int64s is required");
  require((x.domain() == Domain::string) == strings.has_value(),
          "the pool and the input differ in kind (strings or integers)");
  context.set_output(
      0, strings ? vectorize<std::string>(context, x, *strings) : vectorize<std::int64_t>(context, x, *integers));
}

// ---- ImageDecoder

/// What cannot be decoded gives a picture without pixels, as the specification says.
void image_decoder(KernelContext& context) {
  const Tensor& x = context.input(0);
  require(x.rank() == 1, "an image file must be a vector of bytes");
  const std::string_view format = context.string("pixel_format");
  const bool grey = format == "Grayscale", reversed = format == "BGR";
  require(grey || reversed || format == "RGB", "pixel_format must be RGB, BGR or Grayscale");
  std::vector<std::byte> file;
  for (const std::uint64_t byte : x.as<std::uint64_t>()) file.push_back(static_cast<std::byte>(byte));
  // A pixel takes three bytes while it is decoded and three numbers of eight bytes after.
  const std::uint64_t limit = context.memory()->limit();
  const auto decoded =
      limit == 0 ? wire::decode_picture(file) : wire::decode_picture(file, static_cast<std::int64_t>(limit / 27));
  require(decoded || decoded.error().diagnostic.code != "missing-module", "the decoders of pictures cannot be loaded");
  const wire::Picture picture = decoded ? *decoded : wire::Picture();
  Tensor y = context.make(ElementType::uint8, {picture.height, picture.width, grey ? 1 : 3});
  const std::span<std::uint64_t> out = y.write<std::uint64_t>();
  for (std::size_t i = 0; i < picture.rgb.size(); i += 3) {
    const std::uint8_t* pixel = picture.rgb.data() + i;
    if (grey) {
      out[i / 3] = wire::luma(pixel[0], pixel[1], pixel[2]);
    } else {
      for (std::size_t c = 0; c < 3; ++c) out[i + c] = pixel[reversed ? 2 - c : c];
    }
  }
  context.set_output(0, std::move(y));
}

}  // namespace

void register_strings(KernelRegistry& registry) {
  registry.add("RegexFullMatch", all_versions(), regex_full_match);
  registry.add("StringConcat", all_versions(), string_concat);
  registry.add("StringSplit", all_versions(), string_split);
  registry.add("StringNormalizer", all_versions(), string_normalizer);
  registry.add("TfIdfVectorizer", all_versions(), tfidf_vectorizer, {.noise = noise::ordinary});
  registry.add("ImageDecoder", all_versions(), image_decoder);
}

}  // namespace onnxkit::reference
