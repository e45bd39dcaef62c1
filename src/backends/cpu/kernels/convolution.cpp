// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolutions, channels last, by oneDNN's kernels for that layout; the input's gradient as a forward
// convolution with the kernel turned around where strides allow it. Weights are laid out for the kernel in the
// workspace.
#include <algorithm>
#include <cstring>

#include "backends/cpu/convolution_loops.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/strided.h"
#include "backends/cpu/through_float.h"

namespace strata::cpu {
namespace {

using Dims = std::vector<std::int64_t>;
using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

// With so few input channels the blocked kernels leave most of a vector empty; the direct ones do not.
constexpr std::int64_t few_channels = 4;

memory::desc image(DType dtype, std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) {
  return dnnl_array(dtype, {n, c, h, w}, {h * w * c, 1, w * c, c});
}

// A kernel [kh, kw, in/groups, out] as oneDNN names its axes: [groups,] out, in, kh, kw.
struct KernelLayout {
  Dims dims, strides;
  KernelLayout(std::int64_t kh, std::int64_t kw, std::int64_t in, std::int64_t out, std::int64_t groups) {
    const std::int64_t own_in = in / groups, own_out = out / groups;
    dims = {own_out, own_in, kh, kw};
    strides = {1, out, kw * own_in * out, own_in * out};
    if (groups > 1) {
      dims.insert(dims.begin(), groups);
      strides.insert(strides.begin(), own_out);
    }
  }
  memory::desc plain(DType dtype) const { return dnnl_array(dtype, dims, strides); }
  memory::desc any(DType dtype) const { return memory::desc(dims, dnnl_type(dtype), memory::format_tag::any); }
};

// How windows lie. What oneDNN wants on the far side follows from the result's size; windows that do not fit are left
// out.
struct Windows {
  Dims strides, dilation, low, high;
  explicit Windows(const ConvolutionShape& s)
      : strides{s.how.strides.first, s.how.strides.second},
        dilation{s.how.dilation.first - 1, s.how.dilation.second - 1},
        low{s.how.pad_low.first, s.how.pad_low.second},
        high{(s.oh - 1) * strides[0] + (s.kh - 1) * s.how.dilation.first + 1 - s.h - low[0],
             (s.ow - 1) * strides[1] + (s.kw - 1) * s.how.dilation.second + 1 - s.w - low[1]} {}
};

// The first implementation that is no reference; with `direct`, the first "jit" one if there is any.
template <class Descriptor, class Make>
std::string choose(Make make, bool direct, std::unique_ptr<Descriptor>& chosen) {
  int position = 0, first = -1, wanted = -1;
  std::string seen;
  {
    Descriptor all = make();
    do {
      const std::string name = accepted_name(all.impl_info_str());
      if (!name.empty() && first < 0) first = position;
      if (name.starts_with("jit:") && wanted < 0) wanted = position;
      if (position == 0) seen = all.impl_info_str();
      ++position;
    } while (all.next_impl());
  }
  const int take = direct && wanted >= 0 ? wanted : first;
  if (take < 0) return cat("oneDNN has only ", seen, " for this");
  chosen = std::make_unique<Descriptor>(make());
  for (int i = 0; i < take; ++i) chosen->next_impl();
  return "";
}

// Copies a weight into the layout a kernel wants, or back.
class Relayout {
 public:
  Relayout(const memory::desc& from, const memory::desc& to)
      : Relayout(dnnl::reorder::primitive_desc(dnnl_engine(), from, dnnl_engine(), to, with_user_scratch()), from, to) {
  }
  std::size_t scratch_bytes() const { return primitive_.scratch_bytes(); }
  Status run(const void* from, void* to, void* scratch) {
    primitive_.set(from_, from);
    primitive_.set(to_, to);
    return primitive_.run(scratch);
  }

