// The coverage of an answer as JSON; for the sources that write whole documents.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "query/table/table.h"

namespace plimsoll::query {

nlohmann::ordered_json coverage_json(const Coverage& coverage);
// What is absent or of another type is 0.
Coverage coverage_from(const nlohmann::ordered_json& json);

}  // namespace plimsoll::query
