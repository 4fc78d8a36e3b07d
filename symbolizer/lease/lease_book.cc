#include "symbolizer/lease/lease_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plimsoll::symbolizer {

bool LeaseBook::has_asked_within(int64_t time_ns, int64_t now_ns) const {
  return std::ranges::any_of(
      workers_, [&](const auto& entry) { return now_ns - entry.second.newest_request_ns < time_ns; });
}

bool LeaseBook::has_workers(int64_t now_ns) const {
  return has_asked_within(limits_.worker_ttl_ns, now_ns);
}

bool LeaseBook::repeat_offer(std::string_view build_id, int64_t now_ns) {
  const auto found = items_.find(build_id);
  if (found == items_.end()) {
    return false;
  }
  found->second.offered_ns = now_ns;
  found->second.place = next_place_++;
  return true;
}

bool LeaseBook::offer(std::string_view build_id, std::vector<LeasedFile> files, int64_t now_ns) {
  if (repeat_offer(build_id, now_ns)) {
    return true;
  }
  if (items_.size() >= limits_.max_offers) {
    return false;
  }
  Item item{
      .files = std::move(files), .place = next_place_++, .first_offered_ns = now_ns, .offered_ns = now_ns};
  items_.emplace(build_id, std::move(item));
  return true;
}

bool LeaseBook::begin_here(std::string_view build_id, int64_t now_ns) {
  const auto found = items_.find(build_id);
  if (found == items_.end()) {
    return true;
  }
  Item& item = found->second;
  expire(item, now_ns);
  const bool may_be_taken = item.state == State::kOffered && may_be_lent(item, now_ns) &&
                            now_ns - item.first_offered_ns < limits_.grace_ns &&
                            has_asked_within(limits_.grace_ns, now_ns);
  if (item.state == State::kLeased || may_be_taken) {
    return false;
  }
  item.state = State::kHere;
  return true;
}

void LeaseBook::end_here(std::string_view build_id) {
  if (const auto found = items_.find(build_id); found != items_.end()) {
    items_.erase(found);
  }
}

bool LeaseBook::is_delivered(std::string_view build_id) const {
  const auto found = items_.find(build_id);
  return found != items_.end() && found->second.state == State::kDelivered;
}

bool LeaseBook::is_here(std::string_view build_id) const {
  const auto found = items_.find(build_id);
  return found != items_.end() && found->second.state == State::kHere;
}

bool LeaseBook::may_be_lent(const Item& item, int64_t now_ns) const {
  return item.failures < limits_.max_failures_of_build && item.leases.size() < limits_.max_leases_of_build &&
         (item.leases.empty() || now_ns - item.first_leased_ns < limits_.max_lent_ns);
}

void LeaseBook::put_back(Item& item, int64_t now_ns) const {
  item.state = may_be_lent(item, now_ns) ? State::kOffered : State::kLeft;
}

void LeaseBook::expire(Item& item, int64_t now_ns) {
  if (item.state != State::kLeased || item.lease_ends_ns > now_ns) {
    return;
  }
  if (const auto worker = workers_.find(item.leases.back().second); worker != workers_.end()) {
    ++worker->second.expired;
  }
  put_back(item, now_ns);
}

void LeaseBook::expire(int64_t now_ns) {
  for (auto& [build_id, item] : items_) {
    expire(item, now_ns);
  }
  std::erase_if(items_, [&](const auto& entry) {
    const Item& item = entry.second;
    const bool is_idle = item.state == State::kOffered || item.state == State::kLeft;
    return (is_idle && now_ns - item.offered_ns >= limits_.offer_ttl_ns) ||
           (item.state == State::kDelivered && now_ns - item.delivered_ns >= limits_.offer_ttl_ns);
  });
}

size_t LeaseBook::leases_of(std::string_view worker) const {
  return static_cast<size_t>(std::ranges::count_if(items_, [&](const auto& entry) {
    return entry.second.state == State::kLeased && entry.second.leases.back().second == worker;
  }));
}

// Null: there are too many.
WorkerAccount* LeaseBook::account_of(std::string_view worker, int64_t now_ns) {
  auto found = workers_.find(worker);
  if (found == workers_.end()) {
    std::erase_if(workers_, [&](const auto& entry) {
      return now_ns - entry.second.newest_request_ns >= limits_.worker_ttl_ns;
    });
    if (workers_.size() >= limits_.max_workers) {
      return nullptr;
    }
    found = workers_.emplace(worker, WorkerAccount{.name = std::string(worker)}).first;
  }
  found->second.newest_request_ns = now_ns;
  return &found->second;
}

