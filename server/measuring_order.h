// Orders to profile machines on demand, from HTTP parameters.
#pragma once

#include <string>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "scheduler/assignments/order.h"

namespace plimsoll::server {

// Parameters: job and machine (either may come several times), for (a duration), most (machines), events ("cycles,instructions"), rate, bursts ("7,8", of
// which there are none otherwise), bursts_for (a duration; as long as the window otherwise), bursts_events ("system-calls"). What else is not
// said is as `otherwise` has it, or as MeasuringOrder does. kInvalid, with the parameter as its field.
Result<scheduler::MeasuringOrder> parse_measuring_order(const query::Parameters& parameters,
                                                        const wire::Assignment& otherwise, std::string by);

}  // namespace plimsoll::server
