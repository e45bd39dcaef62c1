# SPDX-License-Identifier: Apache-2.0
# optimizers, schedules, regularizers, initializers, fit and the weight files.
import os

import json

# First: it chooses the backend before Keras is loaded.
from golden_common import BACKEND, HERE, Data, number, pullback, tensor, to_numpy, write

import keras
import keras_build as build
import numpy as np
from keras import ops


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
    todo += [("plain", "RMSprop", {"learning_rate": 0.05}),
             ("momentum", "RMSprop", {"learning_rate": 0.05, "momentum": 0.8}),
             ("centered", "RMSprop", {"learning_rate": 0.05, "rho": 0.8, "momentum": 0.5,
                                      "centered": True}),
             ("weight_decay and ema", "RMSprop", {"learning_rate": 0.05, "weight_decay": 0.05,
                                                  "use_ema": True}),
             ("plain", "Adagrad", {"learning_rate": 0.2}),
             ("accumulator", "Adagrad", {"learning_rate": 0.2, "initial_accumulator_value": 1.0,
                                         "epsilon": 0.01}),
             ("plain", "Adadelta", {"learning_rate": 1.0}),
             ("rho and epsilon", "Adadelta", {"learning_rate": 2.0, "rho": 0.8, "epsilon": 0.01}),
             ("plain", "Lion", {"learning_rate": 0.05}),
             ("betas", "Lion", {"learning_rate": 0.05, "beta_1": 0.5, "beta_2": 0.8})]
    for kind in ("Adamax", "Nadam", "Lamb"):
        todo += [("plain", kind, {"learning_rate": 0.05}),
                 ("betas and epsilon", kind, {"learning_rate": 0.05, "beta_1": 0.8,
                                              "beta_2": 0.95, "epsilon": 0.01}),
                 ("weight_decay and clipnorm", kind, {"learning_rate": 0.05, "weight_decay": 0.05,
                                                      "clipnorm": 0.5})]
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
                "variables": [{"name": v.path.split("/", 1)[-1], "tensor": tensor(v)}
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
             {"initial_learning_rate": 0.1, "decay_steps": 100, "warmup_steps": 10}),
            ("smooth", "InverseTimeDecay", {"initial_learning_rate": 0.1, "decay_steps": 20,
                                            "decay_rate": 0.9}),
            ("staircase", "InverseTimeDecay", {"initial_learning_rate": 0.1, "decay_steps": 20,
                                               "decay_rate": 0.9, "staircase": True}),
            ("linear", "PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 80}),
            ("power", "PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 80,
                                          "end_learning_rate": 0.02, "power": 0.5}),
            ("cycle", "PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 40,
                                          "power": 2.0, "cycle": True}),
            ("plain", "PiecewiseConstantDecay", {"boundaries": [5, 99],
                                                 "values": [0.5, 0.25, 0.125]}),
            ("plain", "CosineDecayRestarts", {"initial_learning_rate": 0.1,
                                              "first_decay_steps": 20}),
            ("equal rounds", "CosineDecayRestarts",
             {"initial_learning_rate": 0.1, "first_decay_steps": 30, "t_mul": 1.0, "m_mul": 0.8,
              "alpha": 0.1}),
            ("longer and lower", "CosineDecayRestarts",
             {"initial_learning_rate": 0.1, "first_decay_steps": 15, "t_mul": 1.5, "m_mul": 0.9})]
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
                {"name": v.path.split("/", 1)[-1], "tensor": tensor(v)}
                for v in model.optimizer.variables]
        model.save_weights(os.path.join(folder, name + ".weights.h5"))
        case["keras_layer_order"] = [layer.name for layer in model.layers]
        case["weights"] = [{"path": v.path, "tensor": tensor(v)} for v in model.weights]
        case["inputs"] = {key: tensor(v) for key, v in inputs.items()}
        case["output"] = tensor(model.predict(values if len(values) > 1 else values[0],
                                              verbose=0))
        write(f"weights/{name}.json", case)
    keras.config.set_floatx("float64")
