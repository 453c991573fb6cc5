#include "onnxkit/diff.h"

#include <algorithm>
#include <cctype>

namespace onnxkit {

std::string_view name_of(Profile profile) {
  switch (profile) {
    case Profile::float32:
      return "float32";
    case Profile::winograd:
      return "Winograd";
    case Profile::tf32:
      return "TF32";
    case Profile::float16:
      return "float16";
    case Profile::bfloat16:
      return "bfloat16";
    case Profile::fp8:
      return "fp8";
    case Profile::int8:
      return "int8";
  }
  return "?";
}

std::optional<Profile> profile_named(std::string_view name) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  for (const Profile profile : all_profiles) {
    const std::string_view known = name_of(profile);
    if (std::equal(name.begin(), name.end(), known.begin(), known.end(), same)) return profile;
  }
  return std::nullopt;
}

std::vector<Profile> profiles_of(Profile arithmetic) {
  std::vector<Profile> profiles = {Profile::float32};
  if (arithmetic == Profile::fp8) profiles.push_back(Profile::float16);
  if (arithmetic != Profile::float32) profiles.push_back(arithmetic);
  return profiles;
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

std::string_view name_of(MatchedBy matched) {
  switch (matched) {
    case MatchedBy::name:
      return "name";
    case MatchedBy::content:
      return "content";
    case MatchedBy::structure:
      return "structure";
  }
  return "?";
}

}  // namespace onnxkit
