#include "http/listener.h"

#include <microhttpd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>

#include "base/log.h"
#include "base/time.h"
#include "http/address.h"
#include "http/byte_budget.h"
#include "http/connection.h"
#include "http/work_pool.h"

namespace plimsoll::http {
namespace {

constexpr std::chrono::seconds kReplyGrace{5};

// As GnuTLS writes them: what older versions allow has been broken.
constexpr const char* kTlsVersions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

// A client whose body was refused while it was sending may go on this far before it is cut off.
constexpr size_t kMaxDiscardedBytes = 16UL << 20;

// Where a client is to come again soon, reading on costs less than a new connection, and it surely hears for how long to wait.
constexpr uint64_t kReadOnBytes = 1UL << 20;

// The kernel gives a thread of nice 10 a tenth of what it gives one of nice 0 (sched_prio_to_weight: 110 of 1024), where both
// want a processor; where there is none beside it, all of it.
constexpr int kBackgroundNice = 10;

// Those that are shorter are not counted: connections bound them.
constexpr size_t kShortAnswerBytes = 4UL << 10;

struct Refusal {
  Response response;
  bool closes = false;  // the connection, instead of reading on
};

// One request and its answer, from the first header to the last byte of the reply.
struct Exchange {
  Request request;
  const Route* route = nullptr;
  std::optional<uint64_t> declared_bytes;
  bool has_body = false;
  std::optional<Refusal> refusal;
  std::optional<Response> response;  // of a handler that took long
  size_t charged_bytes = 0;          // what the body holds of the budget
  size_t unread_bytes = 0;           // what the answer holds of that of answers
  size_t discarded_bytes = 0;
  WorkPool* pool = nullptr;  // in which it has a place
  std::string place_of;      // the caller who has it
  bool counted = false;      // among the unfinished requests
};

std::optional<uint64_t> declared_length(const Request& request) {
  const std::string_view text = request.header(MHD_HTTP_HEADER_CONTENT_LENGTH);
  uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return length;
}

Exchange begun(Request request) {
  Exchange exchange;
  const bool chunked = !request.header(MHD_HTTP_HEADER_TRANSFER_ENCODING).empty();
  exchange.declared_bytes = chunked ? std::nullopt : declared_length(request);
  exchange.has_body = chunked || exchange.declared_bytes.value_or(0) > 0;
  exchange.request = std::move(request);
  return exchange;
}

Response too_large(const Exchange& exchange) {
  return error_response(fail(ErrorCode::kTooLarge, "{} {} takes a body of at most {} bytes",
                             exchange.request.method, exchange.request.path, exchange.route->max_body_bytes)
                            .error());
}

Response unavailable(std::string_view why, int64_t retry_after_s = 1) {
  Response response = error_response(Error{ErrorCode::kUnavailable, std::string(why), {}, "try again later"});
  response.headers = {{MHD_HTTP_HEADER_RETRY_AFTER, std::to_string(retry_after_s)}};
  return response;
}

Response busy() {
  return unavailable("the server is at its limit of buffered request bodies");
}

Response unread_answers() {
  return unavailable("the server is at its limit of unread responses");
}

// May throw std::bad_alloc alone.
Response response_of_handler(const Route& route, const Request& request) {
  std::string why;
  try {
    Response response = route.handle(request);
    if (response.status >= 200 && response.status <= 599) {
      return response;
    }
    why = fmt::format("handler answered with status {}", response.status);
  } catch (const std::bad_alloc&) {
    throw;  // not the handler's fault
  } catch (const std::exception& exception) {
    why = exception.what();
  } catch (...) {
    why = "unknown exception";
  }
  log_error("serving {} {}: {}", request.method, request.path, why);
  return error_response(Error{ErrorCode::kIo, "serving the request: " + why, {}, "see the server's log"});
}

// Without a word where there is no memory for one.
Response no_memory(const Request& request) noexcept {
  try {
    log_error("serving {} {}: there is no memory for it", request.method, request.path);
    return unavailable("the server has no memory for this now");
  } catch (const std::exception&) {
    return Response{.status = MHD_HTTP_SERVICE_UNAVAILABLE, .content_type = {}, .body = {}, .headers = {}};
  }
}

// Where there is memory for a line.
void note_dropped(const char* url, const char* why) noexcept {
  try {
    log_error("dropping a request for {}: {}", url, why);
  } catch (const std::exception&) {
    return;
  }
}

Response call_handler(const Route& route, const Request& request) noexcept {
  try {
    return response_of_handler(route, request);
  } catch (const std::bad_alloc&) {
    return no_memory(request);
  }
}

std::string caller_of(const Request& request) {
  return request.caller.name.empty() ? request.peer.substr(0, request.peer.rfind(':')) : request.caller.name;
}

WatchLimits watch_limits(const ListenerOptions& options) {
  return {.head_ns = options.head_timeout_s * kNsPerSecond,
          .grace_ns = options.grace_s * kNsPerSecond,
          .min_bytes_per_s = options.min_bytes_per_s,
          .max_connections = options.max_connections};
}

// In place of libmicrohttpd's: what comes after a zero byte would be lost, so that "%00" stays as it is.
size_t decode_percents(void* /*server*/, MHD_Connection* /*connection*/, char* text) noexcept {
  const auto digit_of = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  char* to = text;
  for (const char* from = text; *from != '\0';) {
    const int high = *from == '%' ? digit_of(from[1]) : -1;
    const int low = high < 0 ? -1 : digit_of(from[2]);
    if (low >= 0 && (high != 0 || low != 0)) {
      *to++ = static_cast<char>(high * 16 + low);
      from += 3;
    } else {
      *to++ = *from++;
    }
  }
  *to = '\0';
  return static_cast<size_t>(to - text);
}

}  // namespace

struct Listener::Server {
  class InHandler;

