# SPDX-License-Identifier: Apache-2.0
"""Writes the golden values: results computed by the real Keras, for our tests to match.

    python3 -m venv venv && venv/bin/pip install keras==3.15.1 numpy h5py jax
    venv/bin/python tests/golden/make_golden.py [layers activations ...]

Writes {layers,activations,losses,metrics,optimizers,schedules,regularizers,initializers,fit}.json
beside this file and the small files under weights/. Deterministic: data come from fixed seeds and
are rounded to four decimals, results are computed in float64 (the weights/ files in float32) and
rounded to nine significant digits. KERAS_BACKEND=torch (and GOLDEN_OUT=folder) serves as a cross-check.
"""
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import json
import sys
import zlib

import keras
import numpy as np
from keras import ops

import keras_build as build

HERE = os.environ.get("GOLDEN_OUT") or os.path.dirname(os.path.abspath(__file__))
BACKEND = keras.backend.backend()

# Keras demotes float64 to float32 whenever it promotes types; keep float64 for exact values.
keras.src.backend.common.dtypes.BIT64_TO_BIT32_DTYPE.pop("float64")


# --- numbers and files -----------------------------------------------------------------------

def number(value):
    value = float(value)
    if abs(value) < 1e-15:
        return 0
    value = float(f"{value:.9g}")
    return int(value) if value.is_integer() and abs(value) < 1e9 else value


def to_numpy(value):
    return np.asarray(ops.convert_to_numpy(value))


def tensor(value):
    value = to_numpy(value)
    return {"shape": list(value.shape), "data": [number(v) for v in value.reshape(-1)]}


def maybe(value):
    return None if value is None else tensor(value)


def write(name, content):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    head = {"keras": keras.__version__}
    head.update(content)
    cases = head.pop("cases", None)
    text = json.dumps(head, separators=(",", ":"), allow_nan=False)
    if cases is not None:
        names = [c["name"] for c in cases]
        assert len(names) == len(set(names)), "case names must be unique"
        lines = ",\n".join(json.dumps(c, separators=(",", ":"), allow_nan=False) for c in cases)
        text = text[:-1] + ',"cases":[\n' + lines + "\n]}"
    with open(path, "w") as file:
        file.write(text + "\n")
    print(f"{name}: {len(text) // 1024} KiB, {len(cases or [])} cases", flush=True)


class Data:
    """Random numbers that depend on the case's name only."""

    def __init__(self, name):
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))

    def normal(self, shape, scale=1.0, shift=0.0):
        return np.round(self.rng.normal(size=shape) * scale + shift, 4)

    def uniform(self, shape, low=0.0, high=1.0):
        return np.round(self.rng.uniform(low, high, size=shape), 4)

    def integers(self, shape, high, low=0):
        return self.rng.integers(low, high, size=shape).astype("int32")

    def probabilities(self, shape, axis=-1):
        p = self.rng.uniform(0.05, 1.0, size=shape)
        return np.round(p / p.sum(axis=axis, keepdims=True), 4)

    def one_hot(self, shape, axis=-1):
        classes = shape[axis]
        ids = self.rng.integers(0, classes, size=np.delete(np.array(shape), axis))
        return np.moveaxis(np.eye(classes)[ids], -1, axis)


def pullback(function, arguments, cotangents_of):
    """(outputs, cotangents, gradients of sum(output * cotangent)); None = does not depend."""
    if BACKEND == "jax":
        import jax
        outputs, back = jax.vjp(function, *[ops.convert_to_tensor(a) for a in arguments])
        cotangents = cotangents_of([to_numpy(o) for o in outputs])
        assert all(o.dtype == "float64" for o in outputs)
        gradients = back([ops.cast(c, o.dtype) for c, o in zip(cotangents, outputs)])
        return outputs, cotangents, gradients
    import torch
    leaves = [torch.tensor(np.asarray(a), requires_grad=True) for a in arguments]
    outputs = function(*leaves)
    cotangents = cotangents_of([o.detach().numpy() for o in outputs])
    total = sum((o * torch.tensor(c)).sum() for o, c in zip(outputs, cotangents))
    gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    gradients = [torch.zeros_like(a) if g is None else g for a, g in zip(leaves, gradients)]
    return [o.detach() for o in outputs], cotangents, gradients


# --- layers ----------------------------------------------------------------------------------

def random_weight(data, variable):
    shape = tuple(variable.shape)
    if variable.name == "moving_variance":
        return data.uniform(shape, 0.3, 1.7)
    if variable.name == "gamma":
        return data.normal(shape, 0.3, 1.0)
    return data.normal(shape, 0.5)


def layer_case(name, kind, args, inputs, mask=None, training=False):
    data = Data(name)
    inputs = [data.normal(i) if isinstance(i, tuple) else i for i in inputs]
    layer = build.layer(kind, args)
    arrays = [ops.convert_to_tensor(i) for i in inputs]
    several = len(arrays) > 1
    layer.build([a.shape for a in arrays] if several else arrays[0].shape)
    for variable in layer.weights:
        variable.assign(random_weight(data, variable))
    before = [to_numpy(v) for v in layer.weights]
    options = {}
    if kind in ("BatchNormalization", "LSTM", "Dropout"):
        options["training"] = training
    if mask is not None:
        options["mask"] = ops.convert_to_tensor(mask.astype(bool))
    trainable = [to_numpy(v) for v in layer.trainable_variables]
    fixed = [ops.convert_to_tensor(to_numpy(v)) for v in layer.non_trainable_variables]
    is_float = [np.issubdtype(i.dtype, np.floating) for i in inputs]
    free = [i for i, f in zip(inputs, is_float) if f]

    def call(*leaves):
        weights, moving = list(leaves[:len(trainable)]), list(leaves[len(trainable):])
        values = [moving.pop(0) if f else a for a, f in zip(arrays, is_float)]
        outputs, _ = layer.stateless_call(
            weights, fixed, values if several else values[0], **options)
        return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]

    outputs, cotangents, gradients = pullback(
        call, trainable + free, lambda outs: [data.normal(o.shape) for o in outs])
    weight_gradients = {v.name: tensor(g)
                        for v, g in zip(layer.trainable_variables, gradients)}
    left = list(gradients[len(trainable):])
    case = {"name": name, "kind": kind, "args": args, "training": training,
            "inputs": [tensor(i) for i in inputs]}
    if mask is not None:
        case["mask"] = tensor(mask)
    case["weights"] = [{"name": v.name, "tensor": tensor(b)}
                       for v, b in zip(layer.weights, before)]
    case["outputs"] = [tensor(o) for o in outputs]
    case["cotangents"] = [tensor(c) for c in cotangents]
    case["input_gradients"] = [tensor(left.pop(0)) if f else None for f in is_float]
    case["weight_gradients"] = weight_gradients
    if kind == "BatchNormalization" and training:
        _, after = layer.stateless_call(
            [ops.convert_to_tensor(t) for t in trainable], fixed,
            arrays[0], **options)
        moved = {v.name: a for v, a in zip(layer.non_trainable_variables, after)}
        case["weights_after"] = [
            {"name": v.name, "tensor": tensor(moved.get(v.name, b))}
            for v, b in zip(layer.weights, before)]
    if kind == "Embedding" and args.get("mask_zero"):
        case["output_mask"] = tensor(to_numpy(layer.compute_mask(arrays[0])).astype(int))
    return case


