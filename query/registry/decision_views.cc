#include "query/registry/decision_views.h"

#include <algorithm>

#include "query/operations/experiments.h"
#include "query/placement/measured/measured_pairs.h"
#include "query/placement/measured/measured_placement.h"
#include "query/registry/answers.h"
#include "query/registry/common_parameters.h"
#include "query/wsmeter/asked/experiment_answers.h"
#include "query/wsmeter/observations.h"

namespace plimsoll::query {
namespace {

View observations_view() {
  return {
      .name = "observations",
      .command = "",
      .taken_by = "wsmeter",
      .summary = "Show the performance of each instance on each machine, as wsmeter takes it",
      .parameters = joined(
          {filter_specs(),
           {ratio_spec("ipc", "Ratio of two events that measures performance"), limit_spec("1000000")}}),
      .columns = {{"job", "", "Job", kAlwaysShown},
                  {"machine", "", "Machine"},
                  {"rack", "", "Rack", kDetail},
                  {"platform", "", "Hardware generation"},
                  {"instance", "", "Instance", kAlwaysShown},
                  {"performance", "{ratio}", "The ratio"},
                  {"performance_margin", "{ratio}", "Half the width of its 95 % confidence interval"},
                  {"margin_kind", "", "What the margin covers, or why there is none"},
                  {"denominator", "{unit}", "Value of the second event (denominator)"},
                  {"quota_cpus", "CPUs", "CPU quota in the newest census"}},
      .answer = ask_profiles_and_fleet<parse_observations, observations>,
  };
}

View measured_pairs_view() {
  return {
      .name = "measured-pairs",
      .command = "",
      .taken_by = "assign",
      .summary = "Show the cost and the load of each job on each platform, as assign takes them",
      .parameters = filter_specs(),
      .columns = {{"job", "", "Job", kAlwaysShown},
                  {"platform", "", "Hardware generation"},
                  {"cpi", "cycles/instructions", "Cycles per instruction"},
                  {"margin", "cycles/instructions", "Half the width of its 95 % confidence interval"},
                  {"margin_kind", "", "What the margin covers, or why there is none"},
                  {"load", "count/s", "Instructions per second on all machines of the platform"},
                  {"machines", "count", "Machines measured"}},
      .answer = ask_profiles_and_fleet<parse_measured_pairs, measured_pairs>,
  };
}

View placement_view() {
  return {
      .name = "placement",
      .command = "",
      .taken_by = "assign",
      .summary = "Plan which jobs run on which platform, with the capacity that is in use today",
      .details =
          R"(Costs, loads and today's placement are measured; each platform has the capacity that it uses today, and the headroom
given. `plimsoll assign` plans with tables of capacities, costs and loads (docs/placement.md).
)",
      .parameters = joined(
          {filter_specs(),
           {{"headroom", ValueKind::kShare, "How much more than today each platform may take", "0%"},
            {"room", ValueKind::kText, "The same for one platform, in its place: PLATFORM=SHARE", "", true},
            {"max_unknown_cost", ValueKind::kNumber,
             "Assume that pairs of job and platform without a cost cost at most so many times the job's "
             "maximum "
             "known cost (default: such pairs are not used)"},
            {.name = "by",
             .kind = ValueKind::kChoice,
             .help = "A row per job and platform, per platform, per move, or one about all",
             .default_value = "placement",
             .choices = {"placement", "platform", "move", "summary"}}}}),
      .columns = {{"job", "", "Job", kAlwaysShown},
                  {"platform", "", "Hardware generation", kAlwaysShown},
                  {"load", "instructions/s", "Instructions per second of the job there, or that move"},
                  {"load_share", "share", "load as a share of the job's"},
                  {"cost", "cycles/instruction", "Cycles per instruction"},
                  {"cost_margin", "cycles/instruction", "Half the width of its 95 % confidence interval"},
                  {"cost_kind", "", "measured, or at most"},
                  {"capacity_used", "cycles/s", "Cycles per second of the plan"},
                  {"alternative", "", "The next best platform"},
                  {"cost_advantage", "cycles/instruction",
                   "How much more the alternative, or staying, costs, at the prices of full platforms"},
                  {"cost_advantage_margin", "cycles/instruction", "Its margin"},
                  {"certain", "", "Whether the choice holds within the margins: yes, no, or unknown"},
                  {"capacity", "cycles/s", "By platform: today's use, and the headroom"},
                  {"capacity_used_share", "share", "By platform: capacity_used as a share of the capacity"},
                  {"todays_capacity_used", "cycles/s", "By platform: cycles per second today"},
                  {"jobs", "count", "Jobs there, or of all"},
                  {"shadow_price", "ratio", "By platform: what a unit of capacity more would save"},
                  {"from", "", "By move: today's platform"},
                  {"to", "", "By move: the platform of the plan"},
                  {"saving", "cycles/s", "By move and summary: cycles per second saved", kAlwaysShown},
                  {"saving_margin", "cycles/s", "Half the width of its 95 % confidence interval"},
                  {"saving_low", "cycles/s", "By summary: the low end of its 95 % confidence interval"},
                  {"saving_high", "cycles/s", "By summary: the high end of its 95 % confidence interval"},
                  {"saving_share", "share", "By summary: saving as a share of today's cost", kAlwaysShown},
                  {"todays_cost", "cycles/s", "By summary: cycles per second of today's placement"},
                  {"planned_cost", "cycles/s", "By summary: cycles per second of the plan"},
                  {"moves", "count", "By summary: moves"},
                  {"certain_moves", "count", "By summary: moves that are certain"},
                  {"certain_saving", "cycles/s", "By summary: what the certain moves save"}},
      .answer = ask_profiles_and_fleet<parse_measured_placement, measured_placement>,
  };
}

// An end that moves with the clock is refused.
std::vector<ParameterSpec> experiment_filter_specs() {
  std::vector<ParameterSpec> specs = filter_specs();
  std::ranges::find(specs, "until", &ParameterSpec::name)->help = "End of the time range: RFC 3339, no age";
  return specs;
}

std::vector<ParameterSpec> arm_specs(bool has_test) {
  std::vector<ParameterSpec> specs{
      {"control", ValueKind::kPredicate, "Filter of the arm without the feature", "", true}};
  if (has_test) {
    specs.push_back({"test", ValueKind::kPredicate, "Filter of the arm with the feature", "", true});
  }
  return specs;
}

std::vector<ParameterSpec> goal_specs() {
  return {ratio_spec("ipc", "What performance is: two events (instructions/cycles), or ipc, exact-ipc"),
          {"margin", ValueKind::kShare, "Margin wanted of the metric", "1%"},
          {"detect", ValueKind::kShare, "In its place: the change of the metric to detect"},
          {"power", ValueKind::kShare, "The probability of detecting it", "95%"},
          {"min_instances", ValueKind::kCount, "Instances of each job at least", "4"}};
}

// Both arms of the times that the experiment is about.
template <auto view>
Result<Answer> ask_experiment(const Question& question, ViewSources& sources) {
  return ask_profiles_and_fleet<parse_experiment, view>(question, sources);
}

// The control arm, before the test.
template <auto view>
Result<Answer> ask_before(const Question& question, ViewSources& sources) {
  const auto asked = parse_experiment_plan(question.parameters, question.now_ns);
  if (!asked) {
    return propagate(asked);
  }
  return of_sound_rows(sources, asked->times(), question.parameters, [&](const Snapshot& snapshot) {
    const auto fleet = LiveFleet::load(*asked, sources.fleet());
    return of_rolled_up_rows(question, asked->times(), snapshot,
                             fleet ? as_answer<Table>(view(*asked, snapshot, *fleet)) : propagate(fleet));
  });
}

std::vector<ParameterSpec> plan_specs() {
  return joined({experiment_filter_specs(),
                 arm_specs(false),
                 goal_specs(),
                 {{"history", ValueKind::kDuration,
                   "Plan by what the control arm did so long before since, or now", "7d"}}});
}

constexpr const char* kExperimentDetails =
    R"(An experiment is what its parameters say, as the file of `plimsoll experiment` does (docs/wsmeter.md): two arms, of the
same time, and the margin wanted. `experiments` lists those that users have defined on the server.
)";

