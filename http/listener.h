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
#include "http/request_pools.h"
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

  // Each reads and writes for its share of the connections; a handler without a pool holds up those of its thread.
  unsigned threads = 2;
  PoolOptions pools = {};

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
  std::vector<PoolCounts> pools = {};
};

// Answers from start() until stop(). Handlers are called from several threads at once; what they throw
// becomes status 500. Answers that are given later (Route::handle_later) must all have been given before the listener is destroyed. A body over its route's limit, or past what may be buffered, is refused before it is
// read where its length is declared. What is not HTTP at all is answered by libmicrohttpd, without our error
// document.
class Listener {
 public:
  // Fails with kDenied beyond loopback, kConflict where the port is taken, kInvalid for a wrong address,
  // route, certificate or option (a route without begin_body may not take a larger body than may be buffered).
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

  // Questions (Route::is_question) that wait are answered with 503, and so are new ones; those that are handled find themselves abandoned. All
  // other requests are served as before. Any thread.
  void give_up_questions();

  // Accepts nothing new, lets running handlers finish and their replies leave (up to 5 s for slow readers),
  // then closes every connection. May be called again; never from a handler. The destructor calls it.
  void stop();

 private:
  struct Server;
  explicit Listener(std::unique_ptr<Server> server);

  std::unique_ptr<Server> server_;
};

}  // namespace plimsoll::http