def layers():
    cases = []

    def add(name, kind, args, *inputs, **more):
        cases.append(layer_case(f"{kind}: {name}", kind, args, list(inputs), **more))

    add("rank 2", "Dense", {"units": 4}, (3, 5))
    add("rank 3, tanh", "Dense", {"units": 3, "activation": "tanh"}, (2, 3, 4))
    add("no bias", "Dense", {"units": 2, "use_bias": False}, (3, 4))
    add("relu", "Dense", {"units": 6, "activation": "relu"}, (3, 2))
    add("softmax", "Dense", {"units": 4, "activation": "softmax"}, (3, 3))
    add("gelu on rank 4", "Dense", {"units": 2, "activation": "gelu"}, (2, 2, 3, 2))
    add("elu", "Activation", {"activation": "elu"}, (3, 5))

    image = (2, 5, 6, 2)
    add("valid 3x3", "Conv2D", {"filters": 3, "kernel_size": [3, 3]}, image)
    add("same 3x3", "Conv2D", {"filters": 2, "kernel_size": 3, "padding": "same"}, image)
    add("same even kernel", "Conv2D",
        {"filters": 2, "kernel_size": [2, 4], "padding": "same"}, image)
    add("valid strides 2", "Conv2D", {"filters": 2, "kernel_size": 3, "strides": 2}, image)
    add("same strides 2", "Conv2D",
        {"filters": 2, "kernel_size": 3, "strides": [2, 2], "padding": "same"}, image)
    add("same even kernel strides 2", "Conv2D",
        {"filters": 2, "kernel_size": 2, "strides": 2, "padding": "same"}, image)
    add("same strides 3 and 2, kernel smaller than stride", "Conv2D",
        {"filters": 2, "kernel_size": [2, 3], "strides": [3, 2], "padding": "same"}, image)
    add("valid dilation 2", "Conv2D",
        {"filters": 2, "kernel_size": [2, 3], "dilation_rate": 2}, image)
    add("same dilation 2", "Conv2D",
        {"filters": 2, "kernel_size": 3, "dilation_rate": [2, 2], "padding": "same"}, image)
    add("groups 2", "Conv2D", {"filters": 4, "kernel_size": 2, "groups": 2}, (2, 4, 5, 4))
    add("no bias", "Conv2D", {"filters": 2, "kernel_size": 2, "use_bias": False}, image)
    add("relu", "Conv2D",
        {"filters": 3, "kernel_size": 3, "padding": "same", "activation": "relu"}, (2, 4, 4, 2))
    add("1x1 kernel", "Conv2D", {"filters": 3, "kernel_size": 1}, (2, 3, 4, 2))
    add("1x1 kernel strides 2 same", "Conv2D",
        {"filters": 2, "kernel_size": 1, "strides": 2, "padding": "same"}, image)

    for kind in ("MaxPooling2D", "AveragePooling2D"):
        add("valid", kind, {"pool_size": [2, 2]}, image)
        add("same", kind, {"pool_size": [2, 2], "padding": "same"}, image)
        add("valid overlapping strides", kind, {"pool_size": [3, 2], "strides": [1, 2]}, image)
        add("same overlapping strides", kind,
            {"pool_size": [3, 3], "strides": [2, 2], "padding": "same"}, image)
        add("same strides 1", kind, {"pool_size": 3, "strides": 1, "padding": "same"}, image)
        add("valid strides larger than the pool", kind,
            {"pool_size": [1, 2], "strides": [2, 3]}, image)
    add("plain", "GlobalAveragePooling2D", {}, image)
    add("keepdims", "GlobalAveragePooling2D", {"keepdims": True}, image)
    add("rank 4", "Flatten", {}, (2, 2, 3, 2))
    add("rank 2", "Flatten", {}, (2, 3))
    add("rank 1", "Flatten", {}, (3,))
    add("plain", "Reshape", {"target_shape": [3, 4]}, (2, 2, 6))
    add("-1", "Reshape", {"target_shape": [-1, 2]}, (2, 3, 4))

    for training in (True, False):
        how = "training" if training else "inference"
        add(f"rank 2 {how}", "BatchNormalization", {}, (3, 4), training=training)
        add(f"rank 4 {how}", "BatchNormalization", {"momentum": 0.9, "epsilon": 0.01},
            (2, 3, 2, 3), training=training)
        add(f"no center {how}", "BatchNormalization", {"center": False}, (3, 4),
            training=training)
        add(f"no scale {how}", "BatchNormalization", {"scale": False}, (3, 4),
            training=training)
        add(f"no center no scale {how}", "BatchNormalization",
            {"center": False, "scale": False}, (3, 4), training=training)
        add(f"axis 1 {how}", "BatchNormalization", {"axis": 1}, (2, 3, 2, 2),
            training=training)
    gaps = np.array([[1, 1, 0, 1], [0, 1, 0, 0]])
    add("rank 3 training with mask", "BatchNormalization", {}, (2, 4, 3), training=True,
        mask=gaps)
    add("rank 3 inference with mask", "BatchNormalization", {}, (2, 4, 3), mask=gaps)

    add("last axis", "LayerNormalization", {}, (3, 5))
    add("epsilon on rank 3", "LayerNormalization", {"epsilon": 0.1}, (2, 3, 4))
    add("axis list", "LayerNormalization", {"axis": [1, 2]}, (2, 3, 4))
    add("axis list of rank 4", "LayerNormalization", {"axis": [-2, -1]}, (2, 2, 3, 2))
    if BACKEND != "torch":  # not possible there: the axis is not the last one
        add("axis 1", "LayerNormalization", {"axis": 1}, (2, 3, 4))
    add("no center", "LayerNormalization", {"center": False}, (3, 5))
    add("no scale", "LayerNormalization", {"scale": False}, (3, 5))

    ids = np.array([[1, 4, 0, 0], [3, 1, 1, 0]], dtype="int32")
    add("repeated ids", "Embedding", {"input_dim": 5, "output_dim": 3}, ids)
    add("mask_zero", "Embedding", {"input_dim": 6, "output_dim": 2, "mask_zero": True}, ids)
    add("rank 1 ids", "Embedding", {"input_dim": 5, "output_dim": 2}, ids[:, 1].copy())

    series = (2, 4, 3)
    right = np.array([[1, 1, 1, 0], [1, 0, 0, 0]])
    left = np.array([[0, 1, 1, 1], [0, 0, 1, 0]])
    middle = np.array([[1, 0, 1, 1], [1, 1, 0, 1]])
    add("plain", "LSTM", {"units": 2}, series)
    add("return_sequences", "LSTM", {"units": 2, "return_sequences": True}, series)
    add("go_backwards", "LSTM", {"units": 2, "go_backwards": True}, series)
    add("go_backwards return_sequences", "LSTM",
        {"units": 2, "go_backwards": True, "return_sequences": True}, series)
    add("no bias", "LSTM", {"units": 2, "use_bias": False}, series)
    add("other activations", "LSTM",
        {"units": 2, "activation": "softsign", "recurrent_activation": "hard_sigmoid"}, series)
    add("relu with return_sequences", "LSTM",
        {"units": 3, "activation": "relu", "return_sequences": True}, series)
    add("return_state", "LSTM", {"units": 2, "return_state": True}, series)
    add("return_state return_sequences", "LSTM",
        {"units": 2, "return_state": True, "return_sequences": True}, series)
    add("unit_forget_bias false", "LSTM", {"units": 2, "unit_forget_bias": False}, series)
    add("mask at the end", "LSTM", {"units": 2}, series, mask=right)
    add("mask at the end return_sequences", "LSTM", {"units": 2, "return_sequences": True},
        series, mask=right)
    add("mask at the start return_sequences", "LSTM", {"units": 2, "return_sequences": True},
        series, mask=left)
    add("mask in the middle return_sequences", "LSTM",
        {"units": 2, "return_sequences": True}, series, mask=middle)
    add("mask in the middle return_state", "LSTM", {"units": 2, "return_state": True}, series,
        mask=middle)
    add("mask go_backwards return_sequences", "LSTM",
        {"units": 2, "return_sequences": True, "go_backwards": True}, series, mask=right)

    add("two inputs", "Add", {}, (2, 3), (2, 3))
    add("three inputs", "Add", {}, (2, 3, 2), (2, 3, 2), (2, 3, 2))
    add("broadcast", "Add", {}, (2, 3, 2), (2, 1, 2))
    add("last axis", "Concatenate", {}, (2, 3), (2, 4))
    add("axis 1", "Concatenate", {"axis": 1}, (2, 1, 3), (2, 2, 3), (2, 1, 3))
    add("axis -2", "Concatenate", {"axis": -2}, (2, 2, 3, 1), (2, 2, 2, 1))
    add("scale", "Rescaling", {"scale": 0.25}, (2, 3))
    add("scale and offset", "Rescaling", {"scale": 2.0, "offset": -1.0}, (2, 2, 3))
    add("scale and offset per channel", "Rescaling",
        {"scale": [0.5, 2.0, -1.0], "offset": [0.0, 1.0, 0.25]}, (2, 2, 3))
    add("inference", "Dropout", {"rate": 0.5}, (2, 3))
    add("training with rate 0", "Dropout", {"rate": 0.0}, (2, 3), training=True)

    wide = (3, 6)
    add("plain", "ReLU", {}, wide)
    add("max_value", "ReLU", {"max_value": 0.8}, wide)
    add("negative_slope", "ReLU", {"negative_slope": 0.2}, wide)
    add("threshold", "ReLU", {"threshold": 0.4}, wide)
    add("all arguments", "ReLU", {"max_value": 1.0, "negative_slope": 0.1, "threshold": 0.3},
        wide)
    add("default slope", "LeakyReLU", {}, wide)
    add("slope 0.05", "LeakyReLU", {"negative_slope": 0.05}, wide)
    add("one alpha per feature", "PReLU", {}, wide)
    add("rank 4", "PReLU", {}, (2, 2, 3, 2))
    add("shared_axes", "PReLU", {"shared_axes": [1, 2]}, (2, 2, 3, 2))
    add("default alpha", "ELU", {}, wide)
    add("alpha 0.5", "ELU", {"alpha": 0.5}, wide)
    add("last axis", "Softmax", {}, (3, 5))
    add("axis 1", "Softmax", {"axis": 1}, (2, 3, 4))
    add("axis list", "Softmax", {"axis": [1, 2]}, (2, 3, 2))
    keep = np.array([[1, 0, 1, 1, 0], [1, 1, 1, 1, 1], [0, 0, 0, 1, 0]])
    add("mask of the input's shape", "Softmax", {}, (3, 5), mask=keep)
    keep = np.array([[1, 0, 1], [0, 0, 0]])
    add("mask with a wholly masked row", "Softmax", {}, (2, 3), mask=keep)
    write("layers.json", {"cases": cases})


