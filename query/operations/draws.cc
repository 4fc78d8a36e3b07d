#include "query/operations/draws.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/suggest.h"
#include "base/time.h"
#include "query/operations/application_kinds.h"
#include "query/operations/collection.h"
#include "store/draws/draw_outcome.h"
#include "traces/bursts/burst_config.h"

namespace plimsoll::query {
namespace {

using store::DrawOutcome;

constexpr size_t kMaxDraws = 100'000;

// How often what became of a drawn machine; answers of all kinds together, and the kinds of them besides.
class Outcomes {
 public:
  void add(DrawOutcome outcome) {
    ++counts_[static_cast<size_t>(store::has_answer(outcome) ? DrawOutcome::kAnswered : outcome)];
    counts_[static_cast<size_t>(outcome)] += store::has_answer(outcome) && outcome != DrawOutcome::kAnswered;
  }

  static void add_columns(std::vector<TableColumn>& columns) {
    for (size_t outcome = 0; outcome < store::kDrawOutcomes; ++outcome) {
      columns.push_back({std::string(store::name_of(static_cast<DrawOutcome>(outcome))), "count"});
    }
  }
  void add_values(std::vector<Value>& row) const { row.insert(row.end(), counts_.begin(), counts_.end()); }

 private:
  std::array<int64_t, store::kDrawOutcomes> counts_{};
};

Value time_or_absent(int64_t wall_ns) {
  return wall_ns > 0 ? Value(format_time(wall_ns / kNsPerSecond * kNsPerSecond)) : Value();
}

double expected(const store::Draw& draw) {
  double sum = 0;
  for (const store::DrawStratum& stratum : draw.strata) {
    sum += stratum.expected;
  }
  return sum;
}

int64_t drawn(const store::Draw& draw) {
  int64_t sum = 0;
  for (const store::DrawStratum& stratum : draw.strata) {
    sum += stratum.drawn;
  }
  return sum;
}

void cover(const store::Draw& draw, Coverage& coverage) {
  const int64_t end_ns = draw.interval_start_ns + draw.interval_ns;
  coverage.from_ns =
      coverage.to_ns == 0 ? draw.interval_start_ns : std::min(coverage.from_ns, draw.interval_start_ns);
  coverage.to_ns = std::max(coverage.to_ns, end_ns);
  coverage.machines_drawn = std::max(coverage.machines_drawn, drawn(draw));
  coverage.machines_live = std::max(coverage.machines_live, draw.machines());
}

// "7,8"; empty: none.
std::string burst_config_of(const wire::Assignment& collects) {
  const auto config = traces::BurstConfig::of_bits(collects.bursts().config_bits());
  return collects.has_bursts() && config ? config->text() : std::string();
}

Table list_draws(const DrawsRequest& request, const KnownDraws& known) {
  Table table;
  table.notes = stop_notes(known.stops);
  table.columns = {{"draw", ""},          {"made", ""},          {"window_start", ""},
                   {"window", "ns"},      {"events", ""},        {"bursts", ""},
                   {"machines", "count"}, {"expected", "count"}, {"drawn", "count"}};
  Outcomes::add_columns(table.columns);
  for (const auto& [draw, machines] : known.draws) {
    Outcomes outcomes;
    for (const store::DrawnMachine& machine : machines) {
      outcomes.add(store::outcome_of(draw, machine, request.now_ns));
    }
    auto& row = table.rows.emplace_back(
        std::vector<Value>{draw.id, time_or_absent(draw.made_ns), time_or_absent(draw.window_start_ns),
                           static_cast<double>(draw.window_ns), store::event_set_of(draw.collects),
                           burst_config_of(draw.collects), draw.machines(), expected(draw), drawn(draw)});
    outcomes.add_values(row);
    cover(draw, table.coverage);
  }
  if (table.rows.empty()) {
    table.notes.emplace_back("no results: no draws; set draw.interval in the server's configuration");
  } else if (known.count > static_cast<int64_t>(known.draws.size())) {
    table.notes.push_back(fmt::format("the newest {} of {} draws", known.draws.size(), known.count));
  }
  return table;
}

// Empty where none are asked for.
std::string application_kinds(const wire::Assignment& collects) {
  return collects.application_kinds().empty()
             ? std::string()
             : fmt::format("; of applications {}", fmt::join(collects.application_kinds(), ", "));
}

// Empty where none are asked for.
std::string bursts_text(const wire::Assignment& collects) {
  if (!collects.has_bursts()) {
    return {};
  }
  const std::string events = collects.bursts().events().empty()
                                 ? std::string()
                                 : fmt::format(" with {}", fmt::join(collects.bursts().events(), " and "));
  return fmt::format("; bursts {} for {}{}", burst_config_of(collects),
                     format_duration(collects.bursts().duration_ns()), events);
}

void describe(const store::Draw& draw, bool is_verified, Table& table) {
  const auto end = [](int64_t start_ns, int64_t length_ns) { return format_time(start_ns + length_ns); };
  table.notes.push_back(fmt::format("policy: {}", draw.policy));
  table.notes.push_back(fmt::format(
      "for {} to {}, profiled from {} to {}; collects {}{}{}", format_time(draw.interval_start_ns),
      end(draw.interval_start_ns, draw.interval_ns), format_time(draw.window_start_ns),
      end(draw.window_start_ns, draw.window_ns), store::event_set_of(draw.collects),
      application_kinds(draw.collects), bursts_text(draw.collects)));
  table.notes.push_back(fmt::format("made {} from {} machines with seed {}", format_time(draw.made_ns),
                                    draw.machines(), draw.seed));
  if (is_verified) {
    table.notes.emplace_back(
        "verified: with this seed and the fleet at that time, the same machines are drawn with the same "
        "probabilities");
  }
  cover(draw, table.coverage);
}

void describe_kinds(const store::DrawWithMachines& explained, Table& table) {
  for (const KindCoverage& coverage : kind_coverage(explained.machines)) {
    table.notes.push_back("application profiles, " + text_of(coverage));
  }
}

Table draw_by_stratum(const DrawsRequest& request, const KnownDraws& known) {
  const store::DrawWithMachines& explained = known.draws.front();
  Table table;
  describe(explained.draw, known.is_verified, table);
  describe_kinds(explained, table);
  table.columns = {{"stratum", ""}, {"machines", "count"}, {"expected", "count"}, {"drawn", "count"}};
  Outcomes::add_columns(table.columns);
  std::vector<Outcomes> outcomes(explained.draw.strata.size());
  for (const store::DrawnMachine& machine : explained.machines) {
    outcomes[machine.stratum].add(store::outcome_of(explained.draw, machine, request.now_ns));
  }
  for (size_t number = 0; number < std::min(outcomes.size(), request.limit); ++number) {
    const store::DrawStratum& stratum = explained.draw.strata[number];
    auto& row = table.rows.emplace_back(
        std::vector<Value>{stratum.name, stratum.machines, stratum.expected, stratum.drawn});
    outcomes[number].add_values(row);
  }
  if (outcomes.size() > request.limit) {
    table.notes.push_back(fmt::format("showing {} of {} strata", request.limit, outcomes.size()));
  }
  return table;
}

Table draw_by_machine(const DrawsRequest& request, const KnownDraws& known) {
  const store::DrawWithMachines& explained = known.draws.front();
  Table table;
  describe(explained.draw, known.is_verified, table);
  describe_kinds(explained, table);
  table.columns = {{"machine", ""},      {"stratum", ""},     {"inclusion_probability", "share"},
                   {"window_start", ""}, {"outcome", ""},     {"detail", ""},
                   {"assigned_at", ""},  {"answered_at", ""}, {"observed", "ns"}};
  const size_t shown = std::min(explained.machines.size(), request.limit);
  for (const store::DrawnMachine& machine : std::span(explained.machines).first(shown)) {
    const DrawOutcome outcome = store::outcome_of(explained.draw, machine, request.now_ns);
    table.rows.push_back({machine.machine_id, explained.draw.strata[machine.stratum].name,
                          machine.inclusion_probability, time_or_absent(machine.window_start_ns),
                          std::string(store::name_of(outcome)), machine.detail,
                          time_or_absent(machine.told_ns), time_or_absent(machine.answered_ns),
                          static_cast<double>(machine.observed_ns)});
  }
  if (shown < explained.machines.size()) {
    table.notes.push_back(fmt::format("showing {} of {} machines", shown, explained.machines.size()));
  }
  if (explained.machines.empty() && drawn(explained.draw) > 0) {
    table.notes.emplace_back("the machines of this draw are past retention");
  }
  return table;
}

std::unexpected<Error> no_such_draw(const std::string& id,
                                    const std::vector<store::DrawWithMachines>& newest) {
  std::vector<std::string_view> ids;
  for (const store::DrawWithMachines& draw : newest) {
    ids.push_back(draw.draw.id);
  }
  const auto nearest = nearest_word(id, ids);
  return with_hint(with_field(fail(ErrorCode::kNotFound, "no such draw: \"{}\"", id), "draw"),
                   nearest ? fmt::format("did you mean {}?", *nearest) : "plimsoll draws lists them");
}

Status verify(const store::DrawWithMachines& draw, const store::Fleet& fleet,
              const KnownDraws::DrawAgain& again) {
  if (!again) {
    return fail(ErrorCode::kUnsupported, "draws cannot be verified here");
  }
  return again(draw, [&fleet](int64_t time_ns) -> Result<store::PastFleet> {
    auto kept = fleet.at(time_ns);
    if (!kept) {
      return propagate(kept);
    }
    std::optional<store::PastFleet>& past = *kept;
    return past ? Result<store::PastFleet>(std::move(*past))
                : fail(ErrorCode::kNotFound, "no history of the fleet is kept");
  });
}

}  // namespace

Result<DrawsRequest> parse_draws(const Parameters& parameters, int64_t now_ns) {
  DrawsRequest request;
  request.now_ns = now_ns;
  bool has_by = false;
  const Parameter by{"by", [&](const std::string& text) -> Status {
                       if (text != "machine" && text != "stratum") {
                         return invalid_parameter("by", text, "machine or stratum");
                       }
                       has_by = true;
                       request.by_stratum = text == "stratum";
                       return {};
                     }};
  const std::array all{text_parameter("draw", request.id), by, flag_parameter("verify", request.verify),
                       count_parameter("limit", kMaxDraws, request.limit)};
  if (auto read = read_parameters(parameters, all); !read) {
    return propagate(read);
  }
  if (has_by && request.id.empty()) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "by requires a draw"), "by"),
                     "give a draw to see its machines or strata");
  }
  if (request.verify && request.id.empty()) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "verify requires a draw"), "verify"),
                     "give one: plimsoll draws lists them");
  }
  return request;
}