  Server(ListenerOptions given, RouteTable table)
      : options(std::move(given)),
        routes(std::move(table)),
        budget(options.max_buffered_bytes),
        unread(options.max_unread_bytes),
        watch(watch_limits(options)),
        long_ones({.threads = routes.has_any_for(Threads::kLong) ? options.long_threads : 0,
                   .places = options.max_long_requests}),
        background({.threads = routes.has_any_for(Threads::kBackground) ? options.background_threads : 0,
                    .nice = kBackgroundNice,
                    .places = options.max_long_requests}) {}

  MHD_Result begin(MHD_Connection* connection, const char* version, Exchange& exchange);
  std::optional<Refusal> refusal_of(Exchange& exchange);
  MHD_Result take_body(Exchange& exchange, std::string_view data);
  bool take_place(Exchange& exchange, WorkPool& pool);
  void leave_place(Exchange& exchange);
  bool reserve_body(Exchange& exchange, size_t bytes);
  void drop_body(Exchange& exchange);
  MHD_Result finish(MHD_Connection* connection, Exchange& exchange);
  MHD_Result answer(MHD_Connection* connection, Exchange& exchange, Response response, bool closes);
  void charge(Exchange& exchange, Response& response);
  bool enter_handler(Exchange& exchange);
  void leave_handler();
  // That of the requests of a route; null: they are handled at once.
  WorkPool* pool_of(const Route& route);
  static Response too_many(const Route& route, WorkPool& pool);
  static void put_behind_others(Response& response, WorkPool& pool) noexcept;
  void hand_over(MHD_Connection* connection, Exchange& exchange);
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
  ByteBudget budget;
  ByteBudget unread;  // of answers
  ConnectionWatch watch;
  std::once_flag stopped;
  std::atomic<unsigned> connections = 0;
  std::array<std::atomic<uint64_t>, std::tuple_size_v<decltype(ListenerCounts::answers)>> answers{};

  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;  // guarded by mutex, as are the counts
  unsigned in_handlers = 0;
  unsigned unfinished = 0;  // in a handler, or with a reply under way

  WorkPool long_ones;  // the last members: their threads use the others
  WorkPool background;
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
    exchange.refusal = refusal_of(exchange);
  }
  if (exchange.refusal && exchange.refusal->closes) {
    return answer(connection, exchange, std::move(exchange.refusal->response), /*closes=*/true);
  }
  return MHD_YES;
}

