# SPDX-License-Identifier: Apache-2.0
# layers.json and activations.json.

# First: it chooses the backend before Keras is loaded.
from golden_common import BACKEND, Data, pullback, tensor, to_numpy, write

import keras
import keras_build as build
import numpy as np
from keras import ops


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
    if kind in ("BatchNormalization", "LSTM", "GRU", "SimpleRNN", "Dropout"):
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
    more_layers(add)
    write("layers.json", {"cases": cases})


def more_layers(add):
    series = (2, 4, 3)
    middle = np.array([[1, 0, 1, 1], [1, 1, 0, 1]])
    left = np.array([[0, 1, 1, 1], [0, 0, 1, 0]])
    for kind in ("GRU", "SimpleRNN"):
        add("plain", kind, {"units": 2}, series)
        add("return_sequences", kind, {"units": 2, "return_sequences": True}, series)
        add("return_state", kind, {"units": 2, "return_state": True}, series)
        add("no bias", kind, {"units": 2, "use_bias": False}, series)
        add("other activation", kind, {"units": 2, "activation": "softsign"}, series)
        add("go_backwards return_sequences", kind,
            {"units": 2, "go_backwards": True, "return_sequences": True}, series)
        add("mask in the middle", kind, {"units": 2}, series, mask=middle)
        add("mask at the start return_sequences", kind,
            {"units": 2, "return_sequences": True}, series, mask=left)
    add("reset before", "GRU", {"units": 2, "reset_after": False}, series)
    add("reset before, no bias, hard gates", "GRU",
        {"units": 2, "reset_after": False, "use_bias": False,
         "recurrent_activation": "hard_sigmoid"}, series)

    add("two groups", "GroupNormalization", {"groups": 2}, (2, 3, 4))
    add("instances", "GroupNormalization", {"groups": -1}, (2, 3, 2, 3))
    add("one group, epsilon", "GroupNormalization", {"groups": 1, "epsilon": 0.1}, (2, 3, 4))
    add("axis 1, no scale", "GroupNormalization", {"groups": 2, "axis": 1, "scale": False},
        (2, 4, 3))
    add("no center", "GroupNormalization", {"groups": 2, "center": False}, (2, 3, 4))
    add("last axis", "RMSNormalization", {}, (3, 5))
    add("axis list", "RMSNormalization", {"axis": [1, 2], "epsilon": 0.1}, (2, 3, 4))
    add("last axis", "UnitNormalization", {}, (3, 5))
    add("axis list", "UnitNormalization", {"axis": [1, 2]}, (2, 3, 4))
    add("by channel", "Normalization", {"mean": [1.0, -2.0], "variance": [4.0, 0.25]}, (3, 2))
    add("invert", "Normalization", {"mean": 3.0, "variance": 2.0, "invert": True}, (3, 2))
    add("one for all", "Normalization", {"axis": [], "mean": 0.5, "variance": 9.0}, (2, 3, 2))

    for kind in ("MaxPooling1D", "AveragePooling1D"):
        add("valid", kind, {"pool_size": 2}, (2, 5, 2))
        add("same", kind, {"pool_size": 3, "strides": 2, "padding": "same"}, (2, 6, 2))
        add("strides 1", kind, {"pool_size": 2, "strides": 1}, (2, 4, 2))
    for kind in ("GlobalAveragePooling1D", "GlobalMaxPooling1D"):
        add("plain", kind, {}, series)
        add("keepdims", kind, {"keepdims": True}, series)
    add("mask", "GlobalAveragePooling1D", {}, series, mask=middle)
    add("plain", "GlobalMaxPooling2D", {}, (2, 3, 2, 2))

    add("vectors", "Dot", {"axes": 1}, (3, 4), (3, 4))
    add("matrices", "Dot", {"axes": [2, 1]}, (2, 3, 4), (2, 4, 5))
    add("the same axis", "Dot", {"axes": -1}, (2, 3, 4), (2, 5, 4))
    add("rank 4", "Dot", {"axes": [2, 1]}, (2, 3, 4, 2), (2, 4, 3))
    add("normalize", "Dot", {"axes": [1, 2], "normalize": True}, (2, 3, 2), (2, 4, 3))
    for kind in ("Multiply", "Average", "Maximum", "Minimum"):
        add("two inputs", kind, {}, (2, 3), (2, 3))
        add("three inputs", kind, {}, (2, 3, 2), (2, 3, 2), (2, 3, 2))
    add("two inputs", "Subtract", {}, (2, 3), (2, 3))

    image = (2, 5, 6, 2)
    add("by side", "ZeroPadding2D", {"padding": [[1, 0], [2, 3]]}, image)
    add("rows and columns", "ZeroPadding2D", {"padding": [1, 2]}, image)
    add("by side", "Cropping2D", {"cropping": [[1, 0], [2, 3]]}, image)
    add("one number", "Cropping2D", {"cropping": 1}, image)
    add("nearest", "UpSampling2D", {"size": [2, 3]}, (2, 2, 3, 2))
    add("plain", "Permute", {"dims": [3, 1, 2]}, (2, 2, 3, 4))
    add("plain", "RepeatVector", {"n": 3}, (2, 4))
    add("plain", "Identity", {}, (2, 3))
    add("channels_first", "Flatten", {"data_format": "channels_first"}, (2, 3, 2, 2))
    if BACKEND != "torch":
        add("channels_first", "Conv2D",
            {"filters": 3, "kernel_size": 2, "padding": "same", "data_format": "channels_first"},
            (2, 2, 4, 5))
        add("channels_first", "MaxPooling2D", {"data_format": "channels_first"}, (2, 2, 4, 5))


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
