#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checker/infer/type.h"

namespace onnxkit::checker {

/// One element of a small tensor whose content inference follows: nothing known, an integer (constant or symbolic), a real
/// constant, or a symbolic integer divided by a positive constant (what `Cast(Shape(x)) * 0.5` gives).
class Scalar {
 public:
  Scalar() = default;
  static Scalar integer(Dim value) { return Scalar(value, 1, 0, value.is_unknown() ? Kind::unknown : Kind::integer); }
  static Scalar real(double value) { return Scalar({}, 1, value, Kind::real); }
  /// A real that equals numerator / denominator exactly. Precondition: denominator > 0.
  static Scalar ratio(Dim numerator, std::int64_t denominator) {
    return Scalar(numerator, denominator, 0, numerator.is_unknown() ? Kind::unknown : Kind::ratio);
  }

  bool is_unknown() const { return kind_ == Kind::unknown; }
  bool is_integer() const { return kind_ == Kind::integer; }
  bool is_ratio() const { return kind_ == Kind::ratio; }
  /// The integer, unknown for everything else.
  Dim dim() const { return kind_ == Kind::integer ? dim_ : Dim(); }
  /// The value as a constant real, if it is one (integers and ratios of constants too).
  std::optional<double> constant_real() const {
    if (kind_ == Kind::real) return real_;
    if (kind_ != Kind::unknown && dim_.is_constant()) {
      return static_cast<double>(dim_.constant()) / static_cast<double>(denominator_);
    }
    return std::nullopt;
  }
  Dim numerator() const { return dim_; }
  std::int64_t denominator() const { return denominator_; }

 private:
  enum class Kind : std::uint8_t { unknown, integer, real, ratio };
  Scalar(Dim dim, std::int64_t denominator, double real, Kind kind)
      : dim_(dim), denominator_(denominator), real_(real), kind_(kind) {}
  Dim dim_;
  std::int64_t denominator_ = 1;
  double real_ = 0;
  Kind kind_ = Kind::unknown;
};

/// The content of a small tensor, element by element, row-major. Booleans are the integers 0 and 1.
struct Constant {
  /// Larger tensors are not followed.
  static constexpr std::size_t max_elements = 1024;

  ElementType type = ElementType::undefined;
  std::vector<std::int64_t> shape;
  std::vector<Scalar> elements;

  /// A rank-1 int64 tensor.
  static Constant vector(const Shape& values) {
    Constant known{.type = ElementType::int64, .shape = {static_cast<std::int64_t>(values.size())}, .elements = {}};
    for (const Dim d : values) known.elements.push_back(Scalar::integer(d));
    return known;
  }
  static Constant scalar(ElementType type, Scalar value) { return {.type = type, .shape = {}, .elements = {value}}; }

  /// All elements as constant integers, or nullopt when one is not.
  std::optional<std::vector<std::int64_t>> constants() const {
    std::vector<std::int64_t> out;
    for (const Scalar& element : elements) {
      if (!element.dim().is_constant()) return std::nullopt;
      out.push_back(element.dim().constant());
    }
    return out;
  }
  /// All elements as (possibly symbolic, possibly unknown) integers.
  Shape dims() const {
    Shape out;
    for (const Scalar& element : elements) out.push_back(element.dim());
    return out;
  }
};

}  // namespace onnxkit::checker