# --- activations -----------------------------------------------------------------------------

def activations():
    line = np.array([-20, -7.25, -3.1, -1.75, -0.9, -0.6, -0.3, -0.001, 0.001, 0.2, 0.45, 0.8,
                     1.3, 2.4, 3.6, 6.5, 20])
    table = Data("activation table").normal((3, 5), 2.0)
    table[2] = [20, -20, 0.5, 19.5, 1]
    even = Data("activation even").normal((4, 6), 2.0)
    plain = ["linear", "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "sigmoid",
             "log_sigmoid", "hard_sigmoid", "silu", "hard_silu", "tanh", "hard_tanh",
             "tanh_shrink", "softplus", "softsign", "squareplus", "mish", "exponential",
             "sparse_plus", "sparse_sigmoid", "soft_shrink", "hard_shrink"]
    todo = [(k, {}, line) for k in plain]
    todo += [(k, {}, table) for k in ("softmax", "log_softmax", "sparsemax")]
    todo += [("glu", {}, even), ("threshold", {"threshold": 0.7, "default_value": -1.5}, line),
             ("relu", {"negative_slope": 0.1}, line), ("relu", {"max_value": 2.0}, line),
             ("relu", {"threshold": 0.5}, line),
             ("relu", {"negative_slope": 0.1, "max_value": 3.0, "threshold": 0.5}, line),
             ("leaky_relu", {"negative_slope": 0.3}, line), ("elu", {"alpha": 0.5}, line),
             ("celu", {"alpha": 2.0}, line), ("gelu", {"approximate": True}, line),
             ("squareplus", {"b": 1}, line), ("soft_shrink", {"threshold": 0.25}, line),
             ("hard_shrink", {"threshold": 1.0}, line), ("softmax", {"axis": 0}, table),
             ("log_softmax", {"axis": 0}, table), ("sparsemax", {"axis": 0}, table),
             ("glu", {"axis": 0}, even)]
    cases = []
    for kind, args, x in todo:
        name = kind + "".join(f" {k}={v}" for k, v in args.items())
        function = getattr(keras.activations, kind)
        outputs, cotangents, gradients = pullback(
            lambda v: [function(v, **args)], [x.astype("float64")],
            lambda outs: [Data(name).normal(o.shape) for o in outs])
        cases.append({"name": name, "kind": kind, "args": args, "input": tensor(x),
                      "output": tensor(outputs[0]), "cotangent": tensor(cotangents[0]),
                      "input_gradient": tensor(gradients[0])})
    write("activations.json", {"cases": cases})


# --- losses ----------------------------------------------------------------------------------

