# SPDX-License-Identifier: Apache-2.0
# What the makers of golden values share: numbers as text, random data, gradients.
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
