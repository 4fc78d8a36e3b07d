#include "store/draws/experiment_rows.h"

#include <cstddef>
#include <string>
#include <utility>

namespace plimsoll::store {

Result<std::vector<ExperimentDefinition>> read_experiments(sqlite::Database& database) {
  const auto is_there = database.has_table("experiment_parameter");
  if (!is_there || !*is_there) {
    return is_there ? Result<std::vector<ExperimentDefinition>>() : propagate(is_there);
  }
  std::vector<ExperimentDefinition> experiments;
  // One statement sees one state, whatever the server changes meanwhile.
  const auto read = sqlite::for_each_row(
      database.query("SELECT experiment.name, feature, owner, defined_ns, changed_ns, "
                     "coalesce(experiment_parameter.name, ''), coalesce(value, '') FROM experiment "
                     "LEFT JOIN experiment_parameter ON experiment_parameter.experiment = experiment.name "
                     "ORDER BY experiment.name, number"),
      [&](const sqlite::Statement& row) {
        if (experiments.empty() || experiments.back().name != row.text(0)) {
          experiments.push_back({.name = std::string(row.text(0)),
                                 .feature = std::string(row.text(1)),
                                 .owner = std::string(row.text(2)),
                                 .parameters = {},
                                 .defined_ns = row.integer(3),
                                 .changed_ns = row.integer(4)});
        }
        if (!row.text(5).empty()) {
          experiments.back().parameters.emplace_back(row.text(5), row.text(6));
        }
      });
  return read ? Result<std::vector<ExperimentDefinition>>(std::move(experiments)) : propagate(read);
}

Status replace_experiment(sqlite::Database& database, const ExperimentDefinition& definition) {
  Status written = delete_experiment(database, definition.name);
  written = written ? database.execute("INSERT INTO experiment VALUES (?, ?, ?, ?, ?)", definition.name,
                                       definition.feature, definition.owner, definition.defined_ns,
                                       definition.changed_ns)
                    : written;
  for (size_t i = 0; written && i < definition.parameters.size(); ++i) {
    const auto& [name, value] = definition.parameters[i];
    written = database.execute("INSERT INTO experiment_parameter VALUES (?, ?, ?, ?)", definition.name, i,
                               name, value);
  }
  return written;
}

Status delete_experiment(sqlite::Database& database, std::string_view name) {
  const Status written = database.execute("DELETE FROM experiment_parameter WHERE experiment = ?", name);
  return written ? database.execute("DELETE FROM experiment WHERE name = ?", name) : written;
}

}  // namespace plimsoll::store