def losses():
    cases = []
    reductions = ("sum_over_batch_size", "sum", "none", "mean_with_sample_weight")

    def add(name, kind, args, y_true, y_pred, sample_weight=None, mask=None):
        name = f"{kind}: {name}"
        function = getattr(keras.losses, kind)(**args)
        values = []

        def call(p):
            if mask is not None:
                keras.src.backend.set_keras_mask(p, ops.convert_to_tensor(mask.astype(bool)))
            value = function(ops.convert_to_tensor(y_true), p, sample_weight=(
                None if sample_weight is None else ops.convert_to_tensor(sample_weight)))
            return [value]

        outputs, _, gradients = pullback(
            call, [y_pred], lambda outs: [np.ones(o.shape) for o in outs])
        values = outputs[0]
        cases.append({"name": name, "kind": kind, "args": args, "y_true": tensor(y_true),
                      "y_pred": tensor(y_pred), "sample_weight": maybe(sample_weight),
                      "mask": maybe(mask), "value": tensor(values),
                      "gradient": tensor(gradients[0])})

    d = Data("losses")
    rows, classes, steps = 4, 3, 3
    ids = np.array([2, 0, 1, 2], dtype="int32")
    row_weight = np.array([0.5, 2.0, 0.0, 1.25])
    step_ids = np.array([[0, 2, 1], [1, 1, 0]], dtype="int32")
    step_mask = np.array([[1, 1, 0], [1, 0, 0]])
    step_weight = np.array([[0.5, 1.0, 2.0], [1.5, 0.25, 1.0]])
    batch_weight = np.array([0.5, 2.0])

    for logits in (True, False):
        args = {"from_logits": True} if logits else {}
        how = "logits" if logits else "probabilities"

        def pred(shape, axis=-1):
            return d.normal(shape, 1.5) if logits else d.probabilities(shape, axis)

        # SparseCategoricalCrossentropy
        kind, p = "SparseCategoricalCrossentropy", pred((rows, classes))
        for r in reductions:
            add(f"{how} reduction {r}", kind, {**args, "reduction": r}, ids, p)
            add(f"{how} reduction {r} sample_weight", kind, {**args, "reduction": r}, ids, p,
                row_weight)
        add(f"{how} y_true of shape [rows,1]", kind, args, ids[:, None], p, row_weight)
        q = pred((2, steps, classes))
        add(f"{how} rank 3", kind, args, step_ids, q)
        for r in reductions:
            more = {**args, "reduction": r}
            add(f"{how} rank 3 mask reduction {r}", kind, more, step_ids, q, None, step_mask)
            add(f"{how} rank 3 mask and weight per step reduction {r}", kind, more, step_ids, q,
                step_weight, step_mask)
        add(f"{how} rank 3 weight per step", kind, args, step_ids, q, step_weight)
        add(f"{how} rank 3 weight of shape [rows,1]", kind, args, step_ids, q,
            batch_weight[:, None])
        add(f"{how} axis 1", kind, {**args, "axis": 1}, step_ids, pred((2, classes, steps), 1))
        for r in reductions:
            more = {**args, "ignore_class": -1, "reduction": r}
            some = np.array([2, -1, 1, -1], dtype="int32")
            add(f"{how} ignore_class -1 reduction {r}", kind, more, some, p)
            add(f"{how} ignore_class -1 sample_weight reduction {r}", kind, more, some, p,
                row_weight)
        add(f"{how} ignore_class 2 rank 3 and mask", kind, {**args, "ignore_class": 2}, step_ids,
            q, None, step_mask)
        add(f"{how} ignore_class 1 every row", kind, {**args, "ignore_class": 1},
            np.full(rows, 1, dtype="int32"), p)

        # CategoricalCrossentropy
        kind, hot, p = "CategoricalCrossentropy", d.one_hot((rows, classes)), pred((rows, classes))
        for r in reductions:
            add(f"{how} reduction {r}", kind, {**args, "reduction": r}, hot, p)
            add(f"{how} reduction {r} sample_weight", kind, {**args, "reduction": r}, hot, p,
                row_weight)
        add(f"{how} soft targets", kind, args, d.probabilities((rows, classes)), p)
        add(f"{how} label_smoothing", kind, {**args, "label_smoothing": 0.2}, hot, p)
        add(f"{how} label_smoothing sample_weight", kind, {**args, "label_smoothing": 0.1}, hot,
            p, row_weight)
        hot3, q = d.one_hot((2, steps, classes)), pred((2, steps, classes))
        add(f"{how} rank 3 mask", kind, args, hot3, q, None, step_mask)
        add(f"{how} rank 3 mask and weight per step", kind, args, hot3, q, step_weight, step_mask)
        add(f"{how} axis 1", kind, {**args, "axis": 1}, d.one_hot((2, classes, 2), 1),
            pred((2, classes, 2), 1))

        # BinaryCrossentropy
        kind = "BinaryCrossentropy"
        bits = d.integers((rows, 2), 2).astype("float64")
        p = d.normal((rows, 2), 2.0) if logits else d.uniform((rows, 2), 0.05, 0.95)
        for r in reductions:
            add(f"{how} reduction {r}", kind, {**args, "reduction": r}, bits, p)
            add(f"{how} reduction {r} sample_weight", kind, {**args, "reduction": r}, bits, p,
                row_weight)
        add(f"{how} label_smoothing", kind, {**args, "label_smoothing": 0.3}, bits, p)
        add(f"{how} one column and y_true of shape [rows]", kind, args, bits[:, 0].copy(),
            p[:, :1].copy(), row_weight)
        q = d.normal((2, steps, 2), 2.0) if logits else d.uniform((2, steps, 2), 0.05, 0.95)
        bits3 = d.integers((2, steps, 2), 2).astype("float64")
        add(f"{how} rank 3 mask", kind, args, bits3, q, None, step_mask)
        add(f"{how} rank 3 axis 1", kind, {**args, "axis": 1}, bits3, q)

    add("probabilities that do not sum to one", "SparseCategoricalCrossentropy", {}, ids,
        d.uniform((rows, classes), 0.1, 0.9))
    add("probabilities that do not sum to one", "CategoricalCrossentropy", {},
        np.eye(classes)[ids], d.uniform((rows, classes), 0.1, 0.9))
    hard = np.array([[1.0, 0, 0], [0, 1.0, 0], [0.25, 0.75, 0], [0, 0, 1.0]])
    add("clipped probabilities", "SparseCategoricalCrossentropy", {}, ids, hard)
    add("clipped probabilities", "CategoricalCrossentropy", {}, np.eye(classes)[ids], hard)
    add("clipped probabilities", "BinaryCrossentropy", {}, np.array([[1.0], [1.0], [0.0]]),
        np.array([[0.0], [0.6], [0.0]]))
    add("logits of size 60", "BinaryCrossentropy", {"from_logits": True},
        np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[-60.0, 60.0], [60.0, -60.0]]))
    add("logits of size 60", "SparseCategoricalCrossentropy", {"from_logits": True},
        np.array([0, 1], dtype="int32"), np.array([[60.0, -60.0, 0], [60.0, -60.0, 0]]))

    kind = "MeanSquaredError"
    t, p = d.normal((rows, 2)), d.normal((rows, 2))
    for r in reductions:
        add(f"reduction {r}", kind, {"reduction": r}, t, p)
        add(f"reduction {r} sample_weight", kind, {"reduction": r}, t, p, row_weight)
    add("y_true of shape [rows] and y_pred of shape [rows,1]", kind, {}, t[:, 0].copy(),
        p[:, :1].copy())
    add("rank 1", kind, {}, t[:, 0].copy(), p[:, 0].copy())
    t, p = d.normal((2, steps, 2)), d.normal((2, steps, 2))
    for r in reductions:
        add(f"rank 3 mask reduction {r}", kind, {"reduction": r}, t, p, None, step_mask)
        add(f"rank 3 mask and weight per step reduction {r}", kind, {"reduction": r}, t, p,
            step_weight, step_mask)
    add("rank 3 nothing kept by the mask", kind, {}, t, p, None, np.zeros((2, steps), int))
    write("losses.json", {"cases": cases})


