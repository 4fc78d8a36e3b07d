#include "http/listener.h"

#include <microhttpd.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>

#include "base/log.h"
#include "base/time.h"
#include "http/address.h"
#include "http/return_times.h"
#include "http/worker_threads.h"

namespace plimsoll::http {
namespace {

constexpr std::chrono::seconds kReplyGrace{5};

// A client whose body was refused while it was sending may go on this far before it is cut off.
constexpr size_t kMostDiscardedBytes = 16UL << 20;

// Where a client is to come again soon, reading on costs less than a new connection, and it surely hears for how long to wait.
constexpr uint64_t kReadOnBytes = 1UL << 20;

// Bytes of bodies held by all connections.
class BodyBudget {
 public:
  explicit BodyBudget(size_t max_bytes) : max_bytes_(max_bytes) {}

  bool take(size_t bytes) {
    size_t used = used_bytes_.load();
    do {
      if (bytes > max_bytes_ - used) {
        return false;
      }
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  void give_back(size_t bytes) { used_bytes_ -= bytes; }
  bool has_room(uint64_t bytes) const { return bytes <= max_bytes_ - used_bytes_.load(); }
  size_t used_bytes() const { return used_bytes_.load(); }

 private:
  const size_t max_bytes_;
  std::atomic<size_t> used_bytes_ = 0;
};

// Of those requests that take long: each has a place from its head until its handler has returned.
class Places {
 public:
  explicit Places(size_t count) : free_(count) {}

  bool take() {
    size_t free = free_.load();
    while (free > 0 && !free_.compare_exchange_weak(free, free - 1)) {
    }
    return free > 0;
  }
  void give_back() { ++free_; }

 private:
  std::atomic<size_t> free_;
};

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
  size_t discarded_bytes = 0;
  bool has_place = false;
  bool counted = false;  // among the unfinished requests
};

struct FieldSink {
  Fields fields;
  bool complete = true;
};

MHD_Result append_field(void* sink, MHD_ValueKind /*kind*/, const char* name, size_t name_size,
                        const char* value, size_t value_size) noexcept {
  auto& target = *static_cast<FieldSink*>(sink);
  try {
    target.fields.emplace_back(std::string(name, name_size),
                               value == nullptr ? std::string() : std::string(value, value_size));
    return MHD_YES;
  } catch (...) {
    target.complete = false;
    return MHD_NO;
  }
}

Fields fields_of(MHD_Connection* connection, MHD_ValueKind kind) {
  FieldSink sink;
  MHD_get_connection_values_n(connection, kind, &append_field, &sink);
  if (!sink.complete) {
    throw std::bad_alloc();
  }
  return std::move(sink.fields);
}

std::optional<uint64_t> declared_length(const Request& request) {
  const std::string_view text = request.header(MHD_HTTP_HEADER_CONTENT_LENGTH);
  uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return length;
}

// Nobody else reads from the connection while its handler runs.
bool has_gone(int connection_fd) {
  pollfd polled{.fd = connection_fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void read_head(MHD_Connection* connection, const char* url, const char* method, Exchange& exchange) {
  Request& request = exchange.request;
  request.method = method;
  request.path = url;
  request.query = fields_of(connection, MHD_GET_ARGUMENT_KIND);
  request.headers = fields_of(connection, MHD_HEADER_KIND);
  if (const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)) {
    request.peer = text_of(info->client_addr);
  }
  if (const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)) {
    request.client_has_gone = [fd = info->connect_fd] { return has_gone(fd); };
  }
  const bool chunked = !request.header(MHD_HTTP_HEADER_TRANSFER_ENCODING).empty();
  exchange.declared_bytes = chunked ? std::nullopt : declared_length(request);
  exchange.has_body = chunked || exchange.declared_bytes.value_or(0) > 0;
}

Response too_large(const Exchange& exchange) {
  return error_response(fail(ErrorCode::kTooLarge, "{} {} takes a body of at most {} bytes",
                             exchange.request.method, exchange.request.path, exchange.route->max_body_bytes)
                            .error());
}

Response unavailable(std::string_view why, int64_t retry_after_s = 1) {
  Response response = error_response(Error{ErrorCode::kUnavailable, std::string(why), {}, "try again later"});
  response.headers.emplace_back(MHD_HTTP_HEADER_RETRY_AFTER, std::to_string(retry_after_s));
  return response;
}

Response busy() {
  return unavailable("the server holds as many request bodies as it may");
}

Response call_handler(const Route& route, const Request& request) {
  std::string why;
  try {
    Response response = route.handle(request);
    if (response.status >= 200 && response.status <= 599) {
      return response;
    }
    why = fmt::format("handler answered with status {}", response.status);
  } catch (const std::exception& exception) {
    why = exception.what();
  } catch (...) {
    why = "unknown exception";
  }
  log_error("serving {} {}: {}", request.method, request.path, why);
  return error_response(Error{ErrorCode::kIo, "serving the request: " + why, {}, "see the server's log"});
}

void free_body(void* body) {
  delete static_cast<std::string*>(body);
}

void add_header(MHD_Response* reply, const std::string& name, const std::string& value) {
  if (MHD_add_response_header(reply, name.c_str(), value.c_str()) != MHD_YES) {
    log_error("leaving out response header {}: not a header", name);
  }
}

MHD_Result queue(MHD_Connection* connection, Response response, bool close) {
  auto* const body = new std::string(std::move(response.body));  // free_body() deletes it
  MHD_Response* const reply =
      MHD_create_response_from_buffer_with_free_callback_cls(body->size(), body->data(), &free_body, body);
  if (reply == nullptr) {
    free_body(body);
    return MHD_NO;
  }
  if (!response.content_type.empty()) {
    add_header(reply, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type);
  }
  for (const auto& [name, value] : response.headers) {
    add_header(reply, name, value);
  }
  if (close) {
    add_header(reply, MHD_HTTP_HEADER_CONNECTION, "close");
  }
  const MHD_Result queued = MHD_queue_response(connection, response.status, reply);
  MHD_destroy_response(reply);
  return queued;
}

}  // namespace

struct Listener::Server {
  Server(ListenerOptions given, RouteTable table)
      : options(std::move(given)),
        routes(std::move(table)),
        budget(options.max_buffered_bytes),
        places(options.max_long_requests),
        workers(routes.has_long_ones() ? options.long_threads : 0) {}

