// SPDX-License-Identifier: Apache-2.0
// The shard rules. Each sees whole types and says how the outputs lie.
#include "graph/shard.h"

#include <algorithm>

#include "strata/ops.h"

namespace strata::shard {

namespace {

using Kind = Layout::Kind;

bool split(const Layout& layout) { return layout.kind == Kind::split; }
bool terms(const Layout& layout) { return layout.kind == Kind::terms; }
Layout along(int axis) { return {Kind::split, axis}; }
bool any_split(const Shard& s) { return std::ranges::any_of(s.in, split); }

// Terms cannot be used as they are: they are summed first.
void sum_terms(Shard& s) {
  for (Layout& layout : s.in)
    if (terms(layout)) layout = {};
}

void all_outputs(Shard& s, Layout layout) { std::ranges::fill(s.out, layout); }

bool given(const Shard& s, std::size_t input) { return input < s.inputs.size() && static_cast<bool>(s.inputs[input]); }

}  // namespace

bool elementwise(Shard& s) {
  sum_terms(s);
  const int rank = s.outputs[0].shape.rank();
  int axis = -1;
  for (std::size_t i = 0; i < s.in.size(); ++i)
    if (split(s.in[i])) axis = std::max(axis, s.in[i].axis + rank - s.inputs[i].shape.rank());
  if (axis < 0) return true;
  for (std::size_t i = 0; i < s.in.size(); ++i) {
    const int own = axis - (rank - s.inputs[i].shape.rank());
    s.in[i] = own >= 0 && s.inputs[i].shape[own] == s.outputs[0].shape[axis] && s.outputs[0].shape[axis] != 1
                  ? along(own)
                  : Layout{};
  }
  all_outputs(s, along(axis));
  return true;
}

bool sum_like(Shard& s) {
  if (std::ranges::all_of(s.in, terms) && s.inputs[0].shape == s.inputs[s.inputs.size() - 1].shape) {
    all_outputs(s, {Kind::terms, 0});
    return true;
  }
  return elementwise(s);
}

bool scaled(Shard& s) {
  const auto count = std::ranges::count_if(s.in, terms);
  if (count == 1 && !any_split(s) && terms(s.in[0])) {
    all_outputs(s, {Kind::terms, 0});
    return true;
  }
  return elementwise(s);
}

bool keeps_rows(Shard& s) {
  sum_terms(s);
  if (!any_split(s)) return true;
  for (std::size_t i = 0; i < s.in.size(); ++i)
    if (split(s.in[i]) && s.in[i].axis != 0) return false;
  for (std::size_t i = 0; i < s.in.size(); ++i)
    if (given(s, i)) s.in[i] = along(0);
  all_outputs(s, along(0));
  return true;
}

bool reshape(Shard& s) {
  sum_terms(s);
  if (!split(s.in[0])) return true;
  // The split axis must begin an axis of the result: what is before it has equal size in both.
  const Shape &from = s.inputs[0].shape, &to = s.outputs[0].shape;
  std::int64_t before = 1;
  for (int i = 0; i < s.in[0].axis; ++i) before *= from[i];
  std::int64_t size = 1;
  for (int i = 0; i < to.rank(); ++i) {
    if (size == before && to[i] % s.batch_rows == 0 &&
        (to[i] % from[s.in[0].axis] == 0 || from[s.in[0].axis] % to[i] == 0) && to[i] > 0) {
      s.out[0] = along(i);
      s.local = ToShape{s.shape(to, s.out[0])};
      return true;
    }
    size *= to[i];
  }
  return false;
}

bool broadcast_to(Shard& s) {
  sum_terms(s);
  const Shape &from = s.inputs[0].shape, &to = s.outputs[0].shape;
  if (!split(s.in[0])) return true;
  const int axis = s.in[0].axis + to.rank() - from.rank();
  if (to[axis] != from[s.in[0].axis]) return false;
  s.out[0] = along(axis);
  s.local = ToShape{s.shape(to, s.out[0])};
  return true;
}

bool sum_to(Shard& s) {
  const Shape &from = s.inputs[0].shape, &to = s.outputs[0].shape;
  if (terms(s.in[0])) {
    s.out[0] = {Kind::terms, 0};
    return true;
  }
  if (!split(s.in[0])) return true;
  const int axis = s.in[0].axis - (from.rank() - to.rank());
  if (axis >= 0 && to[axis] == from[s.in[0].axis]) {
    s.out[0] = along(axis);
    s.local = ToShape{s.shape(to, s.out[0])};
  } else {
    s.out[0] = {Kind::terms, 0};
  }
  return true;
}

bool transpose(Shard& s) {
  if (terms(s.in[0])) s.out[0] = s.in[0];
  if (!split(s.in[0])) return true;
  const auto& axes = s.attributes.as<Permutation>().axes;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] == s.in[0].axis) s.out[0] = along(static_cast<int>(i));
  return true;
}