# --- metrics ---------------------------------------------------------------------------------

def metrics():
    cases = []

    def add(name, kind, args, batches):
        metric = getattr(keras.metrics, kind)(**args)
        updates = []
        for y_true, y_pred, weight in batches:
            entry = {}
            if kind == "Mean":
                metric.update_state(ops.convert_to_tensor(y_pred), sample_weight=weight)
                entry["values"] = tensor(y_pred)
            else:
                metric.update_state(ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred),
                                    sample_weight=weight)
                entry["y_true"], entry["y_pred"] = tensor(y_true), tensor(y_pred)
            entry["sample_weight"] = maybe(weight)
            entry["result"] = number(to_numpy(metric.result()))
            updates.append(entry)
        metric.reset_state()
        cases.append({"name": f"{kind}: {name}", "kind": kind, "args": args, "updates": updates,
                      "result_after_reset": number(to_numpy(metric.result()))})

    d = Data("metrics")
    counts = (4, 3)

    def both(name, kind, args, make):
        data = [make(n) for n in counts]
        add(name, kind, args, [(t, p, None) for t, p in data])
        add(name + ", sample_weight", kind, args,
            [(t, p, d.uniform((len(p),), 0.0, 2.0)) for t, p in data])

    def close_ids(n):
        return d.integers((n, 2), 2).astype("float64"), d.integers((n, 2), 2).astype("float64")

    def bits(n):
        return d.integers((n, 2), 2).astype("float64"), d.uniform((n, 2), 0.02, 0.98)

    def hot(classes):
        return lambda n: (d.one_hot((n, classes)), d.probabilities((n, classes)))

    def sparse(classes):
        return lambda n: (d.integers((n,), classes), d.probabilities((n, classes)))

    def column(classes):
        return lambda n: (d.integers((n, 1), classes), d.probabilities((n, classes)))

    def logits(classes):
        return lambda n: (d.integers((n,), classes), d.normal((n, classes)))

    both("two columns", "Accuracy", {}, close_ids)
    both("default threshold", "BinaryAccuracy", {}, bits)
    both("threshold 0.3", "BinaryAccuracy", {"threshold": 0.3}, bits)
    both("one column", "BinaryAccuracy", {},
         lambda n: tuple(v[:, :1].copy() for v in bits(n)))
    both("exactly the threshold counts as 0", "BinaryAccuracy", {},
         lambda n: (np.ones((n, 1)), np.full((n, 1), 0.5)))
    both("three classes", "CategoricalAccuracy", {}, hot(3))
    both("ids of shape [rows]", "SparseCategoricalAccuracy", {}, sparse(3))
    both("ids of shape [rows,1]", "SparseCategoricalAccuracy", {}, column(3))
    add("rank 3", "SparseCategoricalAccuracy", {},
        [(d.integers((n, 3), 3), d.probabilities((n, 3, 3)), None) for n in (2, 1)])
    add("rank 3, weight per step", "SparseCategoricalAccuracy", {},
        [(d.integers((n, 3), 3), d.probabilities((n, 3, 3)), d.uniform((n, 3), 0, 2))
         for n in (2, 1)])
    both("k 2", "TopKCategoricalAccuracy", {"k": 2}, hot(4))
    both("k 5 of 7", "TopKCategoricalAccuracy", {}, hot(7))
    both("k 2", "SparseTopKCategoricalAccuracy", {"k": 2}, sparse(4))
    both("k 5 of 7", "SparseTopKCategoricalAccuracy", {}, sparse(7))
    both("rank 1", "Mean", {}, lambda n: (None, d.normal((n,))))
    for kind in ("MeanSquaredError", "MeanAbsoluteError", "RootMeanSquaredError"):
        both("two columns", kind, {}, lambda n: (d.normal((n, 2)), d.normal((n, 2))))
    both("probabilities", "BinaryCrossentropy", {}, bits)
    both("logits", "BinaryCrossentropy", {"from_logits": True},
         lambda n: (bits(n)[0], d.normal((n, 2))))
    both("label_smoothing", "BinaryCrossentropy", {"label_smoothing": 0.2}, bits)
    both("probabilities", "CategoricalCrossentropy", {}, hot(3))
    both("logits", "CategoricalCrossentropy", {"from_logits": True},
         lambda n: (d.one_hot((n, 3)), d.normal((n, 3))))
    both("label_smoothing", "CategoricalCrossentropy", {"label_smoothing": 0.1}, hot(3))
    both("probabilities", "SparseCategoricalCrossentropy", {}, sparse(3))
    both("logits", "SparseCategoricalCrossentropy", {"from_logits": True}, logits(3))
    both("ignore_class 1", "SparseCategoricalCrossentropy",
         {"from_logits": True, "ignore_class": 1}, logits(3))
    write("metrics.json", {"cases": cases})


# --- optimizers and schedules ----------------------------------------------------------------

