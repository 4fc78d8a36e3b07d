#include "query/registry/profile_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "query/export/export.h"
#include "query/registry/answers.h"
#include "query/registry/common_parameters.h"
#include "query/snapshot/dimension.h"
#include "query/sql/sql.h"
#include "query/views/callers.h"
#include "query/views/diff.h"
#include "query/views/flame.h"
#include "query/views/leaks.h"
#include "query/views/series.h"
#include "query/views/series_summary.h"
#include "query/views/shared.h"
#include "query/views/stability.h"
#include "query/views/top.h"
#include "query/views/values.h"

namespace plimsoll::query {
namespace {

// self or total, and its share of the selection's sum.
std::vector<ColumnSpec> part_columns(const std::string& part, const std::string& meaning,
                                     ColumnPriority share_priority = kAlwaysShown) {
  const ColumnSpec share{part + "_share", "share", fmt::format("{} as a share of the selection's sum", part),
                         share_priority};
  return joined_columns({{{part, "{unit}", meaning, static_cast<ColumnPriority>(share_priority + 1)}},
                         estimate_columns(share, part + "_margin_kind")});
}

std::vector<ColumnSpec> ratio_columns() {
  const ColumnSpec ratio{"ratio", "{ratio}", "With --ratio: the first event divided by the second",
                         kAlwaysShown};
  return joined_columns(
      {estimate_columns(ratio, "margin_kind"),
       {{"numerator", "{unit}", "With --ratio: self of the first event (numerator)", kDetail},
        {"denominator", "{unit}", "With --ratio: self of the second event (denominator)", kDetail},
        {"machines", "count", "With --ratio: machines with samples, each once per draw"}}});
}

std::vector<ColumnSpec> side_by_side_columns() {
  const ColumnSpec share{"{event}_share", "share", "With --compare-event: self as a share of the event's sum",
                         kDetail};
  const ColumnSpec ratio{"{event}/{event}", "{ratio}",
                         "With --compare-event: the event divided by the first one", kAlwaysShown};
  return joined_columns({{{"{event}", "{unit}", "With --compare-event: self of each event"}},
                         estimate_columns(share, "{event}_margin_kind"),
                         estimate_columns(ratio)});
}

std::string dimensions_text() {
  size_t width = 0;
  for (const Dimension& dimension : dimensions()) {
    width = std::max(width, dimension.name.size());
  }
  std::string text = "Dimensions (for --by and --where):\n";
  for (const Dimension& dimension : dimensions()) {
    text += fmt::format("  {:<{}}  {}\n", dimension.name, width, dimension.meaning);
  }
  text += fmt::format("  {:<{}}  {}\n", "label:KEY", width,
                      "value of a label that processes or samples carry: label:pod");
  return text;
}

View top_view() {
  return {
      .name = "top",
      .command = "top",
      .summary = "Show what is hot: self and total by any dimensions",
      .details = dimensions_text(),
      .parameters = joined(
          {selection_specs(),
           {ratio_spec("", "Show the ratio of two events: instructions/cycles, or " + ratio_names()),
            {"compare_event", ValueKind::kEvent,
             "Show another event next to --event, and its ratio to it, over profiles with both", "", true},
            by_spec("function"),
            {"only", ValueKind::kPredicate,
             "Show only rows that match, by a dimension grouped by; shares stay those of the whole", "",
             true},
            limit_spec("20"),
            margins_spec()}}),
      .columns = joined_columns(
          {{dimension_columns()},
           part_columns("self", "Value of samples taken in the row itself"),
           part_columns("total", "Value of samples taken in the row or in its callees", kUsualPriority),
           ratio_columns(),
           side_by_side_columns()}),
      .examples = {{"plimsoll top --data DIR", "the hot functions"},
                   {"plimsoll top --data DIR --by app", "by application"},
                   {"plimsoll top --data DIR --where app=gzip --by function,file", "of one application"},
                   {"plimsoll top --data DIR --by function,job --only function=crc32",
                    "jobs that run one function, as shares of the fleet"},
                   {"plimsoll top --data DIR --ratio ipc --by job", "instructions per cycle, with margins"},
                   {"plimsoll top --data DIR --event instructions --compare-event cache-misses",
                    "two events next to each other"},
                   {"plimsoll top --watch --server ADDR --since 5m",
                    "the last five minutes, refreshed until ^C"},
                   {"plimsoll top --server ADDR --since 1h --where 'function=~^sqlite3' --by binary --json",
                    "from a server, for a script"}},
      .answer = ask_profiles<parse_top, top>,
  };
}

std::vector<ParameterSpec> neighbour_specs() {
  return joined(
      {{{.name = "function",
         .kind = ValueKind::kFunction,
         .help = "The function's name as top shows it, or ~REGEX for all functions whose names match",
         .is_positional = true},
        {"of", ValueKind::kPredicate,
         "Instead of FUNCTION: all functions that a filter matches, such as binary=libz.so.1", ""}},
       selection_specs(),
       {limit_spec("20"), margins_spec()}});
}

std::vector<ColumnSpec> neighbour_columns(const std::string& name, const std::string& meaning) {
  return joined_columns({{{name, "", meaning, kAlwaysShown}},
                         part_columns("total", "Time of the function through this neighbour")});
}

constexpr const char* kNeighbourDetails =
    R"(Shares are of the function's total (with its callees) and add up to 100 %. For a recursive function, callers are the
callers of its outermost frame, and callees are the callees of its innermost frame.
)";

View callers_view() {
  return {
      .name = "callers",
      .command = "callers",
      .summary = "Show the callers of a function, and how much of its time each caller causes",
      .details = kNeighbourDetails,
      .parameters = neighbour_specs(),
      .columns = neighbour_columns("caller", "The calling function"),
      .examples = {{"plimsoll callers --data DIR '~^__memcpy'", "callers of memcpy"},
                   {"plimsoll callers --data DIR --of binary=libz.so.1", "callers of a library"}},
      .answer = ask_profiles<parse_callers, callers>,
  };
}

View callees_view() {
  return {
      .name = "callees",
      .command = "callees",
      .summary = "Show what a function calls, and how much of its time goes there",
      .details = kNeighbourDetails,
      .parameters = neighbour_specs(),
      .columns = neighbour_columns("callee", "The called function; [self]: the function's own code"),
      .examples = {{"plimsoll callees --data DIR parse --where job=search", "where parsing spends its time"}},
      .answer = ask_profiles<parse_callees, callers>,
  };
}

// `priority` of the change, and of whether it is more than chance. The sides explain it.
std::vector<ColumnSpec> diff_columns(const std::string& part, const std::string& measure,
                                     ColumnPriority priority) {
  const ColumnSpec change{fmt::format("{}_{}_change", part, measure), "{measure}", "New minus base",
                          priority};
  const auto of_sides = static_cast<ColumnPriority>(kDetail + priority);
  return joined_columns(
      {{{fmt::format("base_{}_{}", part, measure), "{measure}", "Value on the base side", of_sides},
        {fmt::format("new_{}_{}", part, measure), "{measure}", "Value on the new side", of_sides}},
       estimate_columns(change),
       {{part + "_p", "p", "Probability that at least one row compared changes this much by chance",
         priority},
        {part + "_verdict", "", "more, less, may be chance, or cannot tell", priority}}});
}

View diff_view() {
  return {
      .name = "diff",
      .command = "diff",
      .summary = "Show what changed between two selections, and whether by more than chance",
      .parameters = joined(
          {{event_spec()},
           filter_specs(),
           side_specs(),
           {measure_spec("Compare shares of the whole, or rates per machine and second"),
            by_spec("function"),
            limit_spec("20"),
            {"candidates", ValueKind::kCount,
             "Test only the N largest rows of both sides together; a smaller N detects smaller changes",
             "100"},
            margins_spec()}}),
      .columns = joined_columns({{dimension_columns()},
                                 diff_columns("self", "share", kAlwaysShown),
                                 diff_columns("total", "share", kUsualPriority),
                                 diff_columns("self", "rate", kAlwaysShown),
                                 diff_columns("total", "rate", kUsualPriority)}),
      .examples = {{"plimsoll diff --data DIR --since 1h --earlier 1d", "the last hour against a day before"},
                   {"plimsoll diff --data DIR --base-where revision=41 --new-where revision=42",
                    "two revisions"},
                   {"plimsoll diff --data DIR --base-until 2026-11-21T12:00:00Z --new-since "
                    "2026-11-21T12:00:00Z --measure rate",
                    "before and after a moment"}},
      .answer = ask_profiles<parse_diff, diff>,
  };
}

View series_view() {
  const auto part = [](const std::string& name, const std::string& measure) {
    return estimate_columns({fmt::format("{}_{}", name, measure), "{measure}", "Value in this step of time",
                             name == "self" ? kAlwaysShown : kUsualPriority});
  };
  return {
      .name = "series",
      .command = "series",
      .summary = "Show how the largest rows change over time",
      .details =
          R"(As text: a line per row, with mean, min, max and last value of the steps and, on a terminal with UTF-8, a sparkline.
--long, --csv and --json list every step, with margins.
)",
      .parameters = joined({selection_specs(),
                            {{"bucket", ValueKind::kDuration,
                              "Length of a step of time (default: a few dozen steps in all)", ""},
                             measure_spec("Show shares of the whole, or rates per machine and second"),
                             by_spec("function"),
                             limit_spec("5", "Rows to follow: the largest overall")}}),
      .columns = joined_columns(
          {{{"time", "", "Start of the step", kAlwaysShown},
            {"machines", "count", "Machines with profiles in the step, each once per draw", kDetail},
            dimension_columns()},
           part("self", "share"),
           part("total", "share"),
           part("self", "rate"),
           part("total", "rate")}),
      .examples = {{"plimsoll series --data DIR --since 1d --bucket 1h", "the hottest functions by the hour"},
                   {"plimsoll series --data DIR --by job --measure rate", "CPU time per machine and job"},
                   {"plimsoll series --data DIR --by job --long", "every step, with margins"},
                   {"plimsoll series --data DIR --by platform --measure rate --csv", "for a plot"}},
      .text_summary = series_summary,
      .answer = ask_profiles<parse_series, series>,
  };
}

