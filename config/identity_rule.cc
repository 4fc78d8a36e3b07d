#include "config/identity_rule.h"

namespace plimsoll::config {

std::vector<Key> IdentityRule::keys() {
  return {
      {"cgroup", "Regular expressions, each for a part of the path unless anchored: of the control group,",
       &cgroup},
      {"unit", "of the innermost systemd unit, such as \"web@1.service\",", &unit},
      {"executable", "of the executable's path,", &executable},
      {"comm", "of the process's name,", &comm},
      {"pod", "of the UID of the Kubernetes pod,", &pod},
      {"container", "of the container's ID,", &container},
      {"environment",
       "and, from the start of NAME=VALUE on, of a variable that identity.environment lists:\n"
       "\"JOB_NAME=(.+)\".",
       &environment},
      {"job",
       "Templates. $1 is the first unnamed group of the patterns above, in their order; ${name} a named "
       "group\n"
       "(?P<name>...), a variable of identity.environment, or one of cgroup, unit, executable, program, "
       "comm, "
       "pod,\n"
       "container. $$ is a dollar. What comes out empty stays as it would be without the rule.",
       &job},
      {"instance", "Template of the instance.", &instance},
      {"image", "Template of the container image, where a variable or path contains it.", &image},
  };
}

}  // namespace plimsoll::config
