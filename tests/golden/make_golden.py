# SPDX-License-Identifier: Apache-2.0
"""Writes the golden values: results computed by the real Keras, for our tests to match.

    python3 -m venv venv && venv/bin/pip install keras==3.15.1 numpy h5py jax
    venv/bin/python tests/golden/make_golden.py [layers activations ...]

Writes {layers,activations,losses,metrics,optimizers,schedules,regularizers,initializers,fit}.json
beside this file and the small files under weights/. Deterministic: data come from fixed seeds and
are rounded to four decimals, results are computed in float64 (the weights/ files in float32) and
rounded to nine significant digits. KERAS_BACKEND=torch (and GOLDEN_OUT=folder) serves as a cross-check.
"""
import sys

from golden_layers import activations, layers
from golden_losses import losses, metrics
from golden_training import fit, initializers, optimizers, regularizers, schedules, weights

import keras


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