std::optional<Refusal> Listener::Server::refusal_of(Exchange& exchange) {
  const uint64_t declared_bytes = exchange.declared_bytes.value_or(0);
  const bool is_worth_reading =
      exchange.declared_bytes.has_value() ? declared_bytes <= kReadOnBytes : !exchange.has_body;
  if (options.access_control != nullptr) {
    if (auto refused = options.access_control->admit(exchange.request, *exchange.route)) {
      return Refusal{*std::move(refused), !is_worth_reading};
    }
  }
  if (declared_bytes > exchange.route->max_body_bytes) {
    return Refusal{too_large(exchange), true};
  }
  if (!budget.has_room(declared_bytes)) {
    return Refusal{busy(), true};
  }
  WorkPool* const pool = pool_of(*exchange.route);
  if (pool != nullptr && !unread.has_room(kShortAnswerBytes)) {
    watch.cut_slowest_reader();
    return Refusal{unread_answers(), declared_bytes > kReadOnBytes};
  }
  if (pool != nullptr && !take_place(exchange, *pool)) {
    return Refusal{too_many(*exchange.route, *pool), declared_bytes > kReadOnBytes};
  }
  return std::nullopt;
}

MHD_Result Listener::Server::answer(MHD_Connection* connection, Exchange& exchange, Response response,
                                    bool closes) {
  charge(exchange, response);
  if (options.access_control != nullptr) {
    options.access_control->answered(exchange.request, exchange.route, response.status);
  }
  ++answers[std::clamp(response.status / 100, 1U, 5U) - 1];
  enter(connection, ConnectionWatch::State::kReply, response.body.size());
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

WorkPool* Listener::Server::pool_of(const Route& route) {
  switch (route.threads) {
    case Threads::kConnections:
      return nullptr;
    case Threads::kLong:
      return &long_ones;
    case Threads::kBackground:
      return &background;
  }
  return nullptr;
}

bool Listener::Server::take_place(Exchange& exchange, WorkPool& pool) {
  exchange.place_of = options.serves_callers_in_turn ? caller_of(exchange.request) : std::string();
  exchange.pool = pool.take_place(exchange.place_of) ? &pool : nullptr;
  return exchange.pool != nullptr;
}

void Listener::Server::leave_place(Exchange& exchange) {
  if (WorkPool* const pool = std::exchange(exchange.pool, nullptr)) {
    pool->leave_place(exchange.place_of);
  }
}

// Charged as it arrives, not as it is declared: a client that only announces bodies holds nothing.
bool Listener::Server::reserve_body(Exchange& exchange, size_t bytes) {
  std::string& body = exchange.request.body;
  const size_t needed = body.size() + bytes;
  if (needed <= exchange.charged_bytes) {
    return true;
  }
  const size_t largest = exchange.declared_bytes.value_or(exchange.route->max_body_bytes);
  const size_t wanted = std::max(needed, std::min(2 * needed, largest));
  if (!budget.take(wanted - exchange.charged_bytes)) {
    return false;
  }
  exchange.charged_bytes = wanted;
  body.reserve(wanted);
  return true;
}

void Listener::Server::drop_body(Exchange& exchange) {
  exchange.request.body = std::string();
  budget.give_back(std::exchange(exchange.charged_bytes, 0));
}

MHD_Result Listener::Server::take_body(Exchange& exchange, std::string_view data) {
  if (!exchange.refusal) {
    if (data.size() > exchange.route->max_body_bytes - exchange.request.body.size()) {
      exchange.refusal = {too_large(exchange), true};
    } else if (!reserve_body(exchange, data.size())) {
      exchange.refusal = {busy(), true};
    } else {
      exchange.request.body += data;
      return MHD_YES;
    }
    drop_body(exchange);
  }
  exchange.discarded_bytes += data.size();
  return exchange.discarded_bytes <= kMaxDiscardedBytes ? MHD_YES : MHD_NO;
}

bool Listener::Server::enter_handler(Exchange& exchange) {
  const std::lock_guard lock(mutex);
  if (stopping) {
    return false;
  }
  ++in_handlers;
  ++unfinished;
  exchange.counted = true;
  return true;
}

void Listener::Server::leave_handler() {
  const std::lock_guard lock(mutex);
  --in_handlers;
  changed.notify_all();
}

MHD_Result Listener::Server::finish(MHD_Connection* connection, Exchange& exchange) {
  if (exchange.response) {
    return answer(connection, exchange, *std::move(exchange.response), /*closes=*/false);
  }
  if (exchange.refusal) {
    return answer(connection, exchange, std::move(exchange.refusal->response), exchange.refusal->closes);
  }
  if (!enter_handler(exchange)) {
    return answer(connection, exchange, unavailable("the server is stopping"), /*closes=*/true);
  }
  enter(connection, ConnectionWatch::State::kHandled);
  if (exchange.pool != nullptr) {
    hand_over(connection, exchange);
    return MHD_YES;
  }
  const InHandler leaves(*this);
  Response response = call_handler(*exchange.route, exchange.request);
  drop_body(exchange);
  return answer(connection, exchange, std::move(response), /*closes=*/false);
}

Response Listener::Server::too_many(const Route& route, WorkPool& pool) {
  Response response =
      unavailable(fmt::format("too many requests to {} are waiting", route.path), pool.next_turn_s());
  response.status = 429;
  return response;
}

void Listener::Server::put_behind_others(Response& response, WorkPool& pool) noexcept {
  try {
    if (response.ok() && pool.is_crowded()) {
      response.headers.emplace_back(MHD_HTTP_HEADER_RETRY_AFTER, std::to_string(pool.next_turn_s()));
    }
  } catch (const std::bad_alloc&) {
    return;  // the answer matters more
  }
}

// finish() is called again once the connection is resumed.
void Listener::Server::hand_over(MHD_Connection* connection, Exchange& exchange) {
  MHD_suspend_connection(connection);
  WorkPool& pool = *exchange.pool;
  try {
    pool.add(
        [this, connection, &exchange, &pool] {
          Response response = call_handler(*exchange.route, exchange.request);
          drop_body(exchange);
          leave_place(exchange);
          put_behind_others(response, pool);
          exchange.response = std::move(response);
          hand_back(connection);
        },
        exchange.place_of);
  } catch (const std::bad_alloc&) {
    exchange.response = no_memory(exchange.request);
    drop_body(exchange);
    leave_place(exchange);
    hand_back(connection);
  }
}

void Listener::Server::hand_back(MHD_Connection* connection) noexcept {
  MHD_resume_connection(connection);  // from here on the exchange may be gone
  leave_handler();
}

void Listener::Server::complete(Exchange& exchange) {
  unread.give_back(std::exchange(exchange.unread_bytes, 0));
  drop_body(exchange);
  leave_place(exchange);
  if (exchange.counted) {
    const std::lock_guard lock(mutex);
    --unfinished;
    changed.notify_all();
  }
}

MHD_Result Listener::Server::on_accept(void* server, const sockaddr* /*peer*/, socklen_t /*size*/) {
  auto& self = *static_cast<Server*>(server);
  const std::lock_guard lock(self.mutex);
  return self.stopping ? MHD_NO : MHD_YES;
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
      return self.take_body(exchange, {data, std::exchange(*data_size, 0)});
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
  std::unique_lock lock(mutex);
  stopping = true;
  changed.wait(lock, [this] { return in_handlers == 0; });
  changed.wait_for(lock, kReplyGrace, [this] { return unfinished == 0; });
  lock.unlock();
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
  further.push_back({MHD_OPTION_UNESCAPE_CALLBACK, reinterpret_cast<intptr_t>(&decode_percents), nullptr});
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
  return server_->budget.used_bytes();
}

size_t Listener::unread_bytes() const {
  return server_->unread.used_bytes();
}

ListenerCounts Listener::counts() const {
  ListenerCounts counts{.connections = server_->connections};
  std::ranges::copy(server_->answers, counts.answers.begin());
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

void Listener::stop() {
  std::call_once(server_->stopped, [this] { server_->stop(); });
}

Result<std::unique_ptr<Listener>> Listener::start(ListenerOptions options, std::vector<Route> routes) {
  if (options.threads == 0 || options.long_threads == 0 || options.background_threads == 0 ||
      options.max_connections < options.threads) {
    return fail(ErrorCode::kInvalid, "listening on {}: {} threads cannot serve {} connections",
                options.address, options.threads, options.max_connections);
  }
  for (const Route& route : routes) {
    if (route.max_body_bytes > options.max_buffered_bytes) {
      return fail(ErrorCode::kInvalid, "listening on {}: {} takes {} bytes, of which {} may be buffered",
                  options.address, route.path, route.max_body_bytes, options.max_buffered_bytes);
    }
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