Result<KnownDraws> KnownDraws::load(const DrawsRequest& request, const store::Fleet& fleet,
                                    const DrawAgain& again) {
  KnownDraws known;
  const auto count = fleet.count_draws();
  auto stops = fleet.stops();
  auto newest = fleet.newest_draws(request.limit);
  auto one = request.id.empty() ? Result<std::optional<store::DrawWithMachines>>() : fleet.draw(request.id);
  if (!count || !stops || !newest || !one) {
    return !count    ? propagate(count)
           : !stops  ? propagate(stops)
           : !newest ? propagate(newest)
                     : propagate(one);
  }
  known.count = *count;
  known.stops = std::move(*stops);
  if (request.id.empty()) {
    known.draws = std::move(*newest);
    return known;
  }
  std::optional<store::DrawWithMachines>& found = *one;
  if (!found) {
    return no_such_draw(request.id, *newest);
  }
  known.draws.push_back(std::move(*found));
  if (auto verified = request.verify ? verify(known.draws.front(), fleet, again) : Status(); !verified) {
    return propagate(verified);
  }
  known.is_verified = request.verify;
  return known;
}

Table draws(const DrawsRequest& request, const KnownDraws& known) {
  if (request.id.empty()) {
    return list_draws(request, known);
  }
  return request.by_stratum ? draw_by_stratum(request, known) : draw_by_machine(request, known);
}

}  // namespace plimsoll::query