bool window(Shard& s) {
  sum_terms(s);
  if (!split(s.in[0])) return true;
  const int axis = s.in[0].axis;
  if (s.outputs[0].shape[axis] != s.inputs[0].shape[axis]) return false;
  s.out[0] = along(axis);
  if (s.inputs[0].shape[axis] == s.outputs[0].shape[axis]) {
    if (const Config written = s.attributes.write(); written.find("limits")) {
      Slice slice = s.attributes.as<Slice>();
      if (slice.starts[static_cast<std::size_t>(axis)] != 0) return false;
      slice.limits[static_cast<std::size_t>(axis)] = s.extent(s.inputs[0].shape[axis]);
      s.local = slice;
    }
  }
  return true;
}

bool along_axis(Shard& s) {
  sum_terms(s);
  if (!split(s.in[0])) return true;
  const int worked = s.inputs[0].shape.axis(static_cast<int>(s.attributes.as<Axis>().axis));
  if (worked == s.in[0].axis) return false;
  const bool gone = s.outputs[0].shape.rank() < s.inputs[0].shape.rank();
  for (std::size_t i = 1; i < s.in.size(); ++i) s.in[i] = s.in[0];
  all_outputs(s, along(s.in[0].axis - (gone && worked < s.in[0].axis ? 1 : 0)));
  return true;
}

bool concatenate(Shard& s) {
  sum_terms(s);
  if (!any_split(s)) return true;
  const int joined = s.inputs[0].shape.axis(static_cast<int>(s.attributes.as<Axis>().axis));
  int axis = -1;
  for (const Layout& layout : s.in)
    if (split(layout)) axis = layout.axis;
  if (axis == joined) return false;
  std::ranges::fill(s.in, along(axis));
  s.out[0] = along(axis);
  return true;
}

namespace {

// Whether the split axis is among the reduced; otherwise where it lands.
bool reduced_split(Shard& s, int& lands) {
  const auto& reduction = s.attributes.as<Reduction>();
  int before = 0;
  for (const std::int64_t axis : reduction.axes) {
    const int from_front = s.inputs[0].shape.axis(static_cast<int>(axis));
    if (from_front == s.in[0].axis) return true;
    if (from_front < s.in[0].axis) ++before;
  }
  lands = s.in[0].axis - (reduction.keepdims ? 0 : before);
  return false;
}

}  // namespace

bool reduce(Shard& s) {
  if (terms(s.in[0])) s.out[0] = s.in[0];
  if (!split(s.in[0])) return true;
  int lands = 0;
  s.out[0] = reduced_split(s, lands) ? Layout{Kind::terms, 0} : along(lands);
  return true;
}

bool reduce_other(Shard& s) {
  sum_terms(s);
  if (!split(s.in[0])) return true;
  int lands = 0;
  if (reduced_split(s, lands)) return false;
  s.out[0] = along(lands);
  return true;
}

bool matmul(Shard& s) {
  sum_terms(s);
  if (!any_split(s)) return true;
  const auto& m = s.attributes.as<Matmul>();
  const Shape &a = s.inputs[0].shape, &b = s.inputs[1].shape;
  const int inner_a = m.transpose_a ? a.rank() - 2 : a.rank() - 1, rows_a = m.transpose_a ? a.rank() - 1 : a.rank() - 2;
  const int inner_b = m.transpose_b ? b.rank() - 1 : b.rank() - 2,
            columns_b = m.transpose_b ? b.rank() - 2 : b.rank() - 1;
  const int out_rank = s.outputs[0].shape.rank();
  const bool a_split = split(s.in[0]), b_split = split(s.in[1]);
  if ((a_split && s.in[0].axis == inner_a) || (b_split && s.in[1].axis == inner_b)) {
    if ((a_split && s.in[0].axis != inner_a) || (b_split && s.in[1].axis != inner_b)) return false;
    s.in = {along(inner_a), along(inner_b)};
    s.out[0] = {Kind::terms, 0};
    return true;
  }
  if (a_split && s.in[0].axis == rows_a) {
    if (b_split) return false;
    s.out[0] = along(out_rank - 2);
    return true;
  }
  if (b_split && s.in[1].axis == columns_b) {
    if (a_split) return false;
    s.out[0] = along(out_rank - 1);
    return true;
  }
  // A batch axis: both must have it, or b is the same for all.
  const int axis = a_split ? s.in[0].axis + out_rank - a.rank() : s.in[1].axis + out_rank - b.rank();
  const int own_a = axis - (out_rank - a.rank()), own_b = axis - (out_rank - b.rank());
  s.in[0] = own_a >= 0 && a[own_a] != 1 ? along(own_a) : Layout{};
  s.in[1] = own_b >= 0 && b.rank() > 2 && b[own_b] != 1 ? along(own_b) : Layout{};
  s.out[0] = along(axis);
  return true;
}

