# SPDX-License-Identifier: Apache-2.0
"""Checks a weight file written by us against the real Keras.

    python check_weights.py FILE.weights.h5 CASE.json [--optimizer]

Builds the case's model in Keras, loads FILE and compares the predictions with the case's
"output" to 1e-5; with --optimizer also the optimizer's variables. Exit status: 0 they agree,
1 they differ or the file does not load, 77 Keras is not installed.
"""
import argparse
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

try:
    import keras
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import keras_build as build

TOLERANCE = 1e-5


def array(tensor, dtype):
    return np.array(tensor["data"], dtype=dtype).reshape(tensor["shape"])


def agrees(what, found, wanted):
    found, wanted = np.asarray(found, "float64"), np.asarray(wanted, "float64")
    if found.shape != wanted.shape:
        print(f"{what}: shape {found.shape}, expected {wanted.shape}")
        return False
    error = float(np.max(np.abs(found - wanted) / (1 + np.abs(wanted)), initial=0.0))
    print(f"{what}: largest error {error:.2e}")
    return bool(error <= TOLERANCE)  # false for NaN as well


def main():
    parser = argparse.ArgumentParser(description="Checks a weight file with Keras.")
    parser.add_argument("file", help="a .weights.h5 file")
    parser.add_argument("case", help="the JSON that describes its model")
    parser.add_argument("--optimizer", action="store_true",
                        help="compare the optimizer's variables too")
    options = parser.parse_args()
    with open(options.case) as file:
        case = json.load(file)
    model = build.model(case["model"])
    if options.optimizer:
        model.compile(optimizer=build.optimizer(case["optimizer"]), loss="mse")
        model.optimizer.build(model.trainable_variables)
    try:
        model.load_weights(options.file)
    except (ValueError, OSError, KeyError) as error:
        print(f"{options.file}: {error}")
        return 1
    inputs = [array(case["inputs"][name], spec.get("dtype") or "float32")
              for name, spec in case["model"]["inputs"].items()]
    found = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    good = agrees("output", found, array(case["output"], "float64"))
    if options.optimizer:
        for variable, wanted in zip(model.optimizer.variables, case["optimizer_variables"]):
            good &= agrees(wanted["name"], keras.ops.convert_to_numpy(variable),
                           array(wanted["tensor"], "float64"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