def optimizers():
    d = Data("optimizers")
    start = [d.normal((2, 3)), d.normal((3,))]
    gradients = [[d.normal((2, 3), 0.7), d.normal((3,), 0.7)] for _ in range(10)]
    decay = {"ExponentialDecay": {"initial_learning_rate": 0.1, "decay_steps": 3,
                                  "decay_rate": 0.7}}
    cosine = {"CosineDecay": {"initial_learning_rate": 0.01, "decay_steps": 6, "alpha": 0.1,
                              "warmup_target": 0.1, "warmup_steps": 3}}
    options = [("weight_decay", {"weight_decay": 0.05}), ("clipnorm", {"clipnorm": 1.0}),
               ("global_clipnorm", {"global_clipnorm": 1.5}), ("clipvalue", {"clipvalue": 0.5}),
               ("ema", {"use_ema": True, "ema_momentum": 0.9}),
               ("ema overwrite 3", {"use_ema": True, "ema_momentum": 0.8,
                                    "ema_overwrite_frequency": 3}),
               ("gradient_accumulation 2", {"gradient_accumulation_steps": 2}),
               ("gradient_accumulation 3 and weight_decay",
                {"gradient_accumulation_steps": 3, "weight_decay": 0.05}),
               ("gradient_accumulation 2 and clipnorm and ema overwrite 3",
                {"gradient_accumulation_steps": 2, "clipnorm": 0.5, "use_ema": True,
                 "ema_momentum": 0.8, "ema_overwrite_frequency": 3}),
               ("exponential decay", {"learning_rate": decay}),
               ("cosine decay with warmup", {"learning_rate": cosine}),
               ("gradient_accumulation 2 and exponential decay",
                {"gradient_accumulation_steps": 2, "learning_rate": decay})]
    todo = [("plain", "SGD", {"learning_rate": 0.1}),
            ("defaults", "SGD", {}), ("momentum", "SGD", {"learning_rate": 0.1, "momentum": 0.9}),
            ("nesterov", "SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}),
            ("plain", "Adam", {"learning_rate": 0.05}), ("defaults", "Adam", {}),
            ("amsgrad", "Adam", {"learning_rate": 0.05, "amsgrad": True}),
            ("betas and epsilon", "Adam", {"learning_rate": 0.05, "beta_1": 0.8, "beta_2": 0.95,
                                           "epsilon": 0.01}),
            ("plain", "AdamW", {"learning_rate": 0.05}), ("defaults", "AdamW", {}),
            ("amsgrad", "AdamW", {"learning_rate": 0.05, "amsgrad": True})]
    for label, extra in options:
        todo.append((label, "SGD", {"learning_rate": 0.1, "momentum": 0.9, **extra}))
        todo.append((label, "Adam", {"learning_rate": 0.05, **extra}))
        todo.append((label, "AdamW", {"learning_rate": 0.05, **extra}))
    todo.append(("nesterov weight_decay clipvalue", "SGD",
                 {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.05,
                  "clipvalue": 0.5}))
    cases = []
    for label, kind, args in todo:
        optimizer = build.optimizer({kind: args})
        variables = [keras.Variable(v, name=n) for v, n in zip(start, ("kernel", "bias"))]
        optimizer.build(variables)
        steps = []
        for pair in gradients:
            optimizer.apply([ops.convert_to_tensor(g) for g in pair], variables)
            steps.append([[number(x) for x in to_numpy(v).reshape(-1)] for v in variables])
        case = {"name": f"{kind}: {label}", "kind": kind, "args": args, "weights_after": steps,
                "variables": [{"name": v.path.split("/", 1)[1], "tensor": tensor(v)}
                              for v in optimizer.variables]}
        if args.get("use_ema"):
            optimizer.finalize_variable_values(variables)
            case["finalized"] = [[number(x) for x in to_numpy(v).reshape(-1)]
                                 for v in variables]
        cases.append(case)
    write("optimizers.json", {
        "initial": [{"name": n, "tensor": tensor(v)} for v, n in zip(start, ("kernel", "bias"))],
        "gradients": [[tensor(g) for g in pair] for pair in gradients], "cases": cases})


def schedules():
    steps = [0, 1, 2, 5, 10, 50, 99, 100, 101, 150]
    todo = [("smooth", "ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 20,
                                            "decay_rate": 0.9}),
            ("staircase", "ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 20,
                                               "decay_rate": 0.9, "staircase": True}),
            ("staircase 100", "ExponentialDecay",
             {"initial_learning_rate": 1.0, "decay_steps": 100, "decay_rate": 0.5,
              "staircase": True}),
            ("plain", "CosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 100}),
            ("alpha", "CosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 100,
                                      "alpha": 0.2}),
            ("warmup", "CosineDecay", {"initial_learning_rate": 0.0, "decay_steps": 90,
                                       "warmup_target": 0.1, "warmup_steps": 10}),
            ("warmup alpha", "CosineDecay",
             {"initial_learning_rate": 0.01, "decay_steps": 50, "alpha": 0.1,
              "warmup_target": 0.2, "warmup_steps": 50}),
            ("warmup_steps without warmup_target", "CosineDecay",
             {"initial_learning_rate": 0.1, "decay_steps": 100, "warmup_steps": 10})]
    cases = []
    for label, kind, args in todo:
        schedule = getattr(keras.optimizers.schedules, kind)(**args)
        cases.append({"name": f"{kind}: {label}", "kind": kind, "args": args, "steps": steps,
                      "values": [number(to_numpy(schedule(s))) for s in steps]})
    write("schedules.json", {"cases": cases})


# --- regularizers and initializers -----------------------------------------------------------

def regularizers():
    todo = [("defaults", "L1", {}), ("l1 0.3", "L1", {"l1": 0.3}), ("defaults", "L2", {}),
            ("l2 0.3", "L2", {"l2": 0.3}), ("defaults", "L1L2", {}),
            ("both", "L1L2", {"l1": 0.1, "l2": 0.02}), ("l1 only", "L1L2", {"l1": 0.1}),
            ("l2 only", "L1L2", {"l2": 0.1})]
    weights = Data("regularizers").normal((3, 4))
    cases = []
    for label, kind, args in todo:
        regularizer = getattr(keras.regularizers, kind)(**args)
        outputs, _, gradients = pullback(
            lambda w: [ops.convert_to_tensor(regularizer(w)) + 0.0 * ops.sum(w)], [weights],
            lambda outs: [np.ones(o.shape) for o in outs])
        cases.append({"name": f"{kind}: {label}", "kind": kind, "args": args,
                      "input": tensor(weights), "value": number(to_numpy(outputs[0])),
                      "gradient": tensor(gradients[0])})
    write("regularizers.json", {"cases": cases})


TRUNCATED = 0.87962566103423978  # standard deviation of a unit normal cut at two deviations


