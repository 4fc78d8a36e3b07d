// The connections of many clients to a server, or to several, in one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bench/fleet/http_connection.h"
#include "bench/fleet/secured_fleet.h"

namespace plimsoll::bench {

// Each client has a connection, from one of 64 loopback addresses, and one request under way at most. As every HTTP client does, it sends a
// request again that met a connection just being closed for its age.
class Connections {
 public:
  struct Events {
    // May ask() again.
    std::function<Status(uint32_t client, const Answer& answer)> answered;
    // There is no answer, and no connection any more.
    std::function<Status(uint32_t client, const Error& error)> failed;
  };

  struct Options {
    std::vector<uint16_t> ports = {};  // of 127.0.0.1; each client opens its connections to them in turn
    uint32_t clients = 0;
    bool keeps = true;  // connections for the next request; else each request has one of its own
    // Present: over TLS, with the headers that this says. Borrowed.
    const SecuredFleet* secured = nullptr;
  };

  static Result<std::unique_ptr<Connections>> create(const Options& options, Events events);

  // `body` stays the caller's, and has to stay until there is an answer or none will come.
  Status ask(uint32_t client, std::string_view method_and_path, std::string_view body);
  // Tells of answers until that time, at most 100 ms, or until there was one.
  Status wait(double until_s);
  uint64_t asking() const { return asking_; }

 private:
  struct Client {
    std::unique_ptr<HttpConnection> connection;  // null: none is open
    bool is_fresh = false;                       // it has answered nothing yet
    bool is_asking = false;
    uint32_t opened = 0;  // connections
    std::string method_and_path;
    std::string_view body;
  };

  Connections(const Options& options, Events events, UniqueFd epoll);
  Status send(uint32_t number);
  Status connect(uint32_t number);
  Status advance(uint32_t number);
  Status lost(uint32_t number, const Error& error);

  const Options options_;
  const Events events_;
  const UniqueFd epoll_;
  std::vector<Client> clients_;
  uint64_t asking_ = 0;  // clients
};

}  // namespace plimsoll::bench
