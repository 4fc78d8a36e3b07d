#include "capture/identity/job_rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/printable.h"
#include "base/suggest.h"
#include "capture/identity/cgroup.h"
#include "capture/identity/rule_template.h"

namespace plimsoll::identity {
namespace {

constexpr int64_t kMaxPatternMemoryBytes = 1 << 20;
constexpr size_t kMaxVariables = 64;

// What a rule's patterns and templates can name, in the order in which unnamed groups are counted.
enum Fact : size_t { kCgroup, kUnit, kExecutable, kComm, kPod, kContainer, kProgram, kFacts };
constexpr std::array<std::string_view, kFacts> kFactNames{"cgroup", "unit",      "executable", "comm",
                                                          "pod",    "container", "program"};
using Facts = std::array<std::string_view, kFacts>;

bool is_variable_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// The name before '=' of a pattern that begins with one as it is; empty where it begins otherwise.
std::string_view named_variable(std::string_view pattern) {
  pattern.remove_prefix(pattern.starts_with('^') ? 1 : 0);
  const std::string_view name = pattern.substr(0, std::min(pattern.find('='), pattern.size()));
  return name.size() < pattern.size() && is_variable_name(name) ? name : std::string_view();
}

Result<std::unique_ptr<const re2::RE2>> compile_pattern(const std::string& pattern) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxPatternMemoryBytes);
  auto compiled = std::make_unique<const re2::RE2>(pattern, options);
  if (!compiled->ok()) {
    return fail(ErrorCode::kInvalid, "\"{}\" is not a regular expression: {}", pattern, compiled->error());
  }
  return compiled;
}

}  // namespace

// One rule of the configuration.
class CompiledRule {
 public:
  // `variables` are those that may be named. Errors have the key as their field.
  static Result<std::unique_ptr<const CompiledRule>> compile(const config::IdentityRule& rule,
                                                             const std::vector<std::string>& variables) {
    auto compiled = std::make_unique<CompiledRule>();
    const std::array<std::pair<Fact, const std::string*>, 6> patterns{{{kCgroup, &rule.cgroup},
                                                                       {kUnit, &rule.unit},
                                                                       {kExecutable, &rule.executable},
                                                                       {kComm, &rule.comm},
                                                                       {kPod, &rule.pod},
                                                                       {kContainer, &rule.container}}};
    for (const auto& [fact, pattern] : patterns) {
      if (auto added = compiled->add_pattern(fact, *pattern); !added) {
        return with_field(propagate(added), std::string(kFactNames[fact]));
      }
    }
    if (auto added = compiled->add_environment(rule.environment, variables); !added) {
      return with_field(propagate(added), "environment");
    }
    for (const auto& [key, text, place] : {std::tuple("job", &rule.job, &compiled->job_),
                                           std::tuple("instance", &rule.instance, &compiled->instance_),
                                           std::tuple("image", &rule.image, &compiled->image_)}) {
      auto parsed = compiled->parse_template(*text, variables);
      if (!parsed) {
        return with_field(propagate(parsed), key);
      }
      *place = std::move(*parsed);
    }
    if (compiled->job_.empty() && compiled->instance_.empty() && compiled->image_.empty()) {
      return with_field(fail(ErrorCode::kInvalid, "it sets neither job nor instance nor image"), "job");
    }
    return compiled;
  }

  // False where a pattern does not match.
  bool apply(const Facts& facts, const Environment& environment, Workload& workload) const {
    std::vector<std::string_view> groups;
    for (const Pattern& pattern : patterns_) {
      if (!match(*pattern.expression, facts[pattern.fact], re2::RE2::UNANCHORED, groups)) {
        return false;
      }
    }
    std::string matched;  // what groups of the environment point into
    if (environment_ != nullptr && !match_variable(environment, matched, groups)) {
      return false;
    }
    const auto value_of = [&](std::string_view name) { return value(name, groups, facts, environment); };
    for (const auto& [pattern, place] :
         {std::pair(&job_, &workload.job), std::pair(&instance_, &workload.instance),
          std::pair(&image_, &workload.image)}) {
      std::string text = pattern->expand(value_of);
      if (!text.empty()) {
        *place = std::move(text);
      }
    }
    return true;
  }

 private:
  struct Pattern {
    Fact fact;
    std::unique_ptr<const re2::RE2> expression;
  };

  Status add_pattern(Fact fact, const std::string& pattern) {
    if (pattern.empty()) {
      return {};
    }
    auto expression = compile_pattern(pattern);
    if (!expression) {
      return propagate(expression);
    }
    if (auto added = add_groups(**expression); !added) {
      return added;
    }
    patterns_.push_back({fact, std::move(*expression)});
    return {};
  }

  Status add_environment(const std::string& pattern, const std::vector<std::string>& variables) {
    if (pattern.empty()) {
      return {};
    }
    const std::string name(named_variable(pattern));
    if (variables.empty() || (!name.empty() && !std::ranges::binary_search(variables, name))) {
      return with_hint(
          fail(ErrorCode::kInvalid, "identity.environment does not list the variable of \"{}\"", pattern),
          "add it to identity.environment");
    }
    auto expression = compile_pattern(pattern);
    if (!expression) {
      return propagate(expression);
    }
    environment_ = std::move(*expression);
    return add_groups(*environment_);
  }