View experiment_plan_view() {
  return {
      .name = "experiment/plan",
      .command = "",
      .taken_by = "experiment",
      .summary = "Plan how many instances of each job must have a feature, so that its effect is known",
      .details = kExperimentDetails,
      .parameters = plan_specs(),
      .columns = {{"job", "", "Job, the largest weight first", kAlwaysShown},
                  {"weight", "share", "Weight in the metric: share of the CPU quotas"},
                  {"control", "instances", "Instances of the control arm that were observed"},
                  {"observe", "instances", "Instances of the test arm to observe", kAlwaysShown},
                  {"cost", "{cost}",
                   "CPU quota of these, in CPUs; where no quotas are reported their load, in \"load\""},
                  {"top_coverage", "share", "What this job and those above it have of all CPU quotas"}},
      .answer = ask_before<asked_experiment_plan>,
  };
}

View experiment_curve_view() {
  return {
      .name = "experiment/curve",
      .command = "",
      .taken_by = "experiment",
      .summary = "Show what wider and narrower margins would cost than the one that an experiment asks for",
      .details = kExperimentDetails,
      .parameters = plan_specs(),
      .columns = {{"aim", "share", "Margin, or change to detect, that is planned for", kAlwaysShown},
                  {"margin", "share", "Margin of the metric then"},
                  {"instances", "instances", "Instances of the test arm", kAlwaysShown},
                  {"cost", "{cost}",
                   "CPU quota of these, in CPUs; where no quotas are reported their load, in \"load\""}},
      .answer = ask_before<asked_experiment_curve>,
  };
}

