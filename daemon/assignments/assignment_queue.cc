#include "daemon/assignments/assignment_queue.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/printable.h"
#include "base/time.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxDetailBytes = 1000;

bool same(const wire::Assignment& a, const wire::Assignment& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

}  // namespace

int64_t end_of(const wire::Assignment& assignment) {
  return assignment.continuous() ? INT64_MAX : assignment.start_ns() + assignment.duration_ns();
}

AssignmentQueue::Entry* AssignmentQueue::find(std::string_view id) {
  const auto found = std::ranges::find(
      entries_, id, [](const Entry& entry) { return std::string_view(entry.assignment.id()); });
  return found == entries_.end() ? nullptr : &*found;
}

void AssignmentQueue::replace(std::vector<WantedAssignment> wanted) {
  std::vector<Entry> entries;
  for (WantedAssignment& one : wanted) {
    Entry entry{.assignment = std::move(one.assignment),
                .state = one.refusal.empty() ? wire::WAITING : wire::REFUSED,
                .detail = std::move(one.refusal)};
    if (const Entry* known = find(entry.assignment.id());
        known != nullptr && same(known->assignment, entry.assignment)) {
      entry = *known;
    }
    entries.push_back(std::move(entry));
  }
  entries_ = std::move(entries);
}

void AssignmentQueue::fail_open(const std::string& why) {
  for (Entry& entry : entries_) {
    if (entry.is_open()) {
      entry.state = wire::FAILED;
      entry.detail = why;
    }
  }
}

AssignmentQueue::Next AssignmentQueue::next(int64_t server_now_ns, int64_t ahead_ns) {
  for (Entry& entry : entries_) {
    if (entry.is_open() && end_of(entry.assignment) <= server_now_ns) {
      entry.state = wire::FAILED;
      entry.detail = fmt::format("its window ended at {}", format_time(end_of(entry.assignment)));
    }
  }
  Next next;
  const Entry* first = nullptr;
  for (const Entry& entry : entries_) {
    if (!entry.is_open()) {
      continue;
    }
    const int64_t due_ns = entry.assignment.start_ns() - ahead_ns;
    if (!entry.assignment.continuous() && due_ns > server_now_ns) {
      next.due_ns = std::min(next.due_ns, due_ns);
      continue;
    }
    const bool is_first = first == nullptr ||
                          (first->assignment.continuous() && !entry.assignment.continuous()) ||
                          (first->assignment.continuous() == entry.assignment.continuous() &&
                           entry.assignment.start_ns() < first->assignment.start_ns());
    first = is_first ? &entry : first;
  }
  if (first != nullptr) {
    next.assignment = first->assignment;
  }
  return next;
}

bool AssignmentQueue::is_wanted(const wire::Assignment& assignment) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.is_open() && same(entry.assignment, assignment); });
}

bool AssignmentQueue::is_open(std::string_view id) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.is_open() && entry.assignment.id() == id; });
}

void AssignmentQueue::set_state(std::string_view id, wire::AssignmentState state, const std::string& detail) {
  if (Entry* entry = find(id)) {
    entry->state = state;
    // It may name paths, which hold any byte; the server takes a bounded text.
    entry->detail = printable(std::string_view(detail).substr(0, kMaxDetailBytes));
  }
}

std::vector<wire::AssignmentReport> AssignmentQueue::reports() const {
  std::vector<wire::AssignmentReport> reports;
  for (const Entry& entry : entries_) {
    wire::AssignmentReport& report = reports.emplace_back();
    report.set_id(entry.assignment.id());
    report.set_state(entry.state);
    report.set_detail(entry.detail);
  }
  return reports;
}

}  // namespace plimsoll
