// GatherBlockQuantized of com.microsoft: rows of packed numbers with their scales and zero points, unpacked behind the gather.
#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

struct GatheredBlocks {
  enum : std::size_t { data, indices, scales, zeros };
};

/// Places that a gather takes, 0 for those beyond the axis, and whether each lies in it.
struct BlockPlaces {
  View at, is_inside;
};

BlockPlaces block_places(LowerCall& call, const View& indices, std::int64_t size) {
  const auto written = [&](bool gives_place) {
    Expression e;
    const Number given = e.input(0, Lane::i64);
    const Number is_negative = e.apply(Operation::less, given, e.integer(0));
    const Number at = e.apply(Operation::select, is_negative, e.apply(Operation::add, given, e.integer(size)), given);
    const Number is_inside = e.apply(Operation::logical_and, e.apply(Operation::less_or_equal, e.integer(0), at),
                                     e.apply(Operation::less, at, e.integer(size)));
    if (gives_place) e.apply(Operation::select, is_inside, at, e.integer(0));
    return reshaped(mapped(call, e, {indices}, ElementType::int64, indices.dims), {indices.size()});
  };
  return {written(true), written(false)};
}

/// The slices at these places along an axis.
View gathered_along(LowerCall& call, const View& view, std::size_t axis, const View& places) {
  const View lined = call.contiguous(view);
  const auto sizes = std::span(lined.dims);
  const std::int64_t outer = element_count(sizes.first(axis)), inner = element_count(sizes.subspan(axis + 1));
  const View result = call.make(view.type, {outer, places.size(), inner});
  call.emit(gather_step, {reshaped(lined, {outer, lined.dims[axis], inner}), places}, {result});
  Dims dims = lined.dims;
  dims[axis] = places.size();
  return reshaped(result, dims);
}

/// The numbers in bytes, low bits first, along the last axis, of which there are `last`.
View unpacked(LowerCall& call, const View& bytes, std::int64_t bits, std::int64_t last) {
  const std::int64_t in_byte = 8 / bits;
  Dims dims = bytes.dims;
  dims.push_back(1);
  const View wide = reshaped(bytes, dims);
  dims.back() = in_byte;
  std::vector<std::int64_t> shifts;
  for (std::int64_t i = 0; i < in_byte; ++i) shifts.push_back(i * bits);
  Expression e;
  const Number shifted = e.apply(Operation::shift_right, e.input(0, Lane::i64), e.input(1, Lane::i64));
  e.apply(Operation::bitwise_and, shifted, e.integer((std::int64_t{1} << bits) - 1));
  const View numbers = mapped(call, e, {wide, call.constant(shifts, {in_byte})}, ElementType::uint8, dims);
  Dims joined = bytes.dims;
  joined.back() *= in_byte;
  return sliced(reshaped(numbers, joined), joined.size() - 1, 0, 1, last);
}

/// One element for each block along an axis, for all `size` elements of it: an axis of blocks that repeats where they are even.
View spread_blocks(LowerCall& call, const View& view, std::size_t axis, std::int64_t block, std::int64_t size) {
  if (size % block == 0 && view.dims[axis] * block == size) {
    View result = view;
    result.dims.insert(result.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, block);
    result.strides.insert(result.strides.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 0);
    return result;
  }
  return taken_by_blocks(call, view, axis, block, size);
}

Unlowered lower_gather_block_quantized(LowerCall& call) {
  using In = GatheredBlocks;
  const View data = call.input(In::data), scales = call.input(In::scales), indices = call.input(In::indices);
  const std::int64_t bits = call.integer("bits", 4), block = call.integer("block_size", 128);
  if (data.type != ElementType::uint8 || (bits != 2 && bits != 4 && bits != 8) || block < 1)
    return "numbers of another form";
  if (data.size() == 0 || indices.size() == 0) return "without elements";
  const std::size_t rank = data.rank(), axis = counted_axis(call.integer("gather_axis"), rank),
                    by = counted_axis(call.integer("quantize_axis", 1), rank);
  if (scales.rank() != rank || axis == by || (axis + 1 == rank && bits != 8)) return "axes of another form";
  Dims dims = data.dims;
  dims.back() *= 8 / bits;
  Dims blocks = dims;
  blocks[by] = dims[by] / block + (dims[by] % block != 0 ? 1 : 0);
  if (scales.dims != blocks) return "scales of other sizes";
  const BlockPlaces places = block_places(call, indices, dims[axis]);
  const std::int64_t count = indices.size();
  dims[axis] = blocks[axis] = count;
  const View numbers = unpacked(call, gathered_along(call, data, axis, places.at), bits, dims.back());
  const View factors = spread_blocks(call, gathered_along(call, scales, axis, places.at), by, block, dims[by]);
  std::vector<View> inputs = {reshaped_or_copied(call, numbers, factors.dims), factors};
  Expression e;
  Number value = e.input(0, Lane::i64);
  const Number factor = e.convert(e.input(1, lane_of(scales.type)), Lane::f32);
  if (call.has_input(In::zeros)) {
    const View packed = call.input(In::zeros);
    Dims expected = scales.dims;
    expected.back() = (expected.back() * bits + 7) / 8;
    if (packed.dims != expected || packed.type != ElementType::uint8) return "zero points of other sizes";
    const View zeros = unpacked(call, gathered_along(call, packed, axis, places.at), bits, blocks.back());
    inputs.push_back(spread_blocks(call, zeros, by, block, dims[by]));
    value = e.apply(Operation::subtract, value, e.input(2, Lane::i64));
  } else {
    value = e.apply(Operation::subtract, value, e.integer(std::int64_t{1} << (bits - 1)));
  }
  Dims shown(rank, 1);  // whether a row is there, along the axis of rows
  shown[axis] = count;
  View is_inside = reshaped(places.is_inside, shown);
  if (factors.rank() > rank) {
    is_inside.dims.insert(is_inside.dims.begin() + static_cast<std::ptrdiff_t>(by) + 1, 1);
    is_inside.strides.insert(is_inside.strides.begin() + static_cast<std::ptrdiff_t>(by) + 1, 0);
  }
  inputs.push_back(is_inside);
  const Number real = e.apply(Operation::multiply, e.convert(value, Lane::f32), factor);
  e.apply(Operation::select, e.input(inputs.size() - 1, Lane::i64), real, e.constant(Lane::f32, 0));
  give(call, mapped(call, e, std::move(inputs), ElementType::float32, factors.dims));
  return std::nullopt;
}

}  // namespace

void register_block_quantized(LoweringRegistry& registry);
void register_block_quantized(LoweringRegistry& registry) {
  registry.add("com.microsoft", "GatherBlockQuantized", all_versions(), lower_gather_block_quantized);
}

}  // namespace onnxkit::plan
