// `plimsoll bursts requests --layers`: what each layer of each machine did for a request.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "cli/bursts_requests.h"

namespace plimsoll::cli {

// `only`: the request's ID; 0: all of them.
Status run_bursts_layers(const BurstsRequestsOptions& options, uint64_t only);

}  // namespace plimsoll::cli
