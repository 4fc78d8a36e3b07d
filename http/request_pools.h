// The pools of a listener: which threads handle a request.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "http/exchange.h"
#include "http/routes.h"
#include "http/work_pool.h"

namespace plimsoll::http {

struct PoolOptions {
  // Of handlers of each kind (Threads). Those in the background give way to all others where processors are scarce.
  unsigned control_threads = 2;
  unsigned long_threads = 2;
  unsigned background_threads = 2;
  unsigned storage_threads = 8;
  // So many requests of each kind may be received, wait or be handled at once. While at least half of these places are taken, a 200 has
  // a Retry-After such that no more clients come back than will be served by then: a client that has more to send comes again in turn.
  size_t max_requests = 512;
  // Callers, told apart by their tokens' names, or by the addresses that they come from, take turns. None of them has more of the places
  // than are free, nor more than all threads of a kind but one. Beyond it 429, and 503 where no place is free; where callers are not
  // told apart, 429. Either with a Retry-After of that sort.
  bool serves_callers_in_turn = false;
};

struct PoolCounts {
  std::string_view name;  // "control", "long", "background" or "storage"
  WorkCounts counts;
};

// Any thread.
class RequestPools {
 public:
  // Has threads for the kinds that the routes ask for.
  RequestPools(const PoolOptions& options, const RouteTable& routes);

  // That of the requests of a route; null: they are handled at once.
  WorkPool* of(const Route& route);

  // Takes a place in the pool for the request, which leave_place() gives back, or says why there is none.
  std::optional<Response> take_place(Exchange& exchange, WorkPool& pool) const;
  static void leave_place(Exchange& exchange);

  // Asks the client to come back in turn, where many wait.
  static void put_behind_others(Response& response, WorkPool& pool) noexcept;

  // Answers those that wait and that nobody waits for.
  void run_abandoned();

  // Of the kinds that there are routes for.
  std::vector<PoolCounts> counts() const;

 private:
  struct Named {
    std::string_view name;
    WorkPool* pool;
  };

  const bool serves_callers_in_turn_;
  WorkPool control_;
  WorkPool long_;
  WorkPool background_;
  WorkPool storage_;
  std::vector<Named> used_;  // that there are routes for
};

}  // namespace plimsoll::http
