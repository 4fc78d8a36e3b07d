#include "server/access/audit_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/time.h"

namespace plimsoll::server {
namespace {

constexpr int64_t kDayNs = int64_t{24} * 3600 * kNsPerSecond;

// At their most strangers' requests are three million rows then.
constexpr store::KeptRequests kKept{
    .all_ns = 90 * kDayNs, .refused_strangers_ns = 7 * kDayNs, .max_rows = 5'000'000};

// Others write to the same database meanwhile, each after one of these.
constexpr size_t kWrittenAtOnce = 1000;

}  // namespace

AuditLog::AuditLog(store::AccessStore store, std::function<int64_t()> boot_now_ns)
    : boot_now_ns_(std::move(boot_now_ns)), store_(std::move(store)), written_ns_(boot_now_ns_()) {}

AuditLog::~AuditLog() {
  if (const Status written = write(); !written) {
    log_error("{}", written.error().text());
  }
}

Status AuditLog::end_minute() {
  {
    const std::lock_guard lock(mutex_);
    different_ = {};
  }
  return write();
}

AuditLog::Key AuditLog::key_of(const store::AskedFor& asked) {
  return {asked.caller, asked.host, asked.request, asked.status};
}

bool AuditLog::has_room(Asker asker) {
  constexpr std::array kMax{kMaxOfStrangers, kMaxOfKnown, SIZE_MAX};
  const auto place = static_cast<size_t>(asker);
  if (different_[place] == kMax[place]) {
    return false;
  }
  ++different_[place];
  return true;
}

void AuditLog::note(store::AskedFor asked, Asker asker) {
  const std::lock_guard lock(mutex_);
  if (!noted_.contains(key_of(asked)) && !has_room(asker)) {
    asked.caller = store::kOtherCallers;
    asked.host.clear();
    asked.request.clear();
  }
  count(std::move(asked));
}

void AuditLog::count(store::AskedFor asked) {
  const auto [place, is_new] = noted_.try_emplace(key_of(asked), asked);
  if (!is_new) {
    store::AskedFor& noted = place->second;
    noted.first_ns = std::min(noted.first_ns, asked.first_ns);
    noted.last_ns = std::max(noted.last_ns, asked.last_ns);
    noted.count += asked.count;
  }
}

std::vector<store::AskedFor> AuditLog::take_noted() {
  std::map<Key, store::AskedFor> noted;
  {
    const std::lock_guard lock(mutex_);
    noted.swap(noted_);
  }
  std::vector<store::AskedFor> asked;
  asked.reserve(noted.size());
  for (auto& [key, one] : noted) {
    asked.push_back(std::move(one));
  }
  std::ranges::sort(asked, {}, &store::AskedFor::last_ns);
  return asked;
}

Status AuditLog::write() {
  const std::lock_guard store_lock(store_mutex_);
  std::vector<store::AskedFor> asked = take_noted();
  const Status added = asked.empty() ? Status() : add_in_parts(std::move(asked));
  return added ? Status() : propagate(added, "writing the audit log");
}

Status AuditLog::add_in_parts(std::vector<store::AskedFor> asked) {
  const int64_t newest_ns = asked.back().last_ns;
  for (size_t begin = 0; begin < asked.size(); begin += kWrittenAtOnce) {
    const auto first = asked.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        asked.begin() + static_cast<std::ptrdiff_t>(std::min(asked.size(), begin + kWrittenAtOnce));
    const int64_t boot_ns = boot_now_ns_();
    const Status added =
        store_.add({first, last}, {.now_ns = newest_ns, .passed_ns = boot_ns - written_ns_}, kKept);
    if (added) {
      written_ns_ = boot_ns;
    } else {
      const std::lock_guard lock(mutex_);
      std::for_each(std::move_iterator(first), std::move_iterator(asked.end()),
                    [this](store::AskedFor one) { count(std::move(one)); });
      return added;
    }
  }
  return {};
}

}  // namespace plimsoll::server