 private:
  Relayout(const dnnl::reorder::primitive_desc& pd, const memory::desc& from, const memory::desc& to)
      : primitive_(dnnl::reorder(pd), pd),
        from_(primitive_.add(DNNL_ARG_FROM, from)),
        to_(primitive_.add(DNNL_ARG_TO, to)) {}
  Primitive primitive_;
  int from_, to_;
};

// Forward convolution of one image batch with a plain kernel, [kh, kw, in/groups, out], and perhaps bias and relu.
class Forward {
 public:
  Forward(const ConvolutionShape& s, DType dtype, bool bias, bool relu) {
    const KernelLayout kernel(s.kh, s.kw, s.in, s.out, s.how.groups);
    const memory::desc x = image(dtype, s.n, s.h, s.w, s.in), y = image(dtype, s.n, s.oh, s.ow, s.out);
    const memory::desc b = bias ? dnnl_array(dtype, {s.out}, {1}) : memory::desc();
    const auto make = [&] {
      dnnl::primitive_attr attributes = with_user_scratch();
      if (relu) {
        dnnl::post_ops operations;
        operations.append_eltwise(1.0F, algorithm::eltwise_relu, 0.0F, 0.0F);
        attributes.set_post_ops(operations);
      }
      return dnnl::convolution_forward::primitive_desc(*desc_, attributes, dnnl_engine());
    };
    const Windows windows(s);
    desc_ = std::make_unique<dnnl::convolution_forward::desc>(
        prop_kind::forward_training, algorithm::convolution_direct, x, kernel.any(dtype), b, y, windows.strides,
        windows.dilation, windows.low, windows.high);
    std::unique_ptr<dnnl::convolution_forward::primitive_desc> pd;
    reason_ = choose(make, s.in <= few_channels, pd);
    if (!pd) return;
    primitive_.emplace(dnnl::convolution_forward(*pd), *pd);
    x_ = primitive_->add(DNNL_ARG_SRC, x);
    weights_ = primitive_->add(DNNL_ARG_WEIGHTS, pd->weights_desc());
    if (bias) bias_ = primitive_->add(DNNL_ARG_BIAS, b);
    y_ = primitive_->add(DNNL_ARG_DST, y);
    relayout_.emplace(kernel.plain(dtype), pd->weights_desc());
    weight_bytes_ = aligned(pd->weights_desc().get_size());
    name_ = pd->impl_info_str();
  }
  const std::string& reason() const { return reason_; }
  const std::string& name() const { return name_; }
  std::size_t workspace_bytes() const {
    return weight_bytes_ + std::max(primitive_->scratch_bytes(), relayout_->scratch_bytes());
  }
  Status run(const void* x, const void* kernel, const void* bias, void* y, void* workspace) {
    char* weights = static_cast<char*>(workspace);
    char* scratch = weights + weight_bytes_;
    const Status status = relayout_->run(kernel, weights, scratch);
    if (status != Status::ok) return status;
    primitive_->set(x_, x);
    primitive_->set(weights_, weights);
    if (bias_ >= 0) primitive_->set(bias_, bias);
    primitive_->set(y_, y);
    return primitive_->run(scratch);
  }

