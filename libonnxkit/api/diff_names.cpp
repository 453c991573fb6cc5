#include "onnxkit/diff.h"

namespace onnxkit {

std::string_view name_of(Profile profile) {
  switch (profile) {
    case Profile::float32:
      return "float32";
    case Profile::tf32:
      return "TF32";
    case Profile::float16:
      return "float16";
    case Profile::bfloat16:
      return "bfloat16";
    case Profile::int8:
      return "int8";
  }
  return "?";
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::identical:
      return "identical";
    case Verdict::within:
      return "within tolerance";
    case Verdict::rounding:
      return "rounding";
    case Verdict::undecidable:
      return "undecidable";
    case Verdict::not_compared:
      return "not compared";
    case Verdict::beyond:
      return "beyond tolerance";
    case Verdict::not_rounding:
      return "not rounding";
    case Verdict::mismatch:
      return "mismatch";
  }
  return "?";
}

}  // namespace onnxkit
