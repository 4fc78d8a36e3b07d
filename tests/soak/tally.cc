#include "tests/soak/tally.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace plimsoll::soak {

bool is_permitted(unsigned status) {
  constexpr std::array kServerErrors{501U, 503U, 505U, 507U};
  return status < 500 || std::ranges::find(kServerErrors, status) != kServerErrors.end();
}

void Tally::count(std::string_view kind, unsigned status, std::string_view answer) {
  const std::lock_guard lock(mutex_);
  auto known = kinds_.find(kind);
  if (known == kinds_.end()) {
    known = kinds_.emplace(kind, 0).first;
  }
  ++known->second;
  ++statuses_[status];
  if (!is_permitted(status)) {
    forbidden_.try_emplace(fmt::format("{} to {}", status, kind), answer.substr(0, 500));
  }
}

void Tally::note_time(double seconds, std::string_view request) {
  constexpr size_t kKept = 5;
  constexpr size_t kShownBytes = 300;
  const std::lock_guard lock(mutex_);
  if (slowest_.size() < kKept || seconds > slowest_.begin()->first) {
    slowest_.emplace(seconds, request.substr(0, kShownBytes));
  }
  if (slowest_.size() > kKept) {
    slowest_.erase(slowest_.begin());
  }
}

std::vector<std::string> Tally::slowest() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (auto slow = slowest_.rbegin(); slow != slowest_.rend(); ++slow) {
    lines.push_back(fmt::format("{:.1f} s {}", slow->first, slow->second));
  }
  return lines;
}

uint64_t Tally::requests() const {
  const std::lock_guard lock(mutex_);
  uint64_t all = 0;
  for (const auto& [kind, count] : kinds_) {
    all += count;
  }
  return all;
}

uint64_t Tally::with_status(unsigned status) const {
  const std::lock_guard lock(mutex_);
  const auto known = statuses_.find(status);
  return known == statuses_.end() ? 0 : known->second;
}

std::string Tally::text() const {
  const uint64_t all = requests();
  const std::lock_guard lock(mutex_);
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : kinds_) {
    kinds.push_back(fmt::format("{} {}", kind, count));
  }
  std::map<std::string, uint64_t> classes;  // of server errors each
  for (const auto& [status, count] : statuses_) {
    classes[status == kNoAnswer ? "unanswered"
            : status >= 500     ? fmt::format("{}", status)
                                : fmt::format("{}xx", status / 100)] += count;
  }
  std::vector<std::string> answers;
  for (const auto& [name, count] : classes) {
    answers.push_back(fmt::format("{} {}", name, count));
  }
  return fmt::format("{} requests ({}); {}", all, fmt::join(kinds, ", "), fmt::join(answers, ", "));
}

std::vector<std::string> Tally::forbidden() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [what, answer] : forbidden_) {
    lines.push_back(fmt::format("{}: {}", what, answer));
  }
  return lines;
}

}  // namespace plimsoll::soak
