// What came out of an experiment, for those who decide: as Markdown, and as JSON for what builds on it.
//
// Pure: no I/O; any thread.
#pragma once

#include <string>
#include <vector>

#include "query/wsmeter/experiment/experiment.h"

namespace plimsoll::query {

// What is said of the experiment itself.
struct ExperimentText {
  std::string name;
  std::string feature;
  std::vector<std::string> control;  // filters
  std::vector<std::string> test;
  std::vector<std::string> both;
  std::string ratio;
};

// Verdict, what it stands on, warnings, a table of jobs (the thirty heaviest), and how it was computed.
std::string report_markdown(const ExperimentText& text, const ExperimentGoal& goal, const Arm& control,
                            const Arm& test, const Findings& findings);

// {"name", "feature", "control", "test", "both", "ratio", "from", "to", "verdict", "change", "margin", "degrees" (null: nothing varies), "coverage", "instances": {"control", "test"},
// "wanted_share" (null: out of reach), "load_mix": {"distance", "p_value"}, "warnings", "jobs": [{"job", "weight", "change", "margin", "control", "test", "verdict",
// "control_load", "test_load"}], "left_out": [{"job", "quota", "reason"}]}. Changes and margins are shares: 0.01 is 1 %.
std::string report_json(const ExperimentText& text, const Arm& control, const Arm& test,
                        const Findings& findings);

}  // namespace plimsoll::query