  MHD_Result begin(MHD_Connection* connection, Exchange& exchange);
  MHD_Result take_body(Exchange& exchange, std::string_view data);
  bool take_place(Exchange& exchange);
  void leave_place(Exchange& exchange);
  bool reserve_body(Exchange& exchange, size_t bytes);
  void drop_body(Exchange& exchange);
  MHD_Result finish(MHD_Connection* connection, Exchange& exchange);
  bool enter_handler(Exchange& exchange);
  void leave_handler();
  Response too_many(const Route& route);
  void hand_over(MHD_Connection* connection, Exchange& exchange);
  void complete(Exchange& exchange);
  void stop();

  static MHD_Result on_accept(void* server, const sockaddr* peer, socklen_t size);
  static MHD_Result on_request(void* server, MHD_Connection* connection, const char* url, const char* method,
                               const char* version, const char* data, size_t* data_size,
                               void** state) noexcept;
  static void on_completed(void* server, MHD_Connection* connection, void** state,
                           MHD_RequestTerminationCode code);

  const ListenerOptions options;
  const RouteTable routes;
  std::string address;
  uint16_t port = 0;
  MHD_Daemon* daemon = nullptr;
  BodyBudget budget;
  Places places;
  std::once_flag stopped;

  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;  // guarded by mutex, as are the counts
  unsigned in_handlers = 0;
  unsigned unfinished = 0;  // in a handler, or with a reply under way

