# SPDX-License-Identifier: Apache-2.0
"""Builds real Keras objects from the JSON forms used by the golden files.

Forms: a nested part is a string ("relu") or a one-key map ({"L2": {"l2": 0.01}});
a model is {"inputs": {name: {"shape": [...], "dtype": ...}}, "layers": [...]}, where
every layer is {ClassName: {arguments}} with optional "from": [names] beside it; a layer
without "from" takes the layer before it (the first takes the first input).
"""
import functools

import keras


def part(value, family):
    """A nested part of the given family (regularizers, initializers, ...)."""
    if isinstance(value, dict) and len(value) == 1:
        (kind, args), = value.items()
        if isinstance(args, dict):
            if family == "activations":
                function = keras.activations.get(kind)
                return functools.partial(function, **args) if args else function
            return getattr(getattr(keras, family), kind)(**args)
    return value


def arguments(args):
    """Keras arguments with every nested part turned into a Keras object."""
    out = {}
    for key, value in args.items():
        family = None
        if key.endswith("regularizer"):
            family = "regularizers"
        elif key.endswith("initializer"):
            family = "initializers"
        elif key.endswith("constraint"):
            family = "constraints"
        elif key.endswith("activation"):
            family = "activations"
        elif key == "learning_rate" and isinstance(value, dict):
            (kind, inner), = value.items()
            out[key] = getattr(keras.optimizers.schedules, kind)(**inner)
            continue
        value = part(value, family) if family else value
        if isinstance(value, list) and key in (
                "target_shape", "kernel_size", "strides", "pool_size", "dilation_rate"):
            value = tuple(value)
        out[key] = value
    return out


def layer(kind, args):
    return getattr(keras.layers, kind)(**arguments(args))


def optimizer(form):
    (kind, args), = form.items()
    return getattr(keras.optimizers, kind)(**arguments(args))


def loss(form):
    if isinstance(form, str):
        return form
    (kind, args), = form.items()
    return getattr(keras.losses, kind)(**args)


def split(entry):
    """(class name, arguments, list of source names or None) of one layer entry."""
    kind = next(k for k in entry if k != "from")
    return kind, entry[kind], entry.get("from")


def sequential(entries, name, inputs=()):
    model = keras.Sequential(list(inputs), name=name)
    for entry in entries:
        kind, args, _ = split(entry)
        model.add(layer(kind, args))
    return model


def model(form):
    """The Keras model of a form; "class" says Sequential or Functional (default)."""
    inputs = {}
    for name, spec in form["inputs"].items():
        inputs[name] = keras.Input(tuple(spec["shape"]), name=name, dtype=spec.get("dtype"))
    if form.get("class") == "Sequential":
        return sequential(form["layers"], form.get("name"), [next(iter(inputs.values()))])
    known = dict(inputs)
    last = next(iter(inputs.values()))
    for entry in form["layers"]:
        kind, args, sources = split(entry)
        taken = [known[s] for s in sources] if sources else [last]
        if kind == "Sequential":
            block = sequential(args["layers"], args.get("name"))
        else:
            block = layer(kind, args)
        last = block(taken if len(taken) > 1 else taken[0])
        known[block.name] = last
    outputs = [known[n] for n in form["outputs"]] if "outputs" in form else [last]
    taken = list(inputs.values())
    return keras.Model(taken if len(taken) > 1 else taken[0], outputs if len(outputs) > 1 else outputs[0],
                       name=form.get("name"))
