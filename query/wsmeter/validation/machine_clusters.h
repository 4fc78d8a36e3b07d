// Test clusters made of whole machines, as the customary way of trying out hardware has them; and machines for fleets whose table does not say
// which instance runs where.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "query/wsmeter/metric/comparison.h"
#include "query/wsmeter/metric/estimate.h"
#include "query/wsmeter/validation/random.h"

namespace plimsoll::query {

// Sums over a machine's instances.
struct MachineSums {
  double quota = 0;        // x
  double performance = 0;  // y: of quota x normalized performance
  double cost = 0;
  int64_t instances = 0;
};

// Puts each instance of the new arm on a machine: machines of 6 to 10 instances (each size as likely) of different jobs, drawn with probabilities in
// proportion to the instances that they still have, one by one; of a job, any instance. Machines that are made when fewer jobs than that have any
// left, the last ones, are smaller. An instance has its job's quota over the instances that the arm has.
std::vector<MachineSums> pack_machines(std::span<const ComparedJob> jobs, Random& random);

// The metric of `sample`, machines drawn without replacement out of `population`: the ratio (Hajek) estimator sum y / sum x, its variance by
// linearization with residuals d = (y - R x) / sqrt(1 - x / X) (docs/statistics.md), the finite population's correction, and as many degrees of
// freedom as the residuals' kurtosis leaves. At least two machines.
MetricEstimate metric_of_machines(std::span<const MachineSums> sample, size_t population);

// The same on average, for so many machines, from all there are.
MetricEstimate expected_of_machines(std::span<const MachineSums> all, size_t count);

// The fewest machines, at least 4, whose expected margin is at most that one.
size_t machines_for(std::span<const MachineSums> all, double margin);

}  // namespace plimsoll::query
