// The one way in: an HTTP/1.1 server, over TLS where wanted, with bounded connections, bodies and time. libmicrohttpd stands
// behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/access_control.h"
#include "http/head_check.h"
#include "http/routes.h"
#include "http/tls.h"

namespace plimsoll::http {

struct ListenerOptions {
  std::string address = "127.0.0.1:0";  // port 0 takes a free one
  bool allow_beyond_loopback = false;
  TlsFiles tls = {};
  AccessControl* access_control = nullptr;  // borrowed; null: everything is permitted
  HeadRules head_rules = {};
  std::vector<PathHint> path_hints = {};  // for paths that no route has

  // Each serves its share of the connections; a handler holds up those of its thread.
  unsigned threads = 2;
  // Those of handlers that take long (Threads), which do not delay others; those in the background give way to all others where
  // processors are scarce. So many requests of either kind may be received, wait or be handled at once; beyond it 429, with
  // Retry-After such that no more clients come back than will be served by then. While at least half of these places are taken, a
  // 200 has the same header: a client that has more to send comes again in turn.
  unsigned long_threads = 2;
  unsigned background_threads = 2;
  size_t max_long_requests = 512;
  // Callers, told apart by their tokens' names, or by the addresses that they come from, take turns, and none of them has more of
  // the places than are free.
  bool serves_callers_in_turn = false;

  unsigned max_connections = 256;
  // Taken by each, idle or not. The head of a request must fit into half of it.
  size_t connection_bytes = 32UL << 10;
  unsigned timeout_s = 30;  // of a connection on which nothing moves
  // In all, however often something moves: until a head is there, and, behind a grace, for bodies and answers of that rate.
  unsigned head_timeout_s = 40;
  unsigned grace_s = 30;
  unsigned min_bytes_per_s = 4096;
  unsigned max_connections_of_address = 0;  // 0: as many as there may be
  size_t max_buffered_bytes = 256UL << 20;  // of all bodies together; beyond it 503
  // Of all answers that clients have not read yet; beyond it 503, and the slowest reader is disconnected. One answer may be larger.
  size_t max_unread_bytes = 256UL << 20;
};

// For monitoring.
struct ListenerCounts {
  unsigned connections = 0;
  std::array<uint64_t, 5> answers{};  // since the start, by the class of their status: 1xx to 5xx
};

// Answers from start() until stop(). Handlers are called from several threads at once; what they throw
// becomes status 500. A body over its route's limit, or past what may be buffered, is refused before it is
// read where its length is declared. What is not HTTP at all is answered by libmicrohttpd, without our error
// document.
class Listener {
 public:
  // Fails with kDenied beyond loopback, kConflict where the port is taken, kInvalid for a wrong address,
  // route, certificate or option (a route may not take a larger body than may be buffered).
  static Result<std::unique_ptr<Listener>> start(ListenerOptions options, std::vector<Route> routes);

  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  uint16_t port() const;
  std::string address() const;    // as bound: "127.0.0.1:40123"
  size_t buffered_bytes() const;  // of bodies held now, by any thread
  size_t unread_bytes() const;    // of answers, likewise
  ListenerCounts counts() const;  // any thread

  // Reads the files of the certificate and its key again: connections from now on are shown what they hold by now. Where they are
  // wrong, the old ones stay. Who signs clients' certificates stays as it was. Any thread.
  Status reload_certificate();

  // Accepts nothing new, lets running handlers finish and their replies leave (up to 5 s for slow readers),
  // then closes every connection. May be called again; never from a handler. The destructor calls it.
  void stop();

 private:
  struct Server;
  explicit Listener(std::unique_ptr<Server> server);

  std::unique_ptr<Server> server_;
};

}  // namespace plimsoll::http
