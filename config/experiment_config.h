// An experiment as its file defines it: what is tested, how to recognise who has it, and what is to be known in the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"

namespace plimsoll::config {

struct ExperimentConfig {
  std::string name;
  std::string feature;

  // Predicates, as --where takes them; all of an arm's must hold.
  std::vector<std::string> control;
  std::vector<std::string> test;
  std::vector<std::string> both;

  std::string since;  // times as --since takes them
  std::string until;  // empty: now
  std::string ratio = "ipc";

  double margin_percent = 1;
  double detect_percent = 0;  // 0: margin_percent counts
  double power_percent = 95;
  int64_t min_instances = 4;

  // The keys point into this object.
  std::vector<Key> keys();
};

// From a TOML file alone: neither variables nor flags. kInvalid where it names no arms, or no time to begin at.
Result<ExperimentConfig> load_experiment(const std::string& path);

// The file that says so, with what each key means.
std::string experiment_file(ExperimentConfig config);

}  // namespace plimsoll::config