  // Unnamed groups are called by their numbers.
  Status add_groups(const re2::RE2& expression) {
    const std::map<int, std::string>& names = expression.CapturingGroupNames();
    for (int group = 1; group <= expression.NumberOfCapturingGroups(); ++group) {
      const auto named = names.find(group);
      std::string name = named != names.end() ? named->second : fmt::format("{}", ++unnamed_groups_);
      if (std::ranges::find(group_names_, name) != group_names_.end()) {
        return fail(ErrorCode::kInvalid, "another pattern of the rule has a group \"{}\" as well", name);
      }
      group_names_.push_back(std::move(name));
    }
    return {};
  }

  Result<RuleTemplate> parse_template(std::string_view text,
                                      const std::vector<std::string>& variables) const {
    auto parsed = RuleTemplate::parse(text);
    if (!parsed) {
      return parsed;
    }
    std::vector<std::string_view> known(kFactNames.begin(), kFactNames.end());
    known.insert(known.end(), group_names_.begin(), group_names_.end());
    known.insert(known.end(), variables.begin(), variables.end());
    for (const std::string_view name : parsed->names()) {
      if (std::ranges::find(known, name) == known.end()) {
        const auto nearest = nearest_word(name, known);
        return with_hint(
            fail(ErrorCode::kInvalid, "\"{}\" uses ${}, which the rule does not define", text, name),
            nearest ? fmt::format("did you mean ${}?", *nearest)
                    : "use a group of its patterns, a fact, or a listed variable");
      }
    }
    return parsed;
  }

  // Adds the groups of a match, which point into `text`.
  static bool match(const re2::RE2& expression, std::string_view text, re2::RE2::Anchor anchor,
                    std::vector<std::string_view>& groups) {
    std::vector<re2::StringPiece> found(static_cast<size_t>(expression.NumberOfCapturingGroups()) + 1);
    const re2::StringPiece piece(text.data(), text.size());
    if (!expression.Match(piece, 0, piece.size(), anchor, found.data(), static_cast<int>(found.size()))) {
      return false;
    }
    for (size_t i = 1; i < found.size(); ++i) {
      groups.emplace_back(found[i].data(), found[i].size());
    }
    return true;
  }

  bool match_variable(const Environment& environment, std::string& text,
                      std::vector<std::string_view>& groups) const {
    return std::ranges::any_of(environment, [&](const auto& variable) {
      text = variable.first + "=" + variable.second;
      return match(*environment_, text, re2::RE2::ANCHOR_START, groups);
    });
  }

  std::string_view value(std::string_view name, const std::vector<std::string_view>& groups,
                         const Facts& facts, const Environment& environment) const {
    if (const auto group = std::ranges::find(group_names_, name); group != group_names_.end()) {
      return groups[static_cast<size_t>(group - group_names_.begin())];
    }
    const auto* const fact = std::ranges::find(kFactNames, name);
    return fact != kFactNames.end() ? facts[static_cast<size_t>(fact - kFactNames.begin())]
                                    : variable(environment, name);
  }

  std::vector<Pattern> patterns_;
  std::unique_ptr<const re2::RE2> environment_;
  std::vector<std::string> group_names_;  // of all patterns, in their order
  int unnamed_groups_ = 0;
  RuleTemplate job_;
  RuleTemplate instance_;
  RuleTemplate image_;
};

JobRules::JobRules() = default;
JobRules::JobRules(JobRules&&) noexcept = default;
JobRules& JobRules::operator=(JobRules&&) noexcept = default;
JobRules::~JobRules() = default;

Result<JobRules> JobRules::compile(const config::IdentitySettings& settings) {
  JobRules rules;
  rules.variables_ = settings.environment;
  std::ranges::sort(rules.variables_);
  for (const std::string& name : rules.variables_) {
    if (!is_variable_name(name) || rules.variables_.size() > kMaxVariables) {
      return with_field(fail(ErrorCode::kInvalid, "\"{}\" is not a variable name, or there are more than {}",
                             name, kMaxVariables),
                        "identity.environment");
    }
  }
  rules.labels_ = settings.labels;
  for (const std::string& label : rules.labels_) {
    if (label != "pod" && label != "unit" && !std::ranges::binary_search(rules.variables_, label)) {
      return with_hint(
          with_field(fail(ErrorCode::kInvalid, "no such label: \"{}\"", label), "identity.labels"),
          "labels are pod, unit, and the variables in identity.environment");
    }
  }
  for (size_t i = 0; i < settings.rules.size(); ++i) {
    auto rule = CompiledRule::compile(settings.rules[i], rules.variables_);
    if (!rule) {
      const std::string key = rule.error().field;
      return with_field(propagate(rule, "rule {} of identity.rules, {}", i + 1, key),
                        fmt::format("identity.rules[{}].{}", i, key));
    }
    rules.rules_.push_back(std::move(*rule));
  }
  return rules;
}

Workload JobRules::apply(const ProcessFacts& facts) const {
  static const Environment none;
  const Environment& environment = facts.environment == nullptr ? none : *facts.environment;
  Workload workload = workload_of(facts);
  const std::string pod = pod_uid(facts.cgroup);
  const std::string_view unit = base_name(path_to_unit(facts.cgroup));
  const std::string container = workload.container;
  const Facts known{facts.cgroup, unit,      facts.executable,           facts.comm,
                    pod,          container, base_name(facts.executable)};
  for (const auto& rule : rules_) {
    if (rule->apply(known, environment, workload)) {
      break;
    }
  }
  for (const std::string& label : labels_) {
    const std::string_view value = label == "pod"    ? pod
                                   : label == "unit" ? unit
                                                     : variable(environment, label);
    if (!value.empty()) {
      workload.labels.emplace_back(label, value);
    }
  }
  std::ranges::sort(workload.labels);
  return workload;
}

}  // namespace plimsoll::identity
