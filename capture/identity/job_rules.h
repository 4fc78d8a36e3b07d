// The operator's rules for who a process works for: patterns over what is known of it, templates for what it is called.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/identity/environment.h"
#include "capture/identity/workload.h"
#include "config/identity_rule.h"

namespace plimsoll::identity {

class CompiledRule;

// Immutable: any thread may use it. Linear in the length of what is matched (RE2).
class JobRules {
 public:
  // Without rules and labels: processes are called as workload_of() says.
  JobRules();
  JobRules(JobRules&&) noexcept;
  JobRules& operator=(JobRules&&) noexcept;
  ~JobRules();

  // kInvalid names the rule by its number, the key, and what is wrong with it: patterns that RE2 does not take, templates
  // with names that nothing gives, variables that are not listed, rules that say nothing.
  static Result<JobRules> compile(const config::IdentitySettings& settings);

  // Names of the variables that may be read of a process, sorted.
  const std::vector<std::string>& variables() const { return variables_; }

  // What the first rule whose patterns all match makes of workload_of(), with labels. Matches the patterns again each time:
  // WorkloadNamer keeps what comes out.
  Workload apply(const ProcessFacts& facts) const;

 private:
  std::vector<std::string> variables_;
  std::vector<std::string> labels_;
  std::vector<std::unique_ptr<const CompiledRule>> rules_;
};

}  // namespace plimsoll::identity