View leaks_view() {
  return {
      .name = "leaks",
      .command = "leaks",
      .summary = "Find what is in use and grows steadily, by more than chance: leaks",
      .details =
          R"(Compares each --period with the one before, in snapshots of heaps: waves of that length cancel, and a process that
restarts begins again. Four periods are needed, a week is better.
Verdicts: grows; levels off: growth was faster before; may be chance; too short: fewer than three steps from one period
to the next. Only rows that grow are shown, unless --all is given. To see the code that uses containers instead of the
containers, hide their frames, and the allocator's with them: --hide '^std::|^operator new|^malloc'.
)",
      .parameters =
          joined({{{"event", ValueKind::kEvent, "Event of snapshots to look at", "heap-inuse-bytes"}},
                  filter_specs(),
                  {by_spec("function,line"),
                   {"period", ValueKind::kDuration, "Length of the longest regular wave of load", "1d"},
                   {"candidates", ValueKind::kCount,
                    "Test only the N largest rows; a smaller N detects slower growth", "100"},
                   {"all", ValueKind::kFlag, "Show rows that do not grow, too", "no"},
                   limit_spec("20")}}),
      .columns =
          {dimension_columns(),
           {"verdict", "", "grows, levels off, may be chance, or too short", kAlwaysShown},
           {"growth_per_day", "{unit}", "Mean growth from one period to the next, per day", kAlwaysShown},
           {"growth_per_day_margin", "{unit}", "Half the width of the 95 % confidence interval",
            kAlwaysShown},
           {"in_use", "{unit}", "Mean in use over the newest period", kAlwaysShown},
           {"p", "p", "Probability that at least one row tested grows as steadily by chance", kAlwaysShown},
           {"late_share", "share", "Later growth as a share of earlier growth; under 50 % it levels off"},
           {"steps", "count", "Steps from one period to the next that were compared", kDetail},
           {"processes", "count", "Processes in the newest step", kDetail}},
      .examples = {{"plimsoll leaks --data DIR --since 14d", "of the last two weeks"},
                   {"plimsoll leaks --data DIR --by function,line,job --where cluster=eu-1",
                    "by job, of one cluster"},
                   {"plimsoll leaks --data DIR --since 6h --period 30m --all",
                    "of load without waves longer than half an hour, with all rows"}},
      .answer = ask_profiles<parse_leaks, leaks>,
  };
}

