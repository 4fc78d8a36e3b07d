// The metric by machines in place of jobs, where the table says which instance runs where.
#pragma once

#include <span>
#include <vector>

#include "query/wsmeter/metric/comparison.h"
#include "query/wsmeter/validation/machine_clusters.h"

namespace plimsoll::query {

// The machines of the current platform with what runs on them of these jobs; instances without a machine are passed over.
std::vector<MachineSums> machines_of(std::span<const ComparedJob> jobs, const InstancesByJob& instances);

}  // namespace plimsoll::query
