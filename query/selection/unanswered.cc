#include "query/selection/unanswered.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "store/draws/draw_outcome.h"

namespace plimsoll::query {
namespace {

using store::DrawOutcome;

// After so many no older draw is read: some 50 ms of reading.
constexpr size_t kMaxMachinesRead = 20'000;

// A reason without what differs between machines and draws, such as numbers behind a colon; with the key in parentheses that it
// ends with, which is the setting to change.
std::string reason_of(std::string_view detail) {
  const size_t key = detail.ends_with(')') ? detail.rfind(" (") : std::string_view::npos;
  const std::string_view what = detail.substr(0, std::min(detail.find(':'), key));
  return std::string(what) + std::string(key == std::string_view::npos ? "" : detail.substr(key));
}

std::string cause_of(DrawOutcome outcome, std::string_view detail) {
  const std::string reason = reason_of(detail);
  const auto with_reason = [&reason](std::string_view what) {
    return reason.empty() ? std::string(what) : fmt::format("{}: {}", what, reason);
  };
  switch (outcome) {
    case DrawOutcome::kPending:
      return "may still answer";
    case DrawOutcome::kWithheld:
      return with_reason("were withheld");
    case DrawOutcome::kUnreached:
      return "were offline until their window had ended";
    case DrawOutcome::kRefused:
      return with_reason("refused by their own limits");
    case DrawOutcome::kFailed:
      return with_reason("failed");
    case DrawOutcome::kVanished:
      return "went offline before they answered";
    case DrawOutcome::kLost:
      return "are online, and their profile did not arrive";
    case DrawOutcome::kAnswered:
    case DrawOutcome::kPartial:
    case DrawOutcome::kLate:
      break;
  }
  return {};
}

}  // namespace

CommonestCause commonest_cause(std::span<const store::DrawWithMachines> draws,
                               const std::set<DrawnPart>& parts, int64_t now_ns) {
  std::map<std::string, size_t> causes;
  CommonestCause commonest;
  for (const auto& [draw, machines] : draws) {
    std::vector<bool> has_answer(draw.strata.size());
    for (const store::DrawnMachine& machine : machines) {
      has_answer[machine.stratum] = has_answer[machine.stratum] || machine.answered_ns > 0;
    }
    for (const store::DrawnMachine& machine : machines) {
      const DrawOutcome outcome = store::outcome_of(draw, machine, now_ns);
      const bool counts =
          !has_answer[machine.stratum] || parts.contains({draw.id, draw.strata[machine.stratum].name});
      if (counts && !store::has_answer(outcome)) {
        ++commonest.unanswered;
        ++causes[cause_of(outcome, machine.detail)];
      }
    }
  }
  // Of several, the first by name, so that the same question has the same note.
  for (const auto& [cause, count] : causes) {
    if (count > commonest.machines) {
      commonest.text = cause;
      commonest.machines = count;
    }
  }
  return commonest;
}

Result<CommonestCause> read_commonest_cause(const store::Fleet& fleet, const std::set<DrawnPart>& parts,
                                            int64_t now_ns) {
  std::set<std::string_view> ids;
  for (const DrawnPart& part : parts) {
    ids.insert(part.draw);
  }
  std::vector<store::DrawWithMachines> draws;
  size_t machines = 0;
  for (const std::string_view id : std::views::reverse(ids)) {  // which end with their time: the newest first
    auto draw = fleet.draw(id);
    if (!draw) {
      return propagate(draw);
    }
    std::optional<store::DrawWithMachines>& found = *draw;
    if (found) {
      machines += found->machines.size();
      draws.push_back(std::move(*found));
    }
    if (machines >= kMaxMachinesRead) {
      break;
    }
  }
  return commonest_cause(draws, parts, now_ns);
}

std::string unanswered_text(size_t unanswered, size_t drawn, const CommonestCause& cause) {
  std::string why;
  if (cause.machines > 0) {
    const bool is_only = cause.machines == cause.unanswered;
    const bool is_majority = cause.machines * 2 > cause.unanswered;
    // Fewer are known than did not answer where draws are past retention, or too many to read.
    const std::string known =
        cause.unanswered < unanswered ? fmt::format(" of {} known", cause.unanswered) : std::string();
    why = fmt::format(": {} ({}{}) {}",
                      is_only       ? "all"
                      : is_majority ? "most"
                                    : "the largest group",
                      cause.machines, known, cause.text);
  }
  return fmt::format(
      "{} of {} drawn machines sent no profile{} (see plimsoll draws); other machines of their "
      "strata are weighted up for them",
      unanswered, drawn, why);
}

}  // namespace plimsoll::query
