// SPDX-License-Identifier: Apache-2.0
// Everything strata offers. Start here: Sequential and Model (model.h), the layers (layers/), Scope (scope.h) for parts of
// your own. A name that two kinds have stands for the loss (MeanSquaredError) or the layer (Identity); the metric and the
// initializer are written with their kind: metrics::MeanSquaredError.
#pragma once

#include "strata/callbacks.h"
#include "strata/constraints.h"
#include "strata/datasets.h"
#include "strata/initializers.h"
#include "strata/layers.h"
#include "strata/losses.h"
#include "strata/metrics.h"
#include "strata/model.h"
#include "strata/optimizers.h"
#include "strata/regularizers.h"
#include "strata/schedules.h"
#include "strata/strategies.h"