View stability_view() {
  return {
      .name = "stability",
      .command = "stability",
      .summary = "Show whether a repeated measurement would give the same profile, and what would help",
      .details =
          R"(Verdicts: stable; noisy: chance alone exceeds --tolerance (measure more machines or a longer time, as the table
says); moved: the halves differ by more than chance, and more machines will not help; too few machines.
)",
      .parameters = joined(
          {selection_specs(),
           {by_spec("function"),
            {"top", ValueKind::kCount, "Distances are over the N largest rows of either half", "20"},
            {"tolerance", ValueKind::kNumber,
             "Manhattan distance to tolerate, from 0 to 2; 0.1: a twentieth of the time is spent elsewhere",
             "0.1"},
            {"permutations", ValueKind::kCount, "Permutations of machines for the null distribution",
             "1000"}}}),
      .columns = joined_columns(
          {{{"comparison", "", "Halves of the machines, or of the time", kAlwaysShown},
            {"verdict", "", "stable, noisy, moved, too few machines, or one half is empty", kAlwaysShown},
            {"distance", "distance", "Manhattan distance between the halves", kAlwaysShown},
            {"distance_by_chance", "distance", "Mean distance of halves by random permutation of machines"},
            {"distance_p", "p", "Share of permutations at least as far apart"},
            {"noise", "distance", "Distance that sampling alone explains", kDetail},
            {"machines_needed", "count", "Machines needed for a stable profile", kAlwaysShown},
            {"times_longer", "times", "Or how many times longer to measure"},
            {"entropy_change", "bits", "Difference of the halves' entropies", kMinorDetail},
            {"entropy_change_by_chance", "bits", "Mean of that difference by random permutation of machines",
             kMinorDetail},
            {"entropy_change_p", "p", "Share of permutations with as large a difference", kMinorDetail},
            {"first_machines", "count", "Machines in the first half", kDetail},
            {"second_machines", "count", "Machines in the second half", kDetail}},
           estimate_columns({"entropy", "bits", "Entropy of the whole profile", kMinorDetail},
                            "entropy_margin_kind")}),
      .examples = {{"plimsoll stability --data DIR --since 1d", "of the last day"},
                   {"plimsoll stability --data DIR --where job=search --by function --tolerance 0.05",
                    "of one job, with a smaller tolerance"}},
      .answer = ask_profiles<parse_stability, stability>,
  };
}

