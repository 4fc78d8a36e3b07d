// What an experiment that a server is to keep must meet: that its plan, progress and result can be asked for, and that one that has begun
// stays what it is.
//
// Pure; any thread.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/draws/experiment.h"

namespace plimsoll::query {

// Fails as parse_experiment() and parse_experiment_plan() do of its parameters, as check_experiment_texts() does, and kInvalid where `since`
// moves with the clock.
Status check_definition(const store::ExperimentDefinition& definition, int64_t now_ns);

// Whether `after` may take the place of `before`. Before it has begun all of it may change. Afterwards feature, owner and `until` alone may:
// what is tested, and when it is enough, must not follow from what was seen. kConflict, with the parameter as its field.
Status check_change(const store::ExperimentDefinition& before, const store::ExperimentDefinition& after,
                    int64_t now_ns);

}  // namespace plimsoll::query
