# SPDX-License-Identifier: Apache-2.0
# losses.json and metrics.json.

# First: it chooses the backend before Keras is loaded.
from golden_common import Data, maybe, number, pullback, tensor, to_numpy, write

import keras
import numpy as np
from keras import ops


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
