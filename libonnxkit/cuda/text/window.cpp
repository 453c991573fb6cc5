#include "libonnxkit/cuda/text/window.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

namespace onnxkit::cuda {

std::string Window::starts(const plan::View& output, std::string_view indent) const {
  std::string text;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    text += output.dims[i + 2] == 1
                ? fmt::format("{}const Index start{} = {};\n", indent, i, -pads[i])
                : fmt::format("{}const Index start{} = c{} * {} - {};\n", indent, i, i + 2, strides[i], pads[i]);
  }
  return text;
}

std::string Window::begin_loop(std::size_t axis, std::string_view indent) const {
  return fmt::format("{0}for (int t{1} = 0; t{1} < {2}; ++t{1}) {{\n{0}  const Index i{1} = start{1} + t{1} * {3};\n",
                     indent, axis, kernel[axis], dilations[axis]);
}

std::string Window::begin_taps(const plan::View& image, std::string_view indent) const {
  std::string text, inner(indent);
  for (std::size_t i = 0; i < kernel.size(); ++i, inner += "  ") {
    text += begin_loop(i, inner);
    text += fmt::format("{0}  if (i{1} < 0 || i{1} >= {2}) continue;\n", inner, i, image.dims[i + 2]);
  }
  return text;
}

std::string Window::begin_all_taps(std::string_view indent) const {
  std::string text, inner(indent);
  for (std::size_t i = 0; i < kernel.size(); ++i, inner += "  ") text += begin_loop(i, inner);
  return text;
}

std::string Window::end_taps(std::string_view indent) const {
  std::string text;
  for (std::size_t i = kernel.size(); i-- > 0;) text += fmt::format("{}{}}}\n", indent, std::string(2 * i, ' '));
  return text;
}

std::string Window::place(const plan::View& image, const std::string& n, const std::string& c) const {
  std::vector<std::string> names = axis_names("i", kernel.size());
  names.insert(names.begin(), {n, c});
  return place_text(names, without_single_axes(image).strides);
}

std::string Window::inside(const plan::View& image, const plan::View& output) const {
  std::string text;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t size = image.dims[i + 2];
    const std::int64_t last = (output.dims[i + 2] - 1) * strides[i] - pads[i] + (kernel[i] - 1) * dilations[i];
    const auto require = [&](const std::string& condition) { text += (text.empty() ? "" : " && ") + condition; };
    if (pads[i] > 0) require(fmt::format("i{} >= 0", i));
    if (last >= size) require(fmt::format("i{} < {}", i, size));
  }
  return text;
}

OrderedLoop::OrderedLoop(const plan::View& view) : names_(axis_names("c", view.rank())), linear_(view.size()) {
  std::vector<std::size_t> order(view.rank());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(view.strides[a]) > std::abs(view.strides[b]); });
  std::vector<std::string> names;
  plan::Dims sizes;
  for (const std::size_t axis : order) {
    names.push_back(view.dims[axis] == 1 ? "" : names_[axis]);
    sizes.push_back(view.dims[axis]);
  }
  begin_ = linear_.begin() + "    Count rest = at;\n" + split_index("rest", names, sizes, "    ");
}

}  // namespace onnxkit::cuda
