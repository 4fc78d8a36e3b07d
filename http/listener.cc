#include "http/listener.h"

#include <microhttpd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>

#include "base/log.h"
#include "base/time.h"
#include "http/address.h"
#include "http/body_intake.h"
#include "http/byte_budget.h"
#include "http/connection.h"
#include "http/exchange.h"
#include "http/percents.h"
#include "http/running_requests.h"

namespace plimsoll::http {
namespace {

constexpr std::chrono::seconds kReplyGrace{5};

constexpr std::string_view kStopping = "the server is stopping";

// As GnuTLS writes them: what older versions allow has been broken.
constexpr const char* kTlsVersions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

// Where a client is to come again soon, reading on costs less than a new connection, and it surely hears for how long to wait.
constexpr uint64_t kReadOnBytes = 1UL << 20;

// Those that are shorter are not counted: connections bound them.
constexpr size_t kShortAnswerBytes = 4UL << 10;

Response unread_answers() {
  return unavailable("the server is at its limit of unread responses");
}

// The body of a request that is refused.
bool is_worth_reading(const Exchange& exchange) {
  return exchange.declared_bytes ? *exchange.declared_bytes <= kReadOnBytes : !exchange.has_body;
}

// Where there is memory for a line.
void note_dropped(const char* url, const char* why) noexcept {
  try {
    log_error("dropping a request for {}: {}", url, why);
  } catch (const std::exception&) {
    return;
  }
}

WatchLimits watch_limits(const ListenerOptions& options) {
  return {.head_ns = options.head_timeout_s * kNsPerSecond,
          .grace_ns = options.grace_s * kNsPerSecond,
          .min_bytes_per_s = options.min_bytes_per_s,
          .max_connections = options.max_connections};
}

// In place of libmicrohttpd's, which loses what comes after "%00".
size_t unescape(void* /*server*/, MHD_Connection* /*connection*/, char* text) noexcept {
  return decode_percents(text);
}

Status check_options(const ListenerOptions& options, const std::vector<Route>& routes) {
  const PoolOptions& pools = options.pools;
  if (options.threads == 0 || pools.control_threads == 0 || pools.long_threads == 0 ||
      pools.background_threads == 0 || pools.storage_threads == 0 ||
      options.max_connections < options.threads) {
    return fail(ErrorCode::kInvalid, "listening on {}: {} threads cannot serve {} connections",
                options.address, options.threads, options.max_connections);
  }
  for (const Route& route : routes) {
    if (!route.begin_body && route.max_body_bytes > options.max_buffered_bytes) {
      return fail(ErrorCode::kInvalid, "listening on {}: {} takes {} bytes, of which {} may be buffered",
                  options.address, route.path, route.max_body_bytes, options.max_buffered_bytes);
    }
  }
  return {};
}

}  // namespace

struct Listener::Server {
  class InHandler;

  Server(ListenerOptions given, RouteTable table)
      : options(std::move(given)),
        routes(std::move(table)),
        bodies(options.max_buffered_bytes),
        unread(options.max_unread_bytes),
        watch(watch_limits(options)),
        pools(options.pools, routes) {}

  MHD_Result begin(MHD_Connection* connection, const char* version, Exchange& exchange);
  std::optional<Refusal> refusal_of(Exchange& exchange);
  MHD_Result finish(MHD_Connection* connection, Exchange& exchange);
  MHD_Result answer(MHD_Connection* connection, Exchange& exchange, Response response, bool closes);
  void charge(Exchange& exchange, Response& response);
  bool enter_handler(Exchange& exchange);
  void leave_handler();
  void tell_of_giving_up(Exchange& exchange) const;
  void hand_over(MHD_Connection* connection, Exchange& exchange);
  void handle(MHD_Connection* connection, Exchange& exchange, WorkPool& pool);
  void wait_for_answer(MHD_Connection* connection, Exchange& exchange);
  void hand_back(MHD_Connection* connection) noexcept;
  void complete(Exchange& exchange);
  void stop();
  MHD_Daemon* start_daemon(int listening_fd);
  bool asks_for_certificates() const { return !tls.client_ca.empty(); }

