// SPDX-License-Identifier: Apache-2.0
// Shard rules of the ops, by family: how outputs lie on the replicas when inputs lie so. An op's definition names its own.
#pragma once

#include "strata/graph.h"

namespace strata::shard {

bool elementwise(Shard&);  // any elementwise op: the split axis of any input, aligned from the right
bool sum_like(Shard&);     // add, subtract: terms stay terms
bool scaled(Shard&);       // multiply, divide, negate, cast: terms times a whole value stay terms
bool keeps_rows(Shard&);   // every array's axis 0 is the batch: softmax rows, pooling, cross-entropy
bool reshape(Shard&);
bool broadcast_to(Shard&);
bool sum_to(Shard&);
bool transpose(Shard&);
bool window(Shard&);      // slice, pad: the split axis is taken whole
bool along_axis(Shard&);  // softmax, argmax, reverse, cumulative_sum: works along another axis
bool concatenate(Shard&);
bool reduce(Shard&);        // reduce_sum: terms where the split axis is summed
bool reduce_other(Shard&);  // reduce_max: the split axis is kept, else refused
bool matmul(Shard&);
bool conv2d(Shard&);
bool conv2d_input_gradient(Shard&);
bool conv2d_kernel_gradient(Shard&);
bool pooling_gradient(Shard&);
bool layer_norm(Shard&);
bool layer_norm_gradient(Shard&);  // x's gradient split, gamma's and beta's terms
bool gather(Shard&);
bool scatter_add(Shard&);
bool one_hot(Shard&);
bool random(Shard&);
bool lstm(Shard&);
bool lstm_gradient(Shard&);

}  // namespace strata::shard