Result<std::vector<Lease>> LeaseBook::lease(std::string_view worker, size_t max_builds, int64_t now_ns) {
  expire(now_ns);
  if (account_of(worker, now_ns) == nullptr) {
    return fail(ErrorCode::kUnavailable, "{} symbolizer workers are known, the limit", limits_.max_workers);
  }
  const auto all_leases = static_cast<size_t>(
      std::ranges::count_if(items_, [](const auto& entry) { return entry.second.state == State::kLeased; }));
  const size_t of_worker = leases_of(worker);
  const size_t room =
      std::min({max_builds, limits_.max_leases - std::min(all_leases, limits_.max_leases),
                limits_.max_leases_of_worker - std::min(of_worker, limits_.max_leases_of_worker)});
  std::vector<Items::iterator> lendable;
  for (auto item = items_.begin(); item != items_.end(); ++item) {
    if (item->second.state == State::kOffered && may_be_lent(item->second, now_ns)) {
      lendable.push_back(item);
    }
  }
  std::ranges::sort(lendable, {}, [](const Items::iterator& item) { return item->second.place; });
  lendable.resize(std::min(lendable.size(), room));
  std::vector<Lease> leases;
  for (const Items::iterator& entry : lendable) {
    Item& item = entry->second;
    item.state = State::kLeased;
    item.first_leased_ns = item.leases.empty() ? now_ns : item.first_leased_ns;
    item.lease_ends_ns = now_ns + limits_.lease_ns;
    item.leases.emplace_back(fmt::format("{}-{}", id_prefix_, next_lease_++), worker);
    leases.push_back({item.leases.back().first, entry->first, item.files});
  }
  return leases;
}

bool LeaseBook::renew(const LeaseClaim& claim, int64_t now_ns) {
  expire(now_ns);
  std::ignore = account_of(claim.worker, now_ns);
  const auto found = items_.find(claim.build_id);
  if (found == items_.end()) {
    return false;
  }
  Item& item = found->second;
  const bool has_it = item.state == State::kLeased && item.leases.back().first == claim.id &&
                      item.leases.back().second == claim.worker;
  // A worker that only ever renews must not keep a build without names.
  if (!has_it || now_ns - item.first_leased_ns >= limits_.max_lent_ns) {
    return false;
  }
  item.lease_ends_ns = now_ns + limits_.lease_ns;
  return true;
}

LeaseBook::Item* LeaseBook::wanted_item(const LeaseClaim& claim, int64_t now_ns, LeaseAnswer& answer) {
  expire(now_ns);
  const auto found = items_.find(claim.build_id);
  answer = LeaseAnswer::kNotNeeded;
  if (found == items_.end() || found->second.state == State::kDelivered ||
      found->second.state == State::kHere) {
    return nullptr;
  }
  // Whether it is over does not matter: what is right is right.
  const bool had_it = std::ranges::any_of(found->second.leases, [&](const auto& lease) {
    return lease.first == claim.id && lease.second == claim.worker;
  });
  answer = had_it ? LeaseAnswer::kWanted : LeaseAnswer::kNotLeased;
  return had_it ? &found->second : nullptr;
}

LeaseAnswer LeaseBook::check(const LeaseClaim& claim, int64_t now_ns) {
  std::ignore = account_of(claim.worker, now_ns);
  LeaseAnswer answer{};
  std::ignore = wanted_item(claim, now_ns, answer);
  return answer;
}

LeaseAnswer LeaseBook::deliver(const LeaseClaim& claim, int64_t now_ns) {
  LeaseAnswer answer{};
  if (Item* const item = wanted_item(claim, now_ns, answer)) {
    item->state = State::kDelivered;
    item->delivered_ns = now_ns;
    if (WorkerAccount* const account = account_of(claim.worker, now_ns)) {
      ++account->tables;
    }
  }
  return answer;
}

LeaseAnswer LeaseBook::end_without_table(const LeaseClaim& claim, const Failure& failure, int64_t now_ns) {
  LeaseAnswer answer{};
  Item* const item = wanted_item(claim, now_ns, answer);
  if (item == nullptr) {
    return answer;
  }
  if (WorkerAccount* const account = account_of(claim.worker, now_ns)) {
    ++(account->*failure.count);
    account->newest_failure = failure.reason;
  }
  item->failures += failure.weight;
  // Another worker may have it by now, and goes on.
  if (item->state != State::kLeased || item->leases.back().first == claim.id) {
    put_back(*item, now_ns);
  }
  return answer;
}

LeaseAnswer LeaseBook::fail_lease(const LeaseClaim& claim, std::string_view reason, bool is_final,
                                  int64_t now_ns) {
  const unsigned weight = is_final ? limits_.max_failures_of_build : 1;
  return end_without_table(claim, {&WorkerAccount::failures, reason, weight}, now_ns);
}

LeaseAnswer LeaseBook::refuse_table(const LeaseClaim& claim, std::string_view reason, int64_t now_ns) {
  return end_without_table(claim, {&WorkerAccount::refused, reason, 1}, now_ns);
}

LeaseAnswer LeaseBook::give_back(const LeaseClaim& claim, int64_t now_ns) {
  LeaseAnswer answer{};
  Item* const item = wanted_item(claim, now_ns, answer);
  if (item != nullptr && item->state == State::kLeased && item->leases.back().first == claim.id) {
    put_back(*item, now_ns);
  }
  return answer;
}

std::vector<WorkerAccount> LeaseBook::workers(int64_t now_ns) {
  expire(now_ns);
  std::vector<WorkerAccount> accounts;
  for (const auto& [name, account] : workers_) {
    if (now_ns - account.newest_request_ns < limits_.worker_ttl_ns) {
      accounts.push_back(account);
      accounts.back().leases = leases_of(name);
    }
  }
  return accounts;
}

size_t LeaseBook::offers() const {
  return static_cast<size_t>(
      std::ranges::count_if(items_, [](const auto& entry) { return entry.second.state == State::kOffered; }));
}

}  // namespace plimsoll::symbolizer