  void enter(MHD_Connection* connection, ConnectionWatch::State state, uint64_t bytes = 0);

  static void on_connection(void* server, MHD_Connection* connection, void** kept,
                            MHD_ConnectionNotificationCode event) noexcept;
  static MHD_Result on_accept(void* server, const sockaddr* peer, socklen_t size);
  static MHD_Result on_request(void* server, MHD_Connection* connection, const char* url, const char* method,
                               const char* version, const char* data, size_t* data_size,
                               void** state) noexcept;
  static void on_completed(void* server, MHD_Connection* connection, void** state,
                           MHD_RequestTerminationCode code);

  const ListenerOptions options;
  const RouteTable routes;
  TlsTexts tls;  // libmicrohttpd borrows them
  ServedCertificate certificate;
  std::string address;
  uint16_t port = 0;
  MHD_Daemon* daemon = nullptr;
  BodyIntake bodies;
  ByteBudget unread;  // of answers
  ConnectionWatch watch;
  std::once_flag stopped;
  std::atomic<unsigned> connections = 0;
  std::array<std::atomic<uint64_t>, std::tuple_size_v<decltype(ListenerCounts::answers)>> answers{};

  RunningRequests running;

  std::atomic<bool> gives_up_questions = false;
  RequestPools pools;  // the last member: its threads use the others
};

// stop() waits for whoever has entered, and what answers may throw.
class Listener::Server::InHandler {
 public:
  explicit InHandler(Server& server) : server_(server) {}
  InHandler(const InHandler&) = delete;
  InHandler& operator=(const InHandler&) = delete;
  ~InHandler() { server_.leave_handler(); }

