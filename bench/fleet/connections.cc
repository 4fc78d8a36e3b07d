#include "bench/fleet/connections.h"

#include <netinet/in.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "bench/store/clock.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kSourceAddresses = 64;

}  // namespace

Connections::Connections(const Options& options, Events events, UniqueFd epoll)
    : options_(options), events_(std::move(events)), epoll_(std::move(epoll)), clients_(options.clients) {}

Result<std::unique_ptr<Connections>> Connections::create(const Options& options, Events events) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) {
    return fail_errno(errno, "preparing to wait for many connections");
  }
  return std::unique_ptr<Connections>(new Connections(options, std::move(events), std::move(epoll)));
}

Status Connections::ask(uint32_t client, std::string_view method_and_path, std::string_view body) {
  Client& asking = clients_[client];
  asking.method_and_path = method_and_path;
  asking.body = body;
  asking.is_asking = true;
  ++asking_;
  return send(client);
}

Status Connections::send(uint32_t number) {
  Client& client = clients_[number];
  if (client.connection == nullptr) {
    if (auto connected = connect(number); !connected) {
      return connected;
    }
  }
  const std::string headers =
      options_.secured == nullptr ? "" : options_.secured->headers(number, client.method_and_path);
  client.connection->request(client.method_and_path, headers, client.body);
  return client.is_fresh ? Status() : advance(number);
}

Status Connections::connect(uint32_t number) {
  Client& client = clients_[number];
  // Half of the clients begin with either of two ports.
  const uint16_t port = options_.ports[(number + client.opened++) % options_.ports.size()];
  auto opened = HttpConnection::open(INADDR_LOOPBACK + number % kSourceAddresses, port,
                                     options_.secured == nullptr ? nullptr : options_.secured->trust());
  if (!opened) {
    return propagate(opened);
  }
  client.connection = std::make_unique<HttpConnection>(std::move(*opened));
  client.is_fresh = true;
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.u32 = number}};
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client.connection->fd(), &event) == 0
             ? Status()
             : fail_errno(errno, "waiting for one more connection");
}

Status Connections::wait(double until_s) {
  std::array<epoll_event, 256> events;
  const int timeout_ms = static_cast<int>(std::clamp((until_s - now_s()) * 1e3, 0.0, 100.0));
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  if (count < 0 && errno != EINTR) {
    return fail_errno(errno, "waiting for many connections");
  }
  for (int i = 0; i < count; ++i) {
    if (auto advanced = advance(events[static_cast<size_t>(i)].data.u32); !advanced) {
      return advanced;
    }
  }
  return {};
}

Status Connections::advance(uint32_t number) {
  Client& client = clients_[number];
  if (client.connection == nullptr) {
    return {};
  }
  const auto is_answered = client.connection->advance();
  if (!client.is_asking) {
    if (!is_answered || client.connection->closes()) {
      client.connection.reset();  // the server had enough of waiting
    }
    return {};
  }
  if (!is_answered) {
    return lost(number, is_answered.error());
  }
  if (!*is_answered) {
    return {};
  }
  const Answer answer = client.connection->answer();
  client.is_fresh = false;
  if (client.connection->closes() || !options_.keeps) {
    client.connection.reset();
  }
  client.is_asking = false;
  --asking_;
  return events_.answered(number, answer);
}

Status Connections::lost(uint32_t number, const Error& error) {
  Client& client = clients_[number];
  client.connection.reset();
  if (!client.is_fresh) {
    return send(number);
  }
  client.is_asking = false;
  --asking_;
  return events_.failed(number, error);
}

}  // namespace plimsoll::bench
