// Where commands have the definition of an experiment from: a file, or a server that keeps it by name.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/experiment.h"
#include "cli/views/answer_source.h"
#include "config/experiment_config.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"

namespace plimsoll::cli {

struct ChosenExperiment {
  config::ExperimentConfig config;
  // What a file has no key for: focus, ignore, hide, of both arms; and the control arm's history that a plan is made by, empty: 7 days.
  query::Parameters frames = {};
  std::string history = {};
};

// Whether it is a file: it ends in .toml, or has a '/'. Names on a server have neither.
bool is_experiment_file(const std::string& file_or_name);

Result<ChosenExperiment> choose_experiment(const std::string& file_or_name, const AnswerSource& source);
// The same for commands that compare arms: kInvalid where the experiment has no time since which it runs.
Result<ChosenExperiment> choose_begun_experiment(const std::string& file_or_name, const AnswerSource& source);

// Of an answer of the view `experiments` about this name. kCorrupt where it has no definition; kInvalid where the definition has what this
// program does not know.
Result<ChosenExperiment> experiment_in(const query::Table& table, const std::string& name);

// Whether filters, times and the ratio can be read.
Status check_experiment_config(const config::ExperimentConfig& config);

// On the server of the source, under a name; in place of an earlier definition where the server permits it.
Status define_on_server(const ExperimentDefineOptions& options);

}  // namespace plimsoll::cli