View experiment_progress_view() {
  return {
      .name = "experiment/progress",
      .command = "",
      .taken_by = "experiment",
      .summary = "Show how much of an experiment's plan was observed, without its result",
      .details = kExperimentDetails,
      .parameters = joined({experiment_filter_specs(), arm_specs(true), goal_specs()}),
      .columns = {{"job", "", "Job, the largest weight first", kAlwaysShown},
                  {"weight", "share", "Weight in the metric: share of the CPU quotas"},
                  {"control", "instances", "Instances of the control arm that were observed"},
                  {"test", "instances", "Instances of the test arm that were observed", kAlwaysShown},
                  {"wanted", "instances", "Instances of the test arm that are wanted", kAlwaysShown}},
      .answer = ask_experiment<asked_experiment_progress>,
  };
}

View experiment_result_view() {
  return {
      .name = "experiment/result",
      .command = "",
      .taken_by = "experiment",
      .summary = "Show the effect of an experiment that has ended, and whether it is more than chance",
      .details =
          R"(Refused as long as the experiment runs: it has ended when all wanted instances were observed, or when the time given as
until has passed. Stopping early, when the result looks good, finds changes that do not exist.
)",
      .parameters = joined({experiment_filter_specs(), arm_specs(true), goal_specs()}),
      .columns = {{"job", "", "(all): the metric; then jobs, the largest weight first", kAlwaysShown},
                  {"weight", "share", "Weight in the metric: share of the CPU quotas"},
                  {"change", "share", "Change of the performance from control to test", kAlwaysShown},
                  {"change_margin", "share", "Half the width of its 95 % confidence interval"},
                  {"change_low", "share", "The low end of its 95 % confidence interval"},
                  {"change_high", "share", "The high end of its 95 % confidence interval"},
                  {"verdict", "", "better, worse, cannot tell, or left out", kAlwaysShown},
                  {"control", "instances", "Instances of the control arm"},
                  {"test", "instances", "Instances of the test arm"},
                  {"reason", "", "Why a job is left out"}},
      .answer = ask_experiment<asked_experiment_result>,
  };
}

View experiments_view() {
  const ParameterSpec name{"name", ValueKind::kText, "Name of the experiment"};
  return {
      .name = "experiments",
      .command = "",
      .taken_by = "experiment",
      .summary = "List the experiments that are defined on the server",
      .details =
          R"(A definition has the parameters of experiment/plan and experiment/result, which show what comes of it. Once an
experiment has begun, only until, feature and owner can change (docs/wsmeter.md).
)",
      .parameters = {{"name", ValueKind::kText, "Show this experiment only"}},
      .columns = {{"experiment", "", "Name", kAlwaysShown},
                  {"state", "", "planned, running (since has passed), or ended (until has passed)",
                   kAlwaysShown},
                  {"feature", "", "The feature under test"},
                  {"owner", "", "Owner; by default the token that defined it"},
                  {"control", "", "Filters of the arm without the feature"},
                  {"test", "", "Filters of the arm with the feature"},
                  {"where", "", "Filters of both arms", kDetail},
                  {"since", "", "When the feature was enabled"},
                  {"until", "", "End of the test"},
                  {"defined", "", "When it was first defined", kDetail},
                  {"changed", "", "When its definition last changed", kDetail},
                  {"definition", "", "The definition, in JSON, as PUT takes it", kMinorDetail}},
      .effort = Effort::kShort,
      .orders = {{"experiments/{name}",
                  "define NAME",
                  "Define an experiment by a JSON object: feature, owner, and the parameters of "
                  "experiment/plan and experiment/result",
                  {name},
                  "PUT"},
                 {"experiments/{name}",
                  "withdraw NAME",
                  "Withdraw the definition of an experiment",
                  {name},
                  "DELETE"}},
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_experiments(question.parameters, question.now_ns);
        const auto known = request ? load_experiments(*request, sources.fleet()) : propagate(request);
        return known ? Result<Answer>(experiments(*request, *known)) : propagate(known);
      },
  };
}

}  // namespace

std::vector<View> decision_views() {
  return {observations_view(),      measured_pairs_view(),   placement_view(),
          experiment_plan_view(),   experiment_curve_view(), experiment_progress_view(),
          experiment_result_view(), experiments_view()};
}

}  // namespace plimsoll::query
