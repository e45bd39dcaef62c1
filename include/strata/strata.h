// SPDX-License-Identifier: Apache-2.0
// Everything strata offers. Start here: Sequential and Model (model.h), the layers (layers/), Scope (scope.h) for parts of
// your own. Names that are both a loss and a metric (MeanSquaredError) or a layer and an initializer (Identity) are
// written with their kind: losses::MeanSquaredError.
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

namespace strata {
using namespace layers;
using namespace optimizers;
using namespace losses;
using namespace metrics;
using namespace schedules;
using namespace initializers;
using namespace regularizers;
using namespace constraints;
using namespace callbacks;
using namespace datasets;
using namespace strategies;
}  // namespace strata