def initializers():
    cases = []
    shapes = [[20, 30], [3, 3, 4, 8], [4]]
    exact = [("Zeros", {}), ("Ones", {}), ("Constant", {}), ("Constant", {"value": -1.25})]
    for kind, args in exact:
        value = getattr(keras.initializers, kind)(**args)((2, 3))
        cases.append({"name": f"{kind} {args.get('value', 'default')}", "kind": kind,
                      "args": args, "shape": [2, 3], "exact": tensor(value)})
    scaled = {"GlorotUniform": (1.0, "fan_avg", "uniform"),
              "GlorotNormal": (1.0, "fan_avg", "truncated_normal"),
              "HeUniform": (2.0, "fan_in", "uniform"),
              "HeNormal": (2.0, "fan_in", "truncated_normal"),
              "LecunUniform": (1.0, "fan_in", "uniform"),
              "LecunNormal": (1.0, "fan_in", "truncated_normal")}
    todo = [(k, {}) for k in scaled]
    todo += [("VarianceScaling", {}), ("VarianceScaling", {"scale": 3.0, "mode": "fan_out",
                                                           "distribution": "uniform"}),
             ("VarianceScaling", {"scale": 0.5, "mode": "fan_avg",
                                  "distribution": "untruncated_normal"}),
             ("TruncatedNormal", {}), ("TruncatedNormal", {"mean": 1.0, "stddev": 0.5}),
             ("RandomNormal", {}), ("RandomNormal", {"mean": -0.5, "stddev": 0.2}),
             ("RandomUniform", {}), ("RandomUniform", {"minval": 0.0, "maxval": 2.0}),
             ("Orthogonal", {}), ("Orthogonal", {"gain": 2.0})]
    for kind, args in todo:
        for shape in shapes:
            if kind == "Orthogonal" and len(shape) == 1:
                continue
            receptive = int(np.prod(shape[:-2]))
            fan_in, fan_out = ((shape[0], shape[0]) if len(shape) == 1 else
                               (shape[-2] * receptive, shape[-1] * receptive))
            mean, limit, low, high = 0.0, None, None, None
            if kind in scaled or kind == "VarianceScaling":
                scale, mode, distribution = scaled.get(kind, (
                    args.get("scale", 1.0), args.get("mode", "fan_in"),
                    args.get("distribution", "truncated_normal")))
                fan = {"fan_in": fan_in, "fan_out": fan_out,
                       "fan_avg": (fan_in + fan_out) / 2}[mode]
                std = (scale / fan) ** 0.5
                if distribution == "uniform":
                    limit = (3 * scale / fan) ** 0.5
                elif distribution == "truncated_normal":
                    limit = 2 * std / TRUNCATED
            elif kind == "TruncatedNormal":
                mean, given = args.get("mean", 0.0), args.get("stddev", 0.05)
                std, limit = given * TRUNCATED, 2 * given
            elif kind == "RandomNormal":
                mean, std = args.get("mean", 0.0), args.get("stddev", 0.05)
            elif kind == "RandomUniform":
                low, high = args.get("minval", -0.05), args.get("maxval", 0.05)
                mean, limit, std = (low + high) / 2, (high - low) / 2, (high - low) / 12 ** 0.5
            else:
                rows, columns = int(np.prod(shape[:-1])), shape[-1]
                std = args.get("gain", 1.0) / max(rows, columns) ** 0.5
            draws = 60 if len(shape) > 1 else 2000
            drawn = np.stack([to_numpy(getattr(keras.initializers, kind)(seed=s, **args)(shape))
                              for s in range(draws)])
            case = {"name": f"{kind} {json.dumps(args)} {shape}", "kind": kind, "args": args,
                    "shape": shape, "mean": number(mean), "stddev": number(std),
                    # largest distance from the mean that can be drawn; null: no bound
                    "limit": None if limit is None else number(limit), "draws": draws,
                    "drawn_mean": number(drawn.mean()), "drawn_stddev": number(drawn.std()),
                    "drawn_limit": number(np.abs(drawn - mean).max())}
            assert abs(drawn.mean() - mean) < 5 * std / drawn.size ** 0.5, case
            assert abs(drawn.std() / std - 1) < 0.05, case
            assert limit is None or BACKEND == "torch" or (  # draws a few values beyond it there
                np.abs(drawn - mean).max() <= limit * (1 + 1e-9)), case
            if kind == "Orthogonal":
                # the longer side is orthogonal to itself: A'A (or AA') = gain^2 I
                case["orthogonal"] = "rows" if rows < columns else "columns"
                case["gram"] = number(args.get("gain", 1.0) ** 2)
            cases.append(case)
    write("initializers.json", {"cases": cases})


# --- fit -------------------------------------------------------------------------------------

def fit():
    cases = []
    d = Data("fit")
    x = d.normal((10, 3))
    ids = d.integers((10,), 3)
    held_x, held_ids = d.normal((5, 3)), d.integers((5,), 3)

    def classifier(first=None, last=None):
        return {"inputs": {"x": {"shape": [3]}}, "layers": [
            {"Dense": {"units": 4, "activation": "relu", "name": "first", **(first or {})}},
            {"BatchNormalization": {"name": "norm"}},
            {"Dense": {"units": 3, "name": "last", **(last or {})}}]}

    sgd = {"SGD": {"learning_rate": 0.1, "momentum": 0.9}}
    adam = {"Adam": {"learning_rate": 0.02}}
    l2 = {"kernel_regularizer": {"L2": {"l2": 0.05}}}
    sparse = {"SparseCategoricalCrossentropy": {"from_logits": True}}

    def add(name, form, optimizer, loss=sparse, x=x, y=ids, metrics=("accuracy",), weighted=None,
            epochs=3, batch_size=4, **options):
        data = Data("fit " + name)
        model = build.model(form)
        for variable in model.weights:
            variable.assign(random_weight(data, variable))
        if options.pop("zero", False):
            for variable in model.weights:
                variable.assign(np.zeros(variable.shape))

        def state():
            return {layer.name: [{"name": v.name, "tensor": tensor(v)} for v in layer.weights]
                    for layer in model.layers if layer.weights}

        initial = state()
        model.compile(optimizer=build.optimizer(optimizer), loss=build.loss(loss),
                      metrics=list(metrics), weighted_metrics=weighted, jit_compile=False)
        history = model.fit(x, y, epochs=epochs, batch_size=batch_size, shuffle=False, verbose=0,
                            **options)
        case = {"name": name, "model": form, "initial_weights": initial,
                "optimizer": optimizer, "loss": loss, "metrics": list(metrics),
                "weighted_metrics": weighted, "epochs": epochs, "batch_size": batch_size,
                "shuffle": False, "x": tensor(x), "y": tensor(y)}
        for key, value in options.items():
            if key == "class_weight":
                case[key] = {str(k): v for k, v in value.items()}
            elif key == "validation_data":
                case[key] = [tensor(v) for v in value]
            else:
                case[key] = tensor(value) if isinstance(value, np.ndarray) else value
        case["history"] = {k: [number(v) for v in vs] for k, vs in sorted(history.history.items())}
        case["final_weights"] = state()
        case["predict"] = tensor(model.predict(x, batch_size=batch_size, verbose=0))
        case["evaluate"] = {k: number(v) for k, v in model.evaluate(
            x, y, batch_size=batch_size, verbose=0, return_dict=True).items()}
        cases.append(case)

    add("SGD momentum with validation_split", classifier(), sgd, validation_split=0.2)
    add("Adam with validation_split", classifier(), adam, validation_split=0.2)
    add("SGD momentum without validation, batches of 4, 4 and 2", classifier(), sgd)
    add("L2 kernel_regularizer with SGD", classifier(l2, l2), sgd, validation_split=0.2)
    add("L1L2 regularizers with Adam", classifier(
        {"kernel_regularizer": {"L1L2": {"l1": 0.01, "l2": 0.02}}},
        {"bias_regularizer": {"L2": {"l2": 0.1}}}), adam)
    add("activity_regularizer", classifier({"activity_regularizer": {"L2": {"l2": 0.1}}}), sgd)
    weights = d.uniform((10,), 0.0, 2.0)
    add("sample_weight", classifier(), sgd, sample_weight=weights, weighted=["accuracy"])
    add("sample_weight with validation_split", classifier(), adam, sample_weight=weights,
        weighted=["accuracy"], validation_split=0.2)
    add("class_weight", classifier(), sgd, class_weight={0: 0.5, 1: 2.0, 2: 1.25},
        weighted=["accuracy"])
    add("class_weight with a missing class", classifier(), adam, class_weight={1: 3.0},
        weighted=["accuracy"], validation_split=0.2)
    add("validation_data", classifier(), sgd, validation_data=(held_x, held_ids))
    add("AdamW with cosine decay and global_clipnorm", classifier(), {"AdamW": {
        "learning_rate": {"CosineDecay": {"initial_learning_rate": 0.05, "decay_steps": 9}},
        "weight_decay": 0.1, "global_clipnorm": 0.5}})
    add("use_ema, weights replaced by the averages when fit ends", classifier(), {"SGD": {
        "learning_rate": 0.1, "use_ema": True, "ema_momentum": 0.7}}, validation_split=0.2)
    add("gradient_accumulation_steps 2", classifier(), {"SGD": {
        "learning_rate": 0.1, "momentum": 0.9, "gradient_accumulation_steps": 2}})
    add("one-hot targets with label_smoothing", classifier(), sgd,
        loss={"CategoricalCrossentropy": {"from_logits": True, "label_smoothing": 0.1}},
        y=np.eye(3)[ids])
    add("mean_with_sample_weight reduction", classifier(), sgd, sample_weight=weights,
        loss={"SparseCategoricalCrossentropy": {"from_logits": True,
                                                "reduction": "mean_with_sample_weight"}})
    add("sum reduction", classifier(), {"SGD": {"learning_rate": 0.02}},
        loss={"SparseCategoricalCrossentropy": {"from_logits": True, "reduction": "sum"}})
    line = {"inputs": {"x": {"shape": [3]}},
            "layers": [{"Dense": {"units": 1, "use_bias": False, "name": "line"}}]}
    add("epoch loss weighted by the rows of each batch", line, {"SGD": {"learning_rate": 0.0}},
        loss={"MeanSquaredError": {}}, y=np.arange(1.0, 11.0)[:, None], epochs=1, zero=True,
        metrics=["mae"])
    bits = (ids > 0).astype("float64")[:, None]
    two = {"inputs": {"x": {"shape": [3]}}, "layers": [
        {"Dense": {"units": 4, "activation": "tanh", "name": "first"}},
        {"Dense": {"units": 1, "activation": "sigmoid", "name": "last"}}]}
    add("binary with sigmoid output", two, adam, loss={"BinaryCrossentropy": {}}, y=bits,
        validation_split=0.2)
    write("fit.json", {"cases": cases})


