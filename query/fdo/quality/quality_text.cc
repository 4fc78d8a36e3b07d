#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/time.h"
#include "query/fdo/quality/quality.h"

namespace plimsoll::fdo {
namespace {

using nlohmann::ordered_json;

constexpr size_t kShownFunctions = 10;
constexpr double kSecondsPerDay = 86'400;

std::string_view expectation_of(Usefulness usefulness) {
  switch (usefulness) {
    case Usefulness::kNone:
      return "no gain can be expected, and a compiler may be misled";
    case Usefulness::kPoor:
      return "some gain is possible; verify it with plimsoll fdo verify";
    case Usefulness::kFair:
      return "a gain is likely, but less than a better profile would give";
    case Usefulness::kGood:
      break;
  }
  return "most of what profile-guided optimization can give";
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

void add_line(std::string_view name, const std::string& text, std::string& out) {
  out += fmt::format("  {:<22}{}\n", name, text);
}

std::string counted(int64_t number, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", number, number == 1 ? one : several);
}

std::string origin_of(const QualityReport& report) {
  std::string text = fmt::format("{:.0f} of {}, {}", report.samples, printable(report.event),
                                 counted(report.machines, "machine", "machines"));
  if (report.draws > 0) {
    text += ", " + counted(report.draws, "draw", "draws");
  }
  return text;
}

std::string basis_of(const QualityReport& report) {
  return report.is_of_branches ? fmt::format("branch records ({:.0f}; {} cannot be and were dropped)",
                                             report.branch_records, percent(report.bogus_share))
                               : "samples: time, not executions; no call targets";
}

std::string lines_of(const MatchedShares& lines) {
  std::string text = percent(lines.matched) + " of the binary's samples";
  for (const auto& [share, what] :
       {std::pair(lines.no_function, "without a function"),
        std::pair(lines.no_start_line, "without a start line"), std::pair(lines.no_line, "without a line")}) {
    if (share > 0) {
      text += fmt::format("; {} {}", percent(share), what);
    }
  }
  return text;
}

std::string halves_of(const QualityReport& report) {
  if (!report.halves) {
    return "unknown: samples of two machines are needed";
  }
  return fmt::format(
      "{}: distance {:.2f} between halves of the machines, {:.2f} by chance; entropy {:.2f} and {:.2f} bits",
      report.halves->differ() ? "no" : "yes", report.halves->distance, report.halves->distance_by_chance,
      report.halves->entropy, report.halves->other_entropy);
}

std::string reason_of(StaleReason reason) {
  return reason == StaleReason::kGone ? "gone" : "changed";
}

void add_older(const MergedBuild& build, std::string& out) {
  std::string text = printable(build.name);
  if (build.weight > 0) {
    text += fmt::format(": {:.0f} samples, {:.1f} days older, {} similar, each counts {:.2f}", build.samples,
                        build.age_s / kSecondsPerDay, percent(build.similarity), build.weight);
  }
  add_line(build.weight > 0 ? "with older build" : "without older build", text, out);
  if (build.samples <= 0 || build.has_other_basis) {
    return;
  }
  add_line("  carried over",
           fmt::format("{} of its counts; {} functions are stale", percent(build.carried_share),
                       build.stale.size()),
           out);
  for (size_t i = 0; i < build.stale.size() && i < kShownFunctions; ++i) {
    const StaleFunction& function = build.stale[i];
    out += fmt::format("    {:>7} {}  {}\n", percent(function.share), reason_of(function.reason),
                       printable(function.name));
  }
}

ordered_json older_json(const std::vector<MergedBuild>& older) {
  ordered_json list = ordered_json::array();
  for (const MergedBuild& build : older) {
    ordered_json stale = ordered_json::array();
    for (const StaleFunction& function : build.stale) {
      stale.push_back(
          {{"function", function.name}, {"share", function.share}, {"reason", reason_of(function.reason)}});
    }
    list.push_back({{"build", build.name},
                    {"samples", build.samples},
                    {"age_s", build.age_s},
                    {"similarity", build.similarity},
                    {"weight", build.weight},
                    {"carried_share", build.carried_share},
                    {"functions", build.functions},
                    {"stale_functions", stale}});
  }
  return list;
}

ordered_json functions_json(const std::vector<HotFunction>& functions) {
  ordered_json list = ordered_json::array();
  for (const HotFunction& function : functions) {
    list.push_back({{"function", function.name}, {"share", function.share}, {"samples", function.samples}});
  }
  return list;
}

}  // namespace

std::string to_text(const QualityReport& report) {
  std::string out =
      fmt::format("Quality of the profile of {}: {}\n", printable(report.binary), name_of(report.usefulness));
  add_line("expected usefulness", std::string(expectation_of(report.usefulness)), out);
  for (const std::string& reason : report.reasons) {
    add_line("why not better", printable(reason), out);
  }
  add_line("build IDs", printable(fmt::format("{}", fmt::join(report.build_ids, ", "))), out);
  add_line("samples", origin_of(report), out);
  add_line("time", fmt::format("{} to {}", format_time(report.from_ns), format_time(report.to_ns)), out);
  add_line("based on", basis_of(report), out);
  add_line("share of the processes",
           percent(report.share_of_process) + " of their samples are in this binary", out);
  if (report.lines) {
    add_line("matched to lines", lines_of(*report.lines), out);
  }
  add_line("in functions", percent(report.in_functions) + " of the samples are in code that was read", out);
  if (report.in_unknown_jumps > 0) {
    add_line(
        "unknown jumps",
        percent(report.in_unknown_jumps) + " of the samples are in functions with jumps to unknown places",
        out);
  }
  add_line("profile density", fmt::format("{:.2f} samples per byte of hot code", report.profile_density),
           out);
  add_line("samples per function",
           fmt::format("{:.1f}, of {} functions with samples", report.samples_per_function, report.functions),
           out);
  add_line("hot functions",
           fmt::format("{} have 90 % of the samples; {} of them have fewer than {:.0f}", report.hot.size(),
                       report.thin.size(), kMinSamples),
           out);
  add_line("stable", halves_of(report), out);
  for (size_t i = 0; i < report.hot.size() && i < kShownFunctions; ++i) {
    const HotFunction& function = report.hot[i];
    out += fmt::format("    {:>7} {:>8.0f} samples  {}\n", percent(function.share), function.samples,
                       function.name.empty() ? "[no function]" : printable(function.name));
  }
  for (const MergedBuild& build : report.older) {
    add_older(build, out);
  }
  for (const std::string& note : report.notes) {
    add_line("note", printable(note), out);
  }
  return out;
}

std::string to_json(const QualityReport& report) {
  ordered_json json = {
      {"binary", report.binary},
      {"build_ids", report.build_ids},
      {"usefulness", name_of(report.usefulness)},
      {"expectation", expectation_of(report.usefulness)},
      {"reasons", report.reasons},
      {"event", report.event},
      {"samples", report.samples},
      {"machines", report.machines},
      {"draws", report.draws},
      {"from", format_time(report.from_ns)},
      {"to", format_time(report.to_ns)},
      {"basis", report.is_of_branches ? "branch records" : "samples"},
      {"branch_records", report.branch_records},
      {"bogus_share", report.bogus_share},
      {"share_of_process", report.share_of_process},
      {"in_functions", report.in_functions},
      {"in_unknown_jumps", report.in_unknown_jumps},
      {"profile_density", report.profile_density},
      {"samples_per_function", report.samples_per_function},
      {"functions", report.functions},
      {"hot_functions", functions_json(report.hot)},
      {"thin_functions", functions_json(report.thin)},
  };
  if (report.lines) {
    json["lines"] = {{"matched_share", report.lines->matched},
                     {"no_function_share", report.lines->no_function},
                     {"no_start_line_share", report.lines->no_start_line},
                     {"no_line_share", report.lines->no_line}};
  } else {
    json["lines"] = nullptr;
  }
  if (report.halves) {
    json["halves"] = {{"distance", report.halves->distance},
                      {"distance_by_chance", report.halves->distance_by_chance},
                      {"entropy", report.halves->entropy},
                      {"other_entropy", report.halves->other_entropy},
                      {"differ", report.halves->differ()}};
  } else {
    json["halves"] = nullptr;
  }
  if (report.switch_heavy) {
    json["switch_heavy"] = {{"function", report.switch_heavy->function},
                            {"share", report.switch_heavy->share},
                            {"targets", report.switch_heavy->targets}};
  } else {
    json["switch_heavy"] = nullptr;
  }
  json["older_builds"] = older_json(report.older);
  json["notes"] = report.notes;
  return visible_json(json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace plimsoll::fdo