 private:
  Server& server_;
};

void Listener::Server::enter(MHD_Connection* connection, ConnectionWatch::State state, uint64_t bytes) {
  if (const auto handle = watched(connection)) {
    watch.enter(*handle, state, bytes);
  }
}

void Listener::Server::on_connection(void* server, MHD_Connection* connection, void** kept,
                                     MHD_ConnectionNotificationCode event) noexcept {
  Server& self = *static_cast<Server*>(server);
  const bool has_started = event == MHD_CONNECTION_NOTIFY_STARTED;
  self.connections += has_started ? 1U : -1U;
  keep_with_connection(connection, kept, has_started, self.watch, self.certificate);
}

MHD_Result Listener::Server::begin(MHD_Connection* connection, const char* version, Exchange& exchange) {
  if (auto refused =
          refusal_of_head(exchange.request, version == nullptr ? "" : version, options.head_rules)) {
    return answer(connection, exchange, *std::move(refused), /*closes=*/true);
  }
  RouteMatch match = routes.match(exchange.request.method, exchange.request.path);
  exchange.route = match.route;
  if (exchange.request.method == MHD_HTTP_METHOD_HEAD) {
    exchange.request.method = MHD_HTTP_METHOD_GET;
  }
  if (match.route == nullptr) {
    exchange.refusal = {std::move(match.refusal), exchange.has_body};
  } else {
    tell_of_giving_up(exchange);
    exchange.refusal = refusal_of(exchange);
    // A client that asks before it sends (Expect: 100-continue) hears an error in place of being cut off in the middle.
    if (!exchange.refusal && match.route->begin_body && exchange.has_body) {
      if (auto refused = BodyIntake::begin_sink(exchange)) {
        exchange.refusal = {*std::move(refused), !is_worth_reading(exchange)};
      }
    }
  }
  if (exchange.refusal && exchange.refusal->closes) {
    return answer(connection, exchange, std::move(exchange.refusal->response), /*closes=*/true);
  }
  return MHD_YES;
}

// A question's handler is to end for either reason.
void Listener::Server::tell_of_giving_up(Exchange& exchange) const {
  if (exchange.route->is_question) {
    exchange.request.is_abandoned = [this, has_gone = std::move(exchange.request.is_abandoned)] {
      return gives_up_questions || (has_gone && has_gone());
    };
  }
}

std::optional<Refusal> Listener::Server::refusal_of(Exchange& exchange) {
  const uint64_t declared_bytes = exchange.declared_bytes.value_or(0);
  if (options.access_control != nullptr) {
    if (auto refused = options.access_control->admit(exchange.request, *exchange.route)) {
      return Refusal{*std::move(refused), !is_worth_reading(exchange)};
    }
  }
  if (auto refused = bodies.refusal_of_declared(exchange)) {
    return Refusal{*std::move(refused), true};
  }
  if (exchange.route->is_question && gives_up_questions) {
    return Refusal{unavailable(kStopping), true};
  }
  WorkPool* const pool = pools.of(*exchange.route);
  if (pool != nullptr && !unread.has_room(kShortAnswerBytes)) {
    watch.cut_slowest_reader();
    return Refusal{unread_answers(), declared_bytes > kReadOnBytes};
  }
  auto no_place = pool == nullptr ? std::nullopt : pools.take_place(exchange, *pool);
  return no_place ? std::optional(Refusal{*std::move(no_place), declared_bytes > kReadOnBytes})
                  : std::nullopt;
}

MHD_Result Listener::Server::answer(MHD_Connection* connection, Exchange& exchange, Response response,
                                    bool closes) {
  charge(exchange, response);
  if (options.access_control != nullptr) {
    options.access_control->answered(exchange.request, exchange.route, response.status);
  }
  ++answers[std::clamp(response.status / 100, 1U, 5U) - 1];
  enter(connection, ConnectionWatch::State::kReply,
        response.file ? response.file->bytes : uint64_t{response.body.size()});
  return send_response(connection, std::move(response), closes) ? MHD_YES : MHD_NO;
}

// Where there is no room for the answer, a short one takes its place.
void Listener::Server::charge(Exchange& exchange, Response& response) {
  if (response.body.size() <= kShortAnswerBytes) {
    return;
  }
  if (!unread.take_or_all(response.body.size())) {
    watch.cut_slowest_reader();
    response = unread_answers();
    return;
  }
  exchange.unread_bytes = response.body.size();
}

bool Listener::Server::enter_handler(Exchange& exchange) {
  if (!running.begin_handler()) {
    return false;
  }
  exchange.counted = true;
  return true;
}

void Listener::Server::leave_handler() {
  running.end_handler();
}

MHD_Result Listener::Server::finish(MHD_Connection* connection, Exchange& exchange) {
  if (exchange.response) {
    return answer(connection, exchange, *std::move(exchange.response), /*closes=*/false);
  }
  if (exchange.refusal) {
    return answer(connection, exchange, std::move(exchange.refusal->response), exchange.refusal->closes);
  }
  if (!enter_handler(exchange)) {
    return answer(connection, exchange, unavailable(kStopping), /*closes=*/true);
  }
  enter(connection, ConnectionWatch::State::kHandled);
  if (exchange.route->handle_later) {
    wait_for_answer(connection, exchange);
    return MHD_YES;
  }
  if (exchange.pool != nullptr) {
    hand_over(connection, exchange);
    return MHD_YES;
  }
  const InHandler leaves(*this);
  Response response = answer_of(*exchange.route, exchange.request);
  bodies.drop(exchange);
  return answer(connection, exchange, std::move(response), /*closes=*/false);
}

// finish() is called again once the connection is resumed.
void Listener::Server::hand_over(MHD_Connection* connection, Exchange& exchange) {
  MHD_suspend_connection(connection);
  WorkPool& pool = *exchange.pool;
  try {
    pool.add({.run = [this, connection, &exchange, &pool] { handle(connection, exchange, pool); },
              .caller = exchange.place_of,
              .is_abandoned = exchange.route->is_question ? exchange.request.is_abandoned : nullptr});
  } catch (const std::bad_alloc&) {
    exchange.response = no_memory(exchange.request);
    bodies.drop(exchange);
    RequestPools::leave_place(exchange);
    hand_back(connection);
  }
}

void Listener::Server::handle(MHD_Connection* connection, Exchange& exchange, WorkPool& pool) {
  Response response = answer_of(*exchange.route, exchange.request);
  if (exchange.route->is_question && exchange.request.is_abandoned && exchange.request.is_abandoned()) {
    pool.note_cancelled();
  }
  bodies.drop(exchange);
  RequestPools::leave_place(exchange);
  RequestPools::put_behind_others(response, pool);
  exchange.response = std::move(response);
  hand_back(connection);
}

// finish() is called again once the answer is given, which may be before this returns.
void Listener::Server::wait_for_answer(MHD_Connection* connection, Exchange& exchange) {
  const Route& route = *exchange.route;
  std::string body = std::move(exchange.request.body);
  bodies.drop(exchange);
  exchange.request.body = std::move(body);
  exchange.connection = connection;
  MHD_suspend_connection(connection);
  // Of two pointers, for which std::function allocates nothing that there might be no memory for.
  LaterAnswer later([this, &exchange](Response response) {
    exchange.response = std::move(response);
    RequestPools::leave_place(exchange);
    hand_back(exchange.connection);
  });
  try {
    route.handle_later(exchange.request, std::move(later));
  } catch (const std::exception& exception) {
    // The answer was destroyed on the way here, and so has been given.
    note_dropped(route.path.c_str(), exception.what());
  }
}

void Listener::Server::hand_back(MHD_Connection* connection) noexcept {
  MHD_resume_connection(connection);  // from here on the exchange may be gone
  leave_handler();
}

void Listener::Server::complete(Exchange& exchange) {
  unread.give_back(std::exchange(exchange.unread_bytes, 0));
  bodies.drop(exchange);
  RequestPools::leave_place(exchange);
  if (exchange.counted) {
    running.end_reply();
  }
}

MHD_Result Listener::Server::on_accept(void* server, const sockaddr* /*peer*/, socklen_t /*size*/) {
  auto& self = *static_cast<Server*>(server);
  return self.running.is_stopping() ? MHD_NO : MHD_YES;
}

MHD_Result Listener::Server::on_request(void* server, MHD_Connection* connection, const char* url,
                                        const char* method, const char* version, const char* data,
                                        size_t* data_size, void** state) noexcept {
  auto& self = *static_cast<Server*>(server);
  try {
    if (*state == nullptr) {
      auto* const created =
          new Exchange(begun(read_head(connection, url, method, self.asks_for_certificates())));
      *state = created;  // on_completed() deletes it
      self.enter(connection, ConnectionWatch::State::kBody);
      return self.begin(connection, version, *created);
    }
    auto& exchange = *static_cast<Exchange*>(*state);
    if (*data_size != 0) {
      if (const auto handle = watched(connection)) {
        self.watch.received(*handle, *data_size);
      }
      return self.bodies.take(exchange, {data, std::exchange(*data_size, 0)}) ? MHD_YES : MHD_NO;
    }
    return self.finish(connection, exchange);
  } catch (const std::exception& exception) {
    note_dropped(url, exception.what());
    return MHD_NO;
  }
}

void Listener::Server::on_completed(void* server, MHD_Connection* connection, void** state,
                                    MHD_RequestTerminationCode /*code*/) {
  static_cast<Server*>(server)->enter(connection, ConnectionWatch::State::kIdle);
  const std::unique_ptr<Exchange> exchange(static_cast<Exchange*>(std::exchange(*state, nullptr)));
  if (exchange) {
    static_cast<Server*>(server)->complete(*exchange);
  }
}

void Listener::Server::stop() {
  running.stop(kReplyGrace);
  MHD_stop_daemon(daemon);
}

MHD_Daemon* Listener::Server::start_daemon(int listening_fd) {
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
  std::vector<MHD_OptionItem> further;
  const auto add_pem = [&further](MHD_OPTION option, std::string& text) {
    if (!text.empty()) {
      further.push_back({option, 0, text.data()});
    }
  };
  if (options.tls.are_given()) {
    flags |= MHD_USE_TLS;
    further.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsVersions)});
    further.push_back({MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, certificate_function()});
    add_pem(MHD_OPTION_HTTPS_MEM_TRUST, tls.client_ca);
  }
  // A pool of one is refused.
  if (options.threads > 1) {
    further.push_back({MHD_OPTION_THREAD_POOL_SIZE, static_cast<intptr_t>(options.threads), nullptr});
  }
  further.push_back({MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                     static_cast<intptr_t>(options.max_connections_of_address), nullptr});
  further.push_back({MHD_OPTION_UNESCAPE_CALLBACK, reinterpret_cast<intptr_t>(&unescape), nullptr});
  further.push_back({MHD_OPTION_END, 0, nullptr});
  return MHD_start_daemon(
      flags, 0, &Server::on_accept, this, &Server::on_request, this, MHD_OPTION_LISTEN_SOCKET, listening_fd,
      MHD_OPTION_CONNECTION_LIMIT, options.max_connections, MHD_OPTION_CONNECTION_TIMEOUT, options.timeout_s,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options.connection_bytes, MHD_OPTION_NOTIFY_COMPLETED,
      &Server::on_completed, this, MHD_OPTION_NOTIFY_CONNECTION, &Server::on_connection, this,
      MHD_OPTION_ARRAY, further.data(), MHD_OPTION_END);
}

