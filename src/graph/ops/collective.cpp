// SPDX-License-Identifier: Apache-2.0
// Exchanges between replicas. With one replica they are the identity, which is what the reference says.
#include "graph/rules.h"

namespace strata {

Schema Collective::schema() {
  return Schema("collective", "Between whom.").arg("axis", &Collective::axis, "The mesh axis.");
}

namespace {

constinit const OpDef all_reduce_op{
    .name = "all_reduce",
    .doc = "The sum over the replicas along a mesh axis.",
    .attributes = &schema_of<Collective>,
    .read = &read_attributes<Collective>,
    .infer = rules::same,
    .vjp = [](const Vjp& v) -> Values { return {all_reduce(v.gradients[0], v.attributes.as<Collective>().axis)}; },
    .reference = [](const Reference& r) { r.outputs[0].data = r.inputs[0]->data; },
    .examples = []() -> std::vector<OpExample> {
      return {{"one replica", {rules::floats({2, 3})}, [](std::span<const Value> x) -> Values {
                 return {all_reduce(x[0])};
               }}};
    },
    .traits = {.collective = true}};

}  // namespace

Value all_reduce(Value x, const std::string& axis) { return x.graph->add(all_reduce_op, {x}, Collective{axis}); }

void ops_collective(std::vector<const OpDef*>& all) { all.push_back(&all_reduce_op); }

}  // namespace strata
