#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/result.h"

namespace onnxkit::containers {

/// What a pickle describes, as a flat list of values. Nothing in it is run: a class or function is a name, a call of one is the name
/// with its arguments.
class PickleDocument;

/// A value of a pickle, or nothing: looking up what is not there gives nothing. A value may be part of several others, even of itself:
/// who follows them needs a limit.
class Pickle {
 public:
  Pickle() = default;

  bool exists() const { return document_ != nullptr; }
  bool is_none() const;
  bool is_list() const;
  bool is_tuple() const;
  bool is_dict() const;
  bool is_object() const;
  std::optional<bool> boolean() const;
  std::optional<std::int64_t> integer() const;
  /// A number with a fraction.
  std::optional<double> real() const;
  /// Holds as long as the document, as do all texts.
  std::optional<std::string_view> text() const;
  /// Of a class or function: "torch._utils._rebuild_tensor_v2".
  std::optional<std::string_view> global() const;

  /// Items of a list or tuple, pairs of a dict.
  std::size_t size() const;
  /// An item of a list or tuple.
  Pickle operator[](std::size_t index) const;
  Pickle key(std::size_t index) const;
  Pickle value(std::size_t index) const;
  /// Of a dict: the value of the last pair with this text as its key. Takes time in proportion to the pairs.
  Pickle operator[](std::string_view key) const;

  /// Of an object: what is called, with what, and the state that it is given afterwards.
  Pickle callee() const;
  Pickle arguments() const;
  Pickle state() const;
  /// Of a value that is stored elsewhere: what names it there.
  Pickle persistent_id() const;

  /// The same for one value that is met in several places.
  std::uint32_t identity() const { return index_; }

 private:
  friend class PickleDocument;
  Pickle(const PickleDocument* document, std::uint32_t index) : document_(document), index_(index) {}
  Pickle part(std::size_t index) const;

  const PickleDocument* document_ = nullptr;
  std::uint32_t index_ = 0;
};

/// Which classes and functions a pickle may name.
struct PickleNames {
  std::span<const std::string_view> names;  ///< "torch._utils._rebuild_tensor_v2"; "torch.*Storage": any that ends so
  std::string_view prefix = {};             ///< of classes whose definition is in the same archive; empty: none
};

class PickleDocument {
 public:
  /// Reads a pickle of protocol 2 to 4. Error codes: malformed-pickle, memory-limit (millions of values); not-supported, for a class or function that `allowed` does not have and
  /// for opcodes that no model needs.
  static Result<std::unique_ptr<const PickleDocument>> parse(std::string bytes, const PickleNames& allowed);

  Pickle root() const { return {this, root_}; }

 private:
  friend class Pickle;
  friend class PickleReader;
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, global, list, tuple, dict, object, persistent };
  /// `parts` holds items, keys and values in turn, callee with arguments and state, or the one id.
  struct Entry {
    Kind kind = Kind::none;
    union {
      std::int64_t integer = 0;
      double real;
    };
    std::string_view text = {};
    std::vector<std::uint32_t> parts = {};
  };
  const Entry* entry(std::uint32_t index) const { return &entries_[index]; }

  std::string bytes_;
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<Entry> entries_;
  std::uint32_t root_ = 0;
};

}  // namespace onnxkit::containers