View shared_view() {
  return {
      .name = "shared",
      .command = "shared",
      .summary = "Find code that is small in every job but large fleet-wide",
      .details =
          "Such code is too small to optimize for the owner of one job, but costs much over all jobs.\n",
      .parameters = joined(
          {selection_specs(),
           {by_spec("function", "The code: function, file, binary, ..."),
            {"across", ValueKind::kDimension, "Dimension to spread over: job, app, machine, ...", "job"},
            {.name = "part",
             .kind = ValueKind::kChoice,
             .help = "Count the code itself, or also its callees",
             .default_value = "self",
             .choices = {"self", "total"}},
            {"max_share", ValueKind::kShare,
             "Exclude code that takes significantly more than this share of one job", "5%"},
            limit_spec("20"),
            margins_spec()}}),
      .columns =
          joined_columns({{dimension_columns()},
                          part_columns("self", "Value of samples taken in the code itself"),
                          part_columns("total", "Value of samples taken in the code or in its callees"),
                          {{"spread_over", "count",
                            "Jobs (or values of the dimension --across) that run the code", kAlwaysShown},
                           {"largest_part", "share", "Share of the code's cost that its largest user has"},
                           {"largest_part_in", "", "Job with the largest part", kDetail},
                           {"highest_share", "share", "Highest share of one job's own cost"},
                           {"highest_share_in", "", "Job with the highest share", kDetail}}}),
      .examples = {{"plimsoll shared --data DIR", "functions"},
                   {"plimsoll shared --data DIR --by binary --max-share 20%", "libraries"},
                   {"plimsoll shared --data DIR --part total --where binary=libprotobuf.so.32",
                    "entry points of one library"}},
      .answer = ask_profiles<parse_shared, shared>,
  };
}

View flame_view() {
  return {
      .name = "flame",
      .command = "flame",
      .summary = "Merge all stacks into one tree, outermost function first (flame graph)",
      .parameters = joined(
          {selection_specs(),
           {{"min_share", ValueKind::kShare,
             "Cut nodes with a smaller share (default: what the form can show, 0.5% as text)", ""},
            limit_spec("", "Nodes at most, the largest first"),
            margins_spec(),
            {.name = "form",
             .kind = ValueKind::kChoice,
             .help = "JSON as a tree, or as lists by attribute, with each node's binary, source and kind",
             .default_value = "tree",
             .choices = {"tree", "columns"}}}}),
      .examples = {{"plimsoll flame --data DIR --where app=gzip", "a tree in the terminal"},
                   {"plimsoll flame --data DIR --html > flame.html", "a page to zoom and search in"},
                   {"plimsoll flame --data DIR --folded", "input of flamegraph.pl and other tools"}},
      .answer_kind = AnswerKind::kFlame,
      .answer = ask_profiles<parse_flame, flame>,
  };
}

