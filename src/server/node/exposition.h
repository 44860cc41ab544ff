// A node as Prometheus reads it.
#pragma once

#include "net/metrics_page.h"
#include "server/node/node.h"

namespace perjoule {

/// The node's families. What a device cannot tell has no sample. O(devices).
void add_node_metrics(MetricsPage& page, const Node& node);

}  // namespace perjoule
