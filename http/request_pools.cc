#include "http/request_pools.h"

#include <microhttpd.h>

#include <algorithm>
#include <new>
#include <string>

namespace plimsoll::http {
namespace {

// The kernel gives a thread of nice 10 a tenth of what it gives one of nice 0 (sched_prio_to_weight: 110 of 1024), where both
// want a processor; where there is none beside it, all of it.
constexpr int kBackgroundNice = 10;
// A third: of what there is to do with all processors busy, the server's own work, of which there is one thread for each kind, gets a share. Else
// profiles would be accepted faster than rows are made of them, and many long questions would keep all from what they ask about.
constexpr int kLongNice = 5;

WorkPool::Options options_of(const PoolOptions& options, const RouteTable& routes, Threads kind,
                             unsigned threads, int nice) {
  return {.threads = routes.has_any_for(kind) ? threads : 0,
          .nice = nice,
          .places = options.max_requests,
          .max_running_of_caller = options.serves_callers_in_turn ? std::max(threads, 2U) - 1 : 0};
}

}  // namespace

RequestPools::RequestPools(const PoolOptions& options, const RouteTable& routes)
    : serves_callers_in_turn_(options.serves_callers_in_turn),
      control_(options_of(options, routes, Threads::kControl, options.control_threads, 0)),
      long_(options_of(options, routes, Threads::kLong, options.long_threads, kLongNice)),
      background_(
          options_of(options, routes, Threads::kBackground, options.background_threads, kBackgroundNice)),
      storage_(options_of(options, routes, Threads::kStorage, options.storage_threads, kBackgroundNice)) {
  if (routes.has_any_for(Threads::kControl)) {
    used_.push_back({"control", &control_});
  }
  if (routes.has_any_for(Threads::kLong)) {
    used_.push_back({"long", &long_});
  }
  if (routes.has_any_for(Threads::kBackground)) {
    used_.push_back({"background", &background_});
  }
  if (routes.has_any_for(Threads::kStorage)) {
    used_.push_back({"storage", &storage_});
  }
}

WorkPool* RequestPools::of(const Route& route) {
  switch (route.threads) {
    case Threads::kConnections:
      return nullptr;
    case Threads::kControl:
      return &control_;
    case Threads::kLong:
      return &long_;
    case Threads::kBackground:
      return &background_;
    case Threads::kStorage:
      return &storage_;
  }
  return nullptr;
}

std::optional<Response> RequestPools::take_place(Exchange& exchange, WorkPool& pool) const {
  exchange.place_of = serves_callers_in_turn_ ? caller_of(exchange.request) : std::string();
  const Places::Taken taken = pool.take_place(exchange.place_of);
  if (taken == Places::Taken::kYes) {
    exchange.pool = &pool;
    return std::nullopt;
  }
  const std::string& path = exchange.route->path;
  const bool is_full = serves_callers_in_turn_ && taken == Places::Taken::kNoneIsFree;
  Response response =
      unavailable(taken == Places::Taken::kNoneIsFree
                      ? fmt::format("too many requests to {} are waiting", path)
                      : fmt::format("too many requests of {} to {} are waiting", exchange.place_of, path),
                  pool.next_turn_s());
  response.status = is_full ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_TOO_MANY_REQUESTS;
  return response;
}

void RequestPools::leave_place(Exchange& exchange) {
  if (WorkPool* const pool = std::exchange(exchange.pool, nullptr)) {
    pool->leave_place(exchange.place_of);
  }
}

void RequestPools::put_behind_others(Response& response, WorkPool& pool) noexcept {
  try {
    if (response.ok() && pool.is_crowded()) {
      response.headers.emplace_back(MHD_HTTP_HEADER_RETRY_AFTER, std::to_string(pool.next_turn_s()));
    }
  } catch (const std::bad_alloc&) {
    return;  // the answer matters more
  }
}

void RequestPools::run_abandoned() {
  for (const Named& used : used_) {
    used.pool->run_abandoned();
  }
}

std::vector<PoolCounts> RequestPools::counts() const {
  std::vector<PoolCounts> all;
  for (const Named& used : used_) {
    all.push_back({used.name, used.pool->counts()});
  }
  return all;
}

}  // namespace plimsoll::http
