// How an operator names what processes work for: one table of [[identity.rules]].
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace plimsoll::config {

// The patterns that are given (not empty) must all match; the templates that are given then count. What they mean is said
// in docs/identity.md, and checked by identity::JobRules::compile().
struct IdentityRule {
  std::string cgroup = {};
  std::string unit = {};
  std::string executable = {};
  std::string comm = {};
  std::string pod = {};
  std::string container = {};
  std::string environment = {};

  std::string job = {};
  std::string instance = {};
  std::string image = {};

  // The keys point into this object.
  std::vector<Key> keys();
};

struct IdentitySettings {
  std::vector<IdentityRule> rules;
  std::vector<std::string> environment;       // names of the variables that may be read
  std::vector<std::string> labels = {"pod"};  // what goes along with a process
};

}  // namespace plimsoll::config
