// Which handler a request goes to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/later_answer.h"
#include "http/message.h"

namespace plimsoll::http {

// Which threads of a listener call a handler.
enum class Threads {
  kConnections,  // those that serve connections: for what takes milliseconds, without a look at a disk
  // Pools (PoolOptions), so that none delays the requests of another:
  kControl,  // for orders, and what operators look at meanwhile
  kLong,  // for what may take seconds; orders, and what the server does by itself, have more of the processors
  kBackground,  // for what may take all the time there is; the other kinds go before it
  kStorage,  // for what mostly waits for a disk, so that several waits become one; gives way as kBackground does
};

struct Route {
  std::string method;  // "GET" answers HEAD too
  std::string path;    // "/api/top"; with is_prefix it ends in '/' and matches everything under it
  bool is_prefix = false;
  size_t max_body_bytes = 0;  // a larger body is refused with 413
  std::function<Response(const Request&)> handle = {};
  Threads threads = Threads::kConnections;
  // Changes nothing, so that only the client needs the answer: once the client has gone, or the listener has been told to give up questions, it
  // is not begun any more, and the handler finds that Request::is_abandoned().
  bool is_question = false;
  // Of the caller, where the listener has an access control. A route that says nothing is for administrators.
  Right right = Right::kOrder;
  // Of a body that is too large for memory: called with the head of a permitted request, before anything of the body is read. What it returns
  // takes the body, up to max_body_bytes, which are not buffered then; an error is the answer. Empty: the body is in Request::body.
  std::function<Result<std::shared_ptr<BodySink>>(const Request&)> begin_body = {};
  // Of all of such a body, from its head on; later pieces are refused (503). At the slowest rate that a listener permits it might take days.
  int64_t max_body_ns = 3600LL * 1'000'000'000;
  // In place of `handle`, for answers that wait for others: called by a thread that serves connections, which goes on as soon as it returns,
  // while the request waits for its answer and takes no thread. The request lives until the answer is given. Its body is the handler's, which
  // may move it away, and is no longer counted among those that the listener buffers: the handler bounds what it keeps. Listener::stop() waits
  // for the answer.
  std::function<void(Request&, LaterAnswer)> handle_later = {};
};

// Either a route or, where there is none, the response that says so (404; 405 with Allow).
struct RouteMatch {
  const Route* route = nullptr;
  Response refusal;
};

// What a client is told whose path no route has: that it asks the wrong address, for instance.
struct PathHint {
  std::string prefix;  // "/fleet/"
  std::string hint;
};

class RouteTable {
 public:
  // Refuses paths that are not absolute, prefixes without their '/', routes given twice and absent handlers.
  static Result<RouteTable> create(std::vector<Route> routes, std::vector<PathHint> hints = {});

  // The exact path before any prefix, a longer prefix before a shorter one. The route lives as long as the
  // table.
  RouteMatch match(std::string_view method, std::string_view path) const;

  bool has_any_for(Threads threads) const;

 private:
  RouteTable(std::vector<Route> routes, std::vector<PathHint> hints)
      : routes_(std::move(routes)), hints_(std::move(hints)) {}
  Response not_found(std::string_view path) const;

  std::vector<Route> routes_;  // exact before prefix, long before short
  std::vector<PathHint> hints_;
};

}  // namespace plimsoll::http