 private:
  std::unique_ptr<dnnl::convolution_forward::desc> desc_;  // outlives the primitive descriptors made of it
  std::optional<Primitive> primitive_;
  std::optional<Relayout> relayout_;
  int x_ = -1, weights_ = -1, bias_ = -1, y_ = -1;
  std::size_t weight_bytes_ = 0;
  std::string reason_, name_;
};

bool has_onednn(DType dtype) { return dtype == DType::float32 || dtype == DType::bfloat16; }

Choice zeros(const Problem& problem) {
  const std::size_t bytes = problem.outputs[0].bytes();
  return accept([bytes](const Launch& l) { std::memset(l.outputs[0], 0, bytes); });
}
bool is_empty(const Problem& problem) {
  return problem.outputs[0].size() == 0 || problem.inputs[0].size() == 0 || problem.inputs[1].size() == 0;
}

// Turns oneDNN's exceptions into refusals.
template <Choice (*make)(const Problem&)> Choice guarded(const Problem& problem) try {
  return make(problem);
} catch (const dnnl::error& error) {
  return refuse(cat("oneDNN: ", error.what()));
}

// --- forward
// ----------------------------------------------------------------------------------------------------------

Choice forward(const Problem& problem) {
  if (is_empty(problem)) return zeros(problem);
  const DType dtype = problem.outputs[0].dtype;
  if (!has_onednn(dtype)) return refuse(cat("oneDNN does not convolve ", dtype));
  const ConvolutionShape s(problem.inputs[0].shape, problem.inputs[1].shape, problem.outputs[0].shape,
                           problem.node.attributes.as<Convolution>());
  const auto conv = std::make_shared<Forward>(s, dtype, false, false);
  if (!conv->reason().empty()) return refuse(conv->reason());
  Choice choice = accept(
      [conv](const Launch& l) { return conv->run(l.inputs[0], l.inputs[1], nullptr, l.outputs[0], l.workspace); },
      conv->workspace_bytes());
  choice.name = cat("conv2d ", conv->name());
  return choice;
}

Choice forward_fused(const Problem& problem) {
  std::string reason;
  const auto epilogue = Epilogue::of(problem, "conv2d", reason);
  if (!epilogue) return refuse(std::move(reason));
  if (!(epilogue->first_type() == problem.outputs[0])) return refuse("the group changes the convolution's type");
  const DType dtype = problem.outputs[0].dtype;
  if (!has_onednn(dtype)) return refuse(cat("oneDNN does not convolve ", dtype));
  const std::size_t x = epilogue->first_inputs()[0], kernel = epilogue->first_inputs()[1];
  if (problem.outputs[0].size() == 0) return accept([](const Launch&) {});
  if (problem.inputs[x].size() == 0 || problem.inputs[kernel].size() == 0)
    return refuse("there is nothing to convolve");
  const ConvolutionShape s(problem.inputs[x].shape, problem.inputs[kernel].shape, problem.outputs[0].shape,
                           epilogue->first().attributes.as<Convolution>());
  const bool relu = epilogue->activation() == "relu";
  const bool inside = epilogue->simple() && (relu || epilogue->activation().empty());
  const int bias = inside ? epilogue->bias() : -1;
  const auto conv = std::make_shared<Forward>(s, dtype, bias >= 0, inside && relu);
  if (!conv->reason().empty()) return refuse(conv->reason());
  const auto run = [=](const Launch& l) {
    const void* bias_address = bias >= 0 ? l.inputs[static_cast<std::size_t>(bias)] : nullptr;
    const Status status = conv->run(l.inputs[x], l.inputs[kernel], bias_address, l.outputs[0], l.workspace);
    if (status == Status::ok && !inside) epilogue->run(l.inputs, l.outputs[0], l.workspace);
    return status;
  };
  Choice choice = accept(run, std::max(conv->workspace_bytes(), epilogue->workspace_bytes()));
  choice.name = cat("conv2d ", conv->name(), epilogue->bias() >= 0 ? " +bias" : "",
                    epilogue->activation().empty() ? "" : " +", epilogue->activation());
  return choice;
}

// --- the input's gradient
// ---------------------------------------------------------------------------------------------

ConvolutionShape gradient_shape(const Problem& problem) {
  return {problem.outputs[0].shape, problem.inputs[1].shape, problem.inputs[0].shape,
          problem.node.attributes.as<ConvolutionGradient>().convolution};
}

// As a forward convolution of the gradient: kernel turned around, in and out exchanged, padding complemented.
Choice input_gradient_forward(const Problem& problem) {
  if (is_empty(problem)) return zeros(problem);
  const DType dtype = problem.outputs[0].dtype;
  if (!has_onednn(dtype)) return refuse(cat("oneDNN does not convolve ", dtype));
  const ConvolutionShape s = gradient_shape(problem);
  if (!(s.how.strides == Pair(1)) || s.how.groups != 1) return refuse("only for stride 1 and one group");
  ConvolutionShape turned = s;
  std::swap(turned.h, turned.oh);
  std::swap(turned.w, turned.ow);
  std::swap(turned.in, turned.out);
  turned.how.pad_low = {(s.kh - 1) * s.how.dilation.first - s.how.pad_low.first,
                        (s.kw - 1) * s.how.dilation.second - s.how.pad_low.second};
  if (turned.how.pad_low.first < 0 || turned.how.pad_low.second < 0)
    return refuse("padded by more than the kernel's size");
  const auto conv = std::make_shared<Forward>(turned, dtype, false, false);
  if (!conv->reason().empty()) return refuse(conv->reason());
  // From the last element of the kernel backwards: [kh, kw, out, in].
  const std::int64_t plane = s.in * s.out, taps = s.kh * s.kw, width = static_cast<std::int64_t>(size_of(dtype));
  const StridedCopy turn({{taps, -plane, plane}, {s.out, 1, s.in}, {s.in, s.out, 1}}, width);
  const std::int64_t last = (taps - 1) * plane * width;
  const std::size_t kernel_bytes = aligned(problem.inputs[1].bytes());
  const auto run = [=](const Launch& l) {
    char* kernel = static_cast<char*>(l.workspace);
    turn.run(static_cast<const char*>(l.inputs[1]) + last, kernel);
    return conv->run(l.inputs[0], kernel, nullptr, l.outputs[0], kernel + kernel_bytes);
  };
  Choice choice = accept(run, kernel_bytes + conv->workspace_bytes());
  choice.name = cat("conv2d input gradient as forward ", conv->name());
  return choice;
}

// A gradient by oneDNN's own pass. Weights or their gradient lie in the kernel's layout in the workspace.
template <class Pass> struct Backward {
  std::unique_ptr<typename Pass::desc> desc;
  std::optional<Primitive> primitive;
  std::optional<Relayout> relayout;
  int image_a = -1, image_b = -1, weights = -1;
  std::size_t weight_bytes = 0;
  std::size_t workspace_bytes() const {
    return weight_bytes + std::max(primitive->scratch_bytes(), relayout->scratch_bytes());
  }
};

// The gradients are made for a forward pass, as a hint; only its description is used.
dnnl::convolution_forward::primitive_desc forward_hint(const memory::desc& x, const memory::desc& weights,
                                                       const memory::desc& y, const Windows& windows) {
  return {dnnl::convolution_forward::desc(prop_kind::forward_training, algorithm::convolution_direct, x, weights, y,
                                          windows.strides, windows.dilation, windows.low, windows.high),
          dnnl_engine()};
}

Choice input_gradient_backward(const Problem& problem) {
  if (is_empty(problem)) return zeros(problem);
  const DType dtype = problem.outputs[0].dtype;
  if (!has_onednn(dtype)) return refuse(cat("oneDNN does not convolve ", dtype));
  const ConvolutionShape s = gradient_shape(problem);
  const Windows windows(s);
  const KernelLayout kernel(s.kh, s.kw, s.in, s.out, s.how.groups);
  const memory::desc x = image(dtype, s.n, s.h, s.w, s.in), y = image(dtype, s.n, s.oh, s.ow, s.out);
  using Pass = dnnl::convolution_backward_data;
  const auto pass = std::make_shared<Backward<Pass>>();
  pass->desc = std::make_unique<Pass::desc>(algorithm::convolution_direct, x, kernel.any(dtype), y, windows.strides,
                                            windows.dilation, windows.low, windows.high);
  const auto hint = forward_hint(x, kernel.any(dtype), y, windows);
  std::unique_ptr<Pass::primitive_desc> pd;
  const std::string reason =
      choose([&] { return Pass::primitive_desc(*pass->desc, with_user_scratch(), dnnl_engine(), hint); }, false, pd);
  if (!pd) return refuse(reason);
  pass->primitive.emplace(Pass(*pd), *pd);
  pass->image_a = pass->primitive->add(DNNL_ARG_DIFF_DST, y);
  pass->image_b = pass->primitive->add(DNNL_ARG_DIFF_SRC, x);
  pass->weights = pass->primitive->add(DNNL_ARG_WEIGHTS, pd->weights_desc());
  pass->relayout.emplace(kernel.plain(dtype), pd->weights_desc());
  pass->weight_bytes = aligned(pd->weights_desc().get_size());
  const auto run = [pass](const Launch& l) {
    char* weights = static_cast<char*>(l.workspace);
    char* scratch = weights + pass->weight_bytes;
    const Status status = pass->relayout->run(l.inputs[1], weights, scratch);
    if (status != Status::ok) return status;
    pass->primitive->set(pass->image_a, l.inputs[0]);
    pass->primitive->set(pass->image_b, l.outputs[0]);
    pass->primitive->set(pass->weights, weights);
    return pass->primitive->run(scratch);
  };
  Choice choice = accept(run, pass->workspace_bytes());
  choice.name = cat("conv2d input gradient ", pd->impl_info_str());
  return choice;
}

// --- the kernel's gradient
// --------------------------------------------------------------------------------------------

Choice kernel_gradient_backward(const Problem& problem) {
  if (is_empty(problem)) return zeros(problem);
  const DType dtype = problem.outputs[0].dtype;
  if (!has_onednn(dtype)) return refuse(cat("oneDNN does not convolve ", dtype));
  const ConvolutionShape s(problem.inputs[0].shape, problem.outputs[0].shape, problem.inputs[1].shape,
                           problem.node.attributes.as<ConvolutionGradient>().convolution);
  const Windows windows(s);
  const KernelLayout kernel(s.kh, s.kw, s.in, s.out, s.how.groups);
  const memory::desc x = image(dtype, s.n, s.h, s.w, s.in), y = image(dtype, s.n, s.oh, s.ow, s.out);
  using Pass = dnnl::convolution_backward_weights;
  const auto pass = std::make_shared<Backward<Pass>>();
  pass->desc = std::make_unique<Pass::desc>(algorithm::convolution_direct, x, kernel.any(dtype), y, windows.strides,
                                            windows.dilation, windows.low, windows.high);
  const auto hint = forward_hint(x, kernel.any(dtype), y, windows);
  std::unique_ptr<Pass::primitive_desc> pd;
  const std::string reason =
      choose([&] { return Pass::primitive_desc(*pass->desc, with_user_scratch(), dnnl_engine(), hint); }, false, pd);
  if (!pd) return refuse(reason);
  pass->primitive.emplace(Pass(*pd), *pd);
  pass->image_a = pass->primitive->add(DNNL_ARG_SRC, x);
  pass->image_b = pass->primitive->add(DNNL_ARG_DIFF_DST, y);
  pass->weights = pass->primitive->add(DNNL_ARG_DIFF_WEIGHTS, pd->diff_weights_desc());
  pass->relayout.emplace(pd->diff_weights_desc(), kernel.plain(dtype));
  pass->weight_bytes = aligned(pd->diff_weights_desc().get_size());
  const auto run = [pass](const Launch& l) {
    char* weights = static_cast<char*>(l.workspace);
    char* scratch = weights + pass->weight_bytes;
    pass->primitive->set(pass->image_a, l.inputs[0]);
    pass->primitive->set(pass->image_b, l.inputs[1]);
    pass->primitive->set(pass->weights, weights);
    const Status status = pass->primitive->run(scratch);
    return status == Status::ok ? pass->relayout->run(weights, l.outputs[0], scratch) : status;
  };
  Choice choice = accept(run, pass->workspace_bytes());
  choice.name = cat("conv2d kernel gradient ", pd->impl_info_str());
  return choice;
}

// --- plain loops
// ------------------------------------------------------------------------------------------------------

template <class T, void (*pass)(const ConvolutionShape&, const T*, const T*, T*)>
Choice loops_over(const ConvolutionShape& s) {
  return accept([s](const Launch& l) {
    pass(s, static_cast<const T*>(l.inputs[0]), static_cast<const T*>(l.inputs[1]), static_cast<T*>(l.outputs[0]));
  });
}

Choice forward_loops(const Problem& problem) {
  const ConvolutionShape s(problem.inputs[0].shape, problem.inputs[1].shape, problem.outputs[0].shape,
                           problem.node.attributes.as<Convolution>());
  const DType dtype = problem.outputs[0].dtype;
  if (dtype == DType::float32) return loops_over<float, convolve<float>>(s);
  if (dtype == DType::float64) return loops_over<double, convolve<double>>(s);
  return refuse(cat("no loops for ", dtype));
}
Choice input_gradient_loops(const Problem& problem) {
  const ConvolutionShape s = gradient_shape(problem);
  const DType dtype = problem.outputs[0].dtype;
  if (dtype == DType::float32) return loops_over<float, convolve_input_gradient<float>>(s);
  if (dtype == DType::float64) return loops_over<double, convolve_input_gradient<double>>(s);
  return refuse(cat("no loops for ", dtype));
}
Choice kernel_gradient_loops(const Problem& problem) {
  const ConvolutionShape s(problem.inputs[0].shape, problem.outputs[0].shape, problem.inputs[1].shape,
                           problem.node.attributes.as<ConvolutionGradient>().convolution);
  const DType dtype = problem.outputs[0].dtype;
  if (dtype == DType::float32) return loops_over<float, convolve_kernel_gradient<float>>(s);
  if (dtype == DType::float64) return loops_over<double, convolve_kernel_gradient<double>>(s);
  return refuse(cat("no loops for ", dtype));
}

}  // namespace

void kernels_convolution(KernelTable& table) {
  add_both(table, "conv2d", "onednn", guarded<forward>);
  add_both(table, "conv2d", "loops", forward_loops);
  add_both(table, "fused:conv2d", "onednn", guarded<forward_fused>);
  add_both(table, "conv2d_input_gradient", "as forward", guarded<input_gradient_forward>);
  add_both(table, "conv2d_input_gradient", "onednn", guarded<input_gradient_backward>);
  add_both(table, "conv2d_input_gradient", "loops", input_gradient_loops);
  add_both(table, "conv2d_kernel_gradient", "onednn", guarded<kernel_gradient_backward>);
  add_both(table, "conv2d_kernel_gradient", "loops", kernel_gradient_loops);
}

}  // namespace strata::cpu
