#pragma once

#include <type_traits>

/// Pointers are alike when what they point to is: numbers of one size, or types that only a library knows.
template <class A, class B>
constexpr bool is_alike() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using To = std::remove_pointer_t<A>;
    using From = std::remove_pointer_t<B>;
    if constexpr (std::is_const_v<To> != std::is_const_v<From>)
      return false;
    else if constexpr (std::is_class_v<std::remove_cv_t<To>> && std::is_class_v<std::remove_cv_t<From>>)
      return true;
    else if constexpr (std::is_void_v<To> || std::is_void_v<From>)
      return std::is_void_v<To> == std::is_void_v<From>;
    else
      return is_alike<std::remove_cv_t<To>, std::remove_cv_t<From>>();
  } else if constexpr (std::is_same_v<A, B>) {
    return true;
  } else if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return false;
  } else if constexpr (std::is_class_v<A> || std::is_class_v<B>) {
    return std::is_class_v<A> == std::is_class_v<B>;
  } else {
    constexpr bool both_whole =
        (std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> || std::is_enum_v<B>);
    return sizeof(A) == sizeof(B) && (both_whole || std::is_same_v<A, B>);
  }
}

template <class A, class B>
struct Alike : std::false_type {};
template <class R, class... P, class S, class... Q>
struct Alike<R (*)(P...), S (*)(Q...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(P) == sizeof...(Q)) return is_alike<R, S>() && (is_alike<P, Q>() && ...);
    return false;
  }();
};