View values_view() {
  return {
      .name = "values",
      .command = "values",
      .summary = "List what there is to choose from: events, dimensions, or the values of a dimension",
      .details =
          R"(Events are in the order of their samples. Values of machines and draws are those of profiles in the time range; others
are those of the blocks of the store that it touches.
)",
      .parameters = {{.name = "of",
                      .kind = ValueKind::kDimension,
                      .help = "event, dimension (with the keys of labels), or a dimension such as job",
                      .default_value = "dimension",
                      .is_positional = true},
                     {"match", ValueKind::kText, "List only values that contain this text", ""},
                     {"since", ValueKind::kTime, "Start of the time range: RFC 3339, or an age such as 1h",
                      ""},
                     {"until", ValueKind::kTime, "End of the time range: RFC 3339, or an age such as 1h", ""},
                     limit_spec("100")},
      .columns = {{"value", "", "As filters take it", kAlwaysShown},
                  {"unit", "", "Of an event: ns, bytes or count"},
                  {"meaning", "", "Of a dimension: its meaning"}},
      .examples = {{"plimsoll values --data DIR event", "events with samples"},
                   {"plimsoll values --data DIR", "the dimensions, and the keys of labels"},
                   {"plimsoll values --server ADDR function --match memcpy --since 1h",
                    "functions of the last hour"}},
      .answer = ask_profiles<parse_values, values>,
  };
}

std::vector<ParameterSpec> export_specs() {
  std::vector<ParameterSpec> specs = selection_specs();
  specs.front().is_repeatable = true;
  return specs;
}

// `write` gives the bytes of a file.
template <auto write>
Result<FileAnswer> exported(const ExportRequest& request, const Snapshot& snapshot) {
  auto bytes = write(request, snapshot);
  return bytes ? Result<FileAnswer>(FileAnswer{*std::move(bytes)}) : propagate(bytes);
}

View export_pprof_view() {
  return {
      .name = "export/pprof",
      .command = "",
      .taken_by = "export --pprof",
      .summary = "Write samples in pprof's format, gzipped; one sample type for each event",
      .parameters = export_specs(),
      .answer_kind = AnswerKind::kFile,
      .answer = ask_profiles<parse_export, exported<export_pprof>>,
  };
}

View export_gperftools_view() {
  return {
      .name = "export/gperftools",
      .command = "",
      .taken_by = "export --gperftools",
      .summary = "Write samples of one event as gperftools' symbolized CPU profile",
      .parameters = export_specs(),
      .answer_kind = AnswerKind::kFile,
      .answer = ask_profiles<parse_export, exported<export_gperftools>>,
  };
}

std::string tables_text() {
  std::string tables =
      "Tables, what a row of each is, and its columns (SELECT * FROM columns says what they mean):\n";
  for (const SqlTable& table : sql_tables()) {
    tables += fmt::format("  {}: {}\n    {}\n", table.name, table.row_is, fmt::join(table.columns, ", "));
  }
  return tables +
         R"(function, linkage_name, file, line and binary describe the leaf; value is in the event's unit, for the whole fleet.
 Comparisons of a column with constants (=, IN, <, >, LIKE, GLOB) make a statement fast.
)";
}

View sql_view() {
  return {
      .name = "sql",
      .command = "sql",
      .summary = "Answer a SELECT over samples, totals, events and machines, in SQLite's SQL",
      .details = tables_text(),
      .parameters = {{.name = "q",
                      .kind = ValueKind::kStatement,
                      .help = "The statement; read from standard input if it is missing",
                      .is_positional = true}},
      .examples =
          {{R"(plimsoll sql --data DIR "SELECT job, sum(value) FROM samples WHERE event = 'cycles' GROUP BY job")",
            "a sum by job"},
           {R"(plimsoll sql --data DIR --csv "SELECT function, sum(value) AS self FROM samples
                 WHERE event = 'cycles' AND app LIKE 'gz%' AND from_time >= '2026-11-21T06'
                 GROUP BY function ORDER BY self DESC LIMIT 10")",
            "hot functions of some programs"},
           {R"(plimsoll sql --data DIR "SELECT machine, event, sum(value), sum(lost) FROM totals GROUP BY 1, 2")",
            "lost samples by machine"}},
      .effort = Effort::kUnbounded,
      .answer_kind = AnswerKind::kSql,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        auto request = parse_sql(question.parameters, question.now_ns);
        if (!request) {
          return propagate(request);
        }
        request->limits = question.limits;
        return of_sound_rows(sources, store::all_times(), {}, [&](const Snapshot& snapshot) {
          return of_rolled_up_rows(
              question, store::all_times(), snapshot,
              as_answer(sql(*request, snapshot, [&sources] { return LiveFleet::load(sources.fleet()); })));
        });
      },
  };
}

}  // namespace

std::vector<View> profile_views() {
  return {top_view(),    callers_view(),      callees_view(),           diff_view(),
          series_view(), leaks_view(),        stability_view(),         shared_view(),
          flame_view(),  export_pprof_view(), export_gperftools_view(), sql_view(),
          values_view()};
}

}  // namespace plimsoll::query