  ReturnTimes return_times;
  WorkerThreads workers;  // the last member: its threads use the others
};

MHD_Result Listener::Server::begin(MHD_Connection* connection, Exchange& exchange) {
  RouteMatch match = routes.match(exchange.request.method, exchange.request.path);
  exchange.route = match.route;
  if (exchange.request.method == MHD_HTTP_METHOD_HEAD) {
    exchange.request.method = MHD_HTTP_METHOD_GET;
  }
  const uint64_t declared_bytes = exchange.declared_bytes.value_or(0);
  if (match.route == nullptr) {
    exchange.refusal = {std::move(match.refusal), exchange.has_body};
  } else if (declared_bytes > match.route->max_body_bytes) {
    exchange.refusal = {too_large(exchange), true};
  } else if (!budget.has_room(declared_bytes)) {
    exchange.refusal = {busy(), true};
  } else if (match.route->takes_long && !take_place(exchange)) {
    exchange.refusal = {too_many(*match.route), declared_bytes > kReadOnBytes};
  }
  if (exchange.refusal && exchange.refusal->closes) {
    return queue(connection, std::move(exchange.refusal->response), /*close=*/true);
  }
  return MHD_YES;
}

bool Listener::Server::take_place(Exchange& exchange) {
  exchange.has_place = places.take();
  return exchange.has_place;
}

void Listener::Server::leave_place(Exchange& exchange) {
  if (std::exchange(exchange.has_place, false)) {
    places.give_back();
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
  return exchange.discarded_bytes <= kMostDiscardedBytes ? MHD_YES : MHD_NO;
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
    return queue(connection, *std::move(exchange.response), /*close=*/false);
  }
  if (exchange.refusal) {
    return queue(connection, std::move(exchange.refusal->response), exchange.refusal->closes);
  }
  if (!enter_handler(exchange)) {
    return queue(connection, unavailable("the server is stopping"), /*close=*/true);
  }
  if (exchange.route->takes_long) {
    hand_over(connection, exchange);
    return MHD_YES;
  }
  Response response = call_handler(*exchange.route, exchange.request);
  drop_body(exchange);
  const MHD_Result queued = queue(connection, std::move(response), /*close=*/false);
  leave_handler();
  return queued;
}

Response Listener::Server::too_many(const Route& route) {
  Response response = unavailable(fmt::format("more requests to {} have come than may wait", route.path),
                                  return_times.next_s(monotonic_now_ns(), workers.pace_ns()));
  response.status = 429;
  return response;
}

// finish() is called again once the connection is resumed.
void Listener::Server::hand_over(MHD_Connection* connection, Exchange& exchange) {
  MHD_suspend_connection(connection);
  workers.add([this, connection, &exchange] {
    exchange.response = call_handler(*exchange.route, exchange.request);
    drop_body(exchange);
    leave_place(exchange);
    MHD_resume_connection(connection);  // from here on the exchange may be gone
    leave_handler();
  });
}

void Listener::Server::complete(Exchange& exchange) {
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
                                        const char* method, const char* /*version*/, const char* data,
                                        size_t* data_size, void** state) noexcept {
  auto& self = *static_cast<Server*>(server);
  try {
    if (*state == nullptr) {
      auto* const created = new Exchange;
      *state = created;  // on_completed() deletes it
      read_head(connection, url, method, *created);
      return self.begin(connection, *created);
    }
    auto& exchange = *static_cast<Exchange*>(*state);
    if (*data_size != 0) {
      return self.take_body(exchange, {data, std::exchange(*data_size, 0)});
    }
    return self.finish(connection, exchange);
  } catch (const std::exception& exception) {
    log_error("dropping a request for {}: {}", url, exception.what());
    return MHD_NO;
  }
}

void Listener::Server::on_completed(void* server, MHD_Connection* /*connection*/, void** state,
                                    MHD_RequestTerminationCode /*code*/) {
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

void Listener::stop() {
  std::call_once(server_->stopped, [this] { server_->stop(); });
}

Result<std::unique_ptr<Listener>> Listener::start(ListenerOptions options, std::vector<Route> routes) {
  if (options.threads == 0 || options.long_threads == 0 || options.max_connections < options.threads) {
    return fail(ErrorCode::kInvalid, "listening on {}: {} threads cannot serve {} connections",
                options.address, options.threads, options.max_connections);
  }
  for (const Route& route : routes) {
    if (route.max_body_bytes > options.max_buffered_bytes) {
      return fail(ErrorCode::kInvalid, "listening on {}: {} takes {} bytes, of which {} may be buffered",
                  options.address, route.path, route.max_body_bytes, options.max_buffered_bytes);
    }
  }
  auto table = RouteTable::create(std::move(routes));
  if (!table) {
    return propagate(table, "listening on {}", options.address);
  }
  auto socket = listen_on(options.address, options.allow_beyond_loopback);
  if (!socket) {
    return propagate(socket);
  }
  auto server = std::make_unique<Server>(std::move(options), *std::move(table));
  server->address = socket->address;
  server->port = socket->port;
  const unsigned threads = server->options.threads;
  server->daemon = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, &Server::on_accept, server.get(),
      &Server::on_request, server.get(), MHD_OPTION_LISTEN_SOCKET, socket->fd.release(),
      MHD_OPTION_CONNECTION_LIMIT, server->options.max_connections, MHD_OPTION_CONNECTION_TIMEOUT,
      server->options.timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, server->options.connection_bytes,
      MHD_OPTION_NOTIFY_COMPLETED, &Server::on_completed, server.get(),
      // A pool of one is refused.
      threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, MHD_OPTION_END);
  if (server->daemon == nullptr) {
    return with_hint(fail(ErrorCode::kIo, "listening on {}: starting {} threads", server->address, threads),
                     "check the limits on threads and open files (ulimit -u, ulimit -n)");
  }
  return std::unique_ptr<Listener>(new Listener(std::move(server)));
}

}  // namespace plimsoll::http