Listener::Listener(std::unique_ptr<Server> server) : server_(std::move(server)) {}

Listener::~Listener() {
  stop();
}

uint16_t Listener::port() const {
  return server_->port;
}

std::string Listener::address() const {
  return server_->address;
}

size_t Listener::buffered_bytes() const {
  return server_->bodies.buffered_bytes();
}

size_t Listener::unread_bytes() const {
  return server_->unread.used_bytes();
}

ListenerCounts Listener::counts() const {
  ListenerCounts counts{.connections = server_->connections};
  std::ranges::copy(server_->answers, counts.answers.begin());
  counts.pools = server_->pools.counts();
  return counts;
}

Status Listener::reload_certificate() {
  if (!server_->options.tls.are_given()) {
    return {};
  }
  auto loaded = load_tls(server_->options.tls);
  const Status set = loaded ? server_->certificate.set(*std::move(loaded)) : propagate(loaded);
  return set ? Status() : propagate(set, "keeping the previous certificate of {}", server_->address);
}

void Listener::give_up_questions() {
  server_->gives_up_questions = true;
  server_->pools.run_abandoned();
}

void Listener::stop() {
  std::call_once(server_->stopped, [this] { server_->stop(); });
}

Result<std::unique_ptr<Listener>> Listener::start(ListenerOptions options, std::vector<Route> routes) {
  if (const Status checked = check_options(options, routes); !checked) {
    return propagate(checked);
  }
  auto table = RouteTable::create(std::move(routes), std::move(options.path_hints));
  if (!table) {
    return propagate(table, "listening on {}", options.address);
  }
  auto socket = listen_on(options.address, options.allow_beyond_loopback);
  if (!socket) {
    return propagate(socket);
  }
  if (!socket->is_loopback && !options.tls.are_given()) {
    log_warning(
        "{} is not loopback and has no TLS: traffic, including tokens, is unencrypted (set "
        "server.certificate)",
        socket->address);
  }
  auto server = std::make_unique<Server>(std::move(options), *std::move(table));
  server->address = socket->address;
  server->port = socket->port;
  const unsigned threads = server->options.threads;
  if (server->options.tls.are_given()) {
    auto loaded = load_tls(server->options.tls);
    if (!loaded) {
      return propagate(loaded, "listening on {}", server->address);
    }
    if (auto set = server->certificate.set(*loaded); !set) {
      return propagate(set, "listening on {}", server->address);
    }
    server->tls = *std::move(loaded);
  }
  server->daemon = server->start_daemon(socket->fd.release());
  if (server->daemon == nullptr) {
    return with_hint(fail(ErrorCode::kIo, "listening on {}: starting {} threads", server->address, threads),
                     "check the limits on threads and open files (ulimit -u, ulimit -n)");
  }
  return std::unique_ptr<Listener>(new Listener(std::move(server)));
}

}  // namespace plimsoll::http
