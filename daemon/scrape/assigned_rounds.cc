#include "daemon/scrape/assigned_rounds.h"

#include <algorithm>
#include <utility>

namespace plimsoll::scrape {

const AssignedRounds::Entry* AssignedRounds::find(std::string_view id) const {
  const auto found = std::ranges::find(
      entries_, id, [](const Entry& entry) { return std::string_view(entry.assignment.id()); });
  return found == entries_.end() ? nullptr : &*found;
}

void AssignedRounds::replace(const std::vector<wire::Assignment>& assignments, const std::string& refusal,
                             int64_t now_ns) {
  std::vector<Entry> entries;
  continuous_kinds_.clear();
  for (const wire::Assignment& assignment : assignments) {
    if (assignment.application_kinds().empty()) {
      continue;
    }
    if (assignment.continuous()) {
      continuous_kinds_.assign(assignment.application_kinds().begin(), assignment.application_kinds().end());
      continue;
    }
    const Entry* known = find(assignment.id());
    entries.push_back(known != nullptr ? *known
                                       : Entry{.assignment = assignment,
                                               .end_ns = assignment.start_ns() + assignment.duration_ns(),
                                               .state = refusal.empty() ? State::kWaiting : State::kOver,
                                               .result = refusal});
  }
  for (Entry& before : entries_) {
    const bool is_named = std::ranges::any_of(
        entries, [&](const Entry& entry) { return entry.assignment.id() == before.assignment.id(); });
    if (!is_named && (before.state == State::kOpen || before.state == State::kEnding)) {
      before.end_ns = std::min(before.end_ns, now_ns);
      entries.push_back(std::move(before));
    }
  }
  entries_ = std::move(entries);
}

AssignedRounds::Next AssignedRounds::next(int64_t now_ns) {
  Next next;
  for (Entry& entry : entries_) {
    if (entry.state == State::kWaiting && entry.end_ns <= now_ns) {
      entry.state = State::kOver;
      entry.result = "application profiles: the window was over before it could begin";
    }
    if (entry.state != State::kWaiting && entry.state != State::kOpen) {
      continue;
    }
    const bool begins = entry.state == State::kWaiting;
    const int64_t due_ns = begins ? entry.assignment.start_ns() : entry.end_ns;
    if (due_ns > now_ns) {
      next.due_ns = std::min(next.due_ns, due_ns);
      continue;
    }
    entry.state = begins ? State::kOpen : State::kEnding;
    return {begins ? Step::kBegin : Step::kEnd, entry.assignment, now_ns};
  }
  return next;
}

std::vector<std::string> AssignedRounds::continuous_kinds() const {
  return continuous_kinds_;
}

void AssignedRounds::set_result(std::string_view id, std::string result,
                                std::vector<wire::ApplicationKindReport> reports) {
  const auto found = std::ranges::find(
      entries_, id, [](const Entry& entry) { return std::string_view(entry.assignment.id()); });
  if (found != entries_.end()) {
    found->state = State::kOver;
    found->result = std::move(result);
    found->kinds = std::move(reports);
  }
}

std::vector<wire::ApplicationKindReport> AssignedRounds::kinds(std::string_view id) const {
  const Entry* const entry = find(id);
  return entry != nullptr ? entry->kinds : std::vector<wire::ApplicationKindReport>();
}

std::optional<std::string> AssignedRounds::result(std::string_view id) const {
  const Entry* const entry = find(id);
  return entry != nullptr && entry->state == State::kOver ? std::optional(entry->result) : std::nullopt;
}

bool AssignedRounds::is_under_way(std::string_view id) const {
  const Entry* const entry = find(id);
  return entry != nullptr && entry->state != State::kOver;
}

}  // namespace plimsoll::scrape