bool conv2d(Shard& s) {
  sum_terms(s);
  if (split(s.in[1]) || (split(s.in[0]) && s.in[0].axis != 0)) return false;
  if (split(s.in[0])) s.out[0] = along(0);
  return true;
}

namespace {

bool split_gradient(Shard& s, ConvolutionGradient&& gradient) {
  gradient.shape = s.shape(gradient.shape, along(0));
  s.local = gradient;
  s.out[0] = along(0);
  return true;
}

}  // namespace

bool conv2d_input_gradient(Shard& s) {
  sum_terms(s);
  if (!any_split(s)) return true;
  if (split(s.in[1]) || s.in[0].axis != 0) return false;
  return split_gradient(s, ConvolutionGradient(s.attributes.as<ConvolutionGradient>()));
}

bool conv2d_kernel_gradient(Shard& s) {
  sum_terms(s);
  if (!any_split(s)) return true;
  for (const Layout& layout : s.in)
    if (split(layout) && layout.axis != 0) return false;
  s.in = {along(0), along(0)};
  s.out[0] = {Kind::terms, 0};
  return true;
}

bool pooling_gradient(Shard& s) {
  if (!keeps_rows(s)) return false;
  if (!split(s.out[0])) return true;
  PoolingGradient gradient = s.attributes.as<PoolingGradient>();
  gradient.shape = s.shape(gradient.shape, along(0));
  s.local = gradient;
  return true;
}

bool layer_norm(Shard& s) {
  sum_terms(s);
  if (!split(s.in[0])) return !any_split(s);
  if (s.in[0].axis == s.inputs[0].shape.rank() - 1) return false;
  for (std::size_t i = 1; i < s.in.size(); ++i) s.in[i] = {};
  all_outputs(s, s.in[0]);
  return true;
}

bool layer_norm_gradient(Shard& s) {
  sum_terms(s);
  if (!any_split(s)) return true;
  Layout rows;
  for (std::size_t i = 0; i < s.in.size(); ++i)
    if (i != 1 && split(s.in[i])) rows = s.in[i];  // gamma has channels only
  if (!split(rows)) return false;
  const Shape& x = s.outputs[0].shape;
  if (rows.axis == x.rank() - 1) return false;
  for (std::size_t i = 0; i < s.in.size(); ++i) {
    const Shape& shape = s.inputs[i].shape;
    s.in[i] =
        given(s, i) && shape.rank() > rows.axis && shape.rank() >= x.rank() - 1 && shape[rows.axis] == x[rows.axis]
            ? rows
            : Layout{};
  }
  all_outputs(s, {Kind::terms, 0});
  s.out[0] = rows;
  return true;
}

bool gather(Shard& s) {
  sum_terms(s);
  if (split(s.in[0])) return false;
  if (split(s.in[1])) s.out[0] = s.in[1];
  return true;
}

bool scatter_add(Shard& s) {
  sum_terms(s);
  if (!any_split(s)) return true;
  const Layout rows = split(s.in[0]) ? s.in[0] : s.in[1];
  if (rows.axis >= s.inputs[0].shape.rank()) return false;
  s.in = {rows, rows};
  s.out[0] = {Kind::terms, 0};
  return true;
}

bool one_hot(Shard& s) {
  sum_terms(s);
  if (split(s.in[0])) s.out[0] = s.in[0];
  return true;
}

bool random(Shard& s) {
  Random random = s.attributes.as<Random>();
  if (random.shape.rank() == 0 || random.shape[0] != s.batch_rows) return true;
  s.out[0] = along(0);
  random.shape = s.shape(random.shape, s.out[0]);
  s.local = random;
  return true;
}

bool lstm(Shard& s) {
  sum_terms(s);
  // x, h0, c0 and the mask have rows; kernel, recurrent and bias do not. Split otherwise, all is taken whole: the gradient
  // needs the reserve, which the op's own kernel makes.
  const bool rows = s.in[0] == along(0);
  for (std::size_t i = 0; i < s.in.size(); ++i)
    s.in[i] = rows && given(s, i) && (i == 0 || i >= 4) ? along(0) : Layout{};
  if (rows) all_outputs(s, along(0));
  return true;
}

bool lstm_gradient(Shard& s) {
  sum_terms(s);
  const bool rows = s.in[0] == along(0);
  if (!rows) {
    std::ranges::fill(s.in, Layout{});
    return true;
  }
  const std::int64_t whole = s.inputs[0].shape[0];
  for (std::size_t i = 0; i < s.in.size(); ++i) s.in[i] = given(s, i) && !(i >= 1 && i <= 3) ? along(0) : Layout{};
  for (std::size_t i = 0; i < s.outputs.size(); ++i)
    s.out[i] = i >= 1 && i <= 3                                              ? Layout{Kind::terms, 0}
               : s.outputs[i].shape.rank() && s.outputs[i].shape[0] == whole ? along(0)
                                                                             : Layout{};
  return true;
}

}  // namespace strata::shard
