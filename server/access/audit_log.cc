#include "server/access/audit_log.h"

#include <algorithm>

#include "base/log.h"
#include "base/time.h"

namespace plimsoll::server {
namespace {

constexpr int64_t kWriteIntervalNs = 60 * kNsPerSecond;
constexpr int64_t kKeptNs = int64_t{90} * 24 * 3600 * kNsPerSecond;

}  // namespace

AuditLog::~AuditLog() {
  if (const Status written = write(); !written) {
    log_error("{}", written.error().text());
  }
}

void AuditLog::note(store::AskedFor asked) {
  {
    const std::lock_guard lock(mutex_);
    const int64_t now_ns = asked.last_ns;
    count(std::move(asked));
    if (!is_due(now_ns)) {
      return;
    }
  }
  if (const Status written = write(); !written) {
    log_error("{}", written.error().text());
  }
}

void AuditLog::count(store::AskedFor asked) {
  if (noted_.size() >= kMostDifferent) {
    asked.caller = "(others)";
    asked.host.clear();
    asked.request.clear();
  }
  const auto [place, is_new] =
      noted_.try_emplace(Key(asked.caller, asked.host, asked.request, asked.status), asked);
  if (!is_new) {
    store::AskedFor& noted = place->second;
    noted.first_ns = std::min(noted.first_ns, asked.first_ns);
    noted.last_ns = std::max(noted.last_ns, asked.last_ns);
    noted.count += asked.count;
  }
}

bool AuditLog::is_due(int64_t now_ns) {
  if (written_ns_ == 0) {
    written_ns_ = now_ns;  // nothing was noted before
  }
  // A clock that was set back must not stop it.
  const bool is_due = now_ns - written_ns_ >= kWriteIntervalNs || now_ns < written_ns_;
  if (is_due) {
    written_ns_ = now_ns;
  }
  return is_due;
}

Status AuditLog::write() {
  const std::lock_guard store_lock(store_mutex_);
  std::map<Key, store::AskedFor> noted;
  {
    const std::lock_guard lock(mutex_);
    noted.swap(noted_);
  }
  if (noted.empty()) {
    return {};
  }
  std::vector<store::AskedFor> asked;
  asked.reserve(noted.size());
  int64_t newest_ns = 0;
  for (auto& [key, one] : noted) {
    newest_ns = std::max(newest_ns, one.last_ns);
    asked.push_back(std::move(one));
  }
  std::ranges::sort(asked, {}, &store::AskedFor::last_ns);
  const Status added = store_.add(asked, newest_ns - kKeptNs);
  if (!added) {
    const std::lock_guard lock(mutex_);
    for (store::AskedFor& one : asked) {
      count(std::move(one));
    }
  }
  return added ? Status() : propagate(added, "writing who asked for what");
}

}  // namespace plimsoll::server