# --- weight files ----------------------------------------------------------------------------

def weights():
    keras.config.set_floatx("float32")
    folder = os.path.join(HERE, "weights")
    os.makedirs(folder, exist_ok=True)
    convnet = {"class": "Sequential", "name": "convnet", "inputs": {"image": {"shape": [8, 8, 1]}},
               "layers": [
                   {"Conv2D": {"filters": 3, "kernel_size": [3, 3], "padding": "same",
                               "use_bias": False, "name": "conv_a"}},
                   {"BatchNormalization": {"name": "norm_a"}},
                   {"ReLU": {"name": "relu_a"}},
                   {"MaxPooling2D": {"pool_size": [2, 2], "name": "pool"}},
                   {"Conv2D": {"filters": 4, "kernel_size": [3, 3], "activation": "relu",
                               "name": "conv_b"}},
                   {"BatchNormalization": {"scale": False, "name": "norm_b"}},
                   {"Flatten": {"name": "flat"}},
                   {"Dense": {"units": 5, "activation": "softmax", "name": "probs"}}]}
    mixed = {"class": "Functional", "name": "mixed",
             "inputs": {"tokens": {"shape": [5], "dtype": "int32"}, "features": {"shape": [4]}},
             "layers": [
                 {"Embedding": {"input_dim": 7, "output_dim": 3, "mask_zero": True,
                                "name": "words"}, "from": ["tokens"]},
                 {"LSTM": {"units": 4, "name": "reader"}},
                 {"Sequential": {"name": "tower", "layers": [
                     {"Dense": {"units": 6, "activation": "relu", "name": "tower_a"}},
                     {"LayerNormalization": {"name": "tower_norm"}},
                     {"Dense": {"units": 3, "name": "tower_b"}}]}, "from": ["features"]},
                 {"Concatenate": {"name": "join"}, "from": ["reader", "tower"]},
                 {"Dense": {"units": 2, "name": "head"}}]}
    order = {"class": "Functional", "name": "order", "inputs": {"x": {"shape": [3]}},
             "layers": [
                 {"Dense": {"units": 4, "activation": "tanh", "name": "short_branch"},
                  "from": ["x"]},
                 {"Dense": {"units": 4, "activation": "relu", "name": "long_branch_a"},
                  "from": ["x"]},
                 {"Dense": {"units": 4, "name": "long_branch_b"}},
                 {"Add": {"name": "sum"}, "from": ["short_branch", "long_branch_b"]},
                 {"Dense": {"units": 2, "name": "head"}}]}
    for name, form, optimizer in (("convnet", convnet, {"Adam": {"learning_rate": 0.01,
                                                                           "name": "adam"}}),
                                  ("mixed", mixed, None), ("order", order, None)):
        data = Data("weights " + name)
        model = build.model(form)
        for variable in model.weights:
            variable.assign(random_weight(data, variable).astype("float32"))
        inputs = {}
        for key, spec in form["inputs"].items():
            shape = (3, *spec["shape"])
            inputs[key] = (data.integers(shape, 7) if spec.get("dtype") == "int32"
                           else data.normal(shape).astype("float32"))
        values = list(inputs.values())
        case = {"name": name, "model": form}
        if optimizer:
            model.compile(optimizer=build.optimizer(optimizer),
                          loss=keras.losses.SparseCategoricalCrossentropy(), jit_compile=False)
            for _ in range(2):
                model.train_on_batch(values[0], np.array([0, 3, 1]))
            case["optimizer"] = optimizer
            case["optimizer_variables"] = [
                {"name": v.path.split("/", 1)[1], "tensor": tensor(v)}
                for v in model.optimizer.variables]
        model.save_weights(os.path.join(folder, name + ".weights.h5"))
        case["keras_layer_order"] = [layer.name for layer in model.layers]
        case["weights"] = [{"path": v.path, "tensor": tensor(v)} for v in model.weights]
        case["inputs"] = {key: tensor(v) for key, v in inputs.items()}
        case["output"] = tensor(model.predict(values if len(values) > 1 else values[0],
                                              verbose=0))
        write(f"weights/{name}.json", case)
    keras.config.set_floatx("float64")


def main():
    keras.config.set_floatx("float64")
    keras.utils.set_random_seed(1)
    every = [layers, activations, losses, metrics, optimizers, schedules, regularizers,
             initializers, fit, weights]
    wanted = sys.argv[1:] or [f.__name__ for f in every]
    for function in every:
        if function.__name__ in wanted:
            function()


if __name__ == "__main__":
    main()
