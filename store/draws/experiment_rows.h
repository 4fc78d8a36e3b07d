// Rows of the tables of experiments (draw_store.h).
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/draws/experiment.h"

namespace plimsoll::store {

// By name. None where an older version has written the database.
Result<std::vector<ExperimentDefinition>> read_experiments(sqlite::Database& database);

// In a transaction of the caller's. The first: in place of the one of that name.
Status replace_experiment(sqlite::Database& database, const ExperimentDefinition& definition);
Status delete_experiment(sqlite::Database& database, std::string_view name);

}  // namespace plimsoll::store
