#include "appprof/http_server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "appprof/profile.h"
#include "appprof/thread_state.h"

namespace plimsoll::appprof {
namespace {

// A thread touches little of it; what it does not touch is only addresses. The C library puts the static thread-local variables of
// all that is linked there too.
constexpr size_t kStackBytes = size_t{1} << 20;
constexpr int64_t kReadTimeoutNs = 5'000'000'000;
constexpr int64_t kWriteTimeoutNs = 30'000'000'000;
// Between looks at whether the descriptors are still ours: no event tells that they were closed.
constexpr int kLookMs = 2000;

// Until something of `events` is there; false: the time is over.
bool wait_for(int descriptor, short events, int64_t until_ns) {
  pollfd poll{descriptor, events, 0};
  for (;;) {
    const int64_t left_ns = until_ns - monotonic_ns();
    const int ready = left_ns <= 0 ? 0 : ::poll(&poll, 1, static_cast<int>(left_ns / 1'000'000 + 1));
    if (ready >= 0 || errno != EINTR) {
      return ready > 0;
    }
  }
}

void write_all(int connection, std::string_view text) {
  const int64_t until_ns = monotonic_ns() + kWriteTimeoutNs;
  while (!text.empty() && wait_for(connection, POLLOUT, until_ns)) {
    // No SIGPIPE for the application.
    const ssize_t sent = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return;
    }
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(sent, 0)));
  }
}

// Appends what comes; false: nothing more in time.
bool read_more(int connection, std::string& content, size_t max_bytes, int64_t until_ns) {
  if (content.size() >= max_bytes || !wait_for(connection, POLLIN, until_ns)) {
    return false;
  }
  std::array<char, 4096> part{};
  const ssize_t size =
      ::recv(connection, part.data(), std::min(part.size(), max_bytes - content.size()), MSG_DONTWAIT);
  content.append(part.data(), size > 0 ? static_cast<size_t>(size) : 0);
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

// In a time that does not depend on where they differ.
bool is_same_secret(std::string_view given, std::string_view wanted) {
  unsigned difference = given.size() == wanted.size() ? 0 : 1;
  for (size_t i = 0; i < given.size() && i < wanted.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(wanted[i]);
  }
  return difference == 0;
}

}  // namespace

struct HttpServer::Connection {
  HttpServer* server;
  size_t slot;
};

bool RequestTime::sleep(int64_t ns) const {
  const int64_t until_ns = monotonic_ns() + ns;
  std::array<pollfd, 2> polls{pollfd{connection_, POLLRDHUP, 0}, pollfd{stop_event_, POLLIN, 0}};
  for (;;) {
    const int64_t left_ns = std::max<int64_t>(until_ns - monotonic_ns(), 0);
    const timespec left{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    if (::ppoll(polls.data(), polls.size(), &left, nullptr) > 0) {
      return false;
    }
    if (left_ns == 0) {
      return true;
    }
  }
}

HttpServer::~HttpServer() {
  stop();
}

bool HttpServer::start_thread(void* (*run)(void*), void* argument, pthread_t& thread) const {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  // A thread has its creator's mask: the application's signals must not be handled in ours.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int result = ::pthread_create(&thread, &attributes, run, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return result == 0;
}

std::string HttpServer::start(const ListenAddress& address) {
  std::string why;
  is_unix_socket_ = !address.path.empty();
  socket_ = open_listening_socket(address, why);
  identity_ = FileIdentity::of(socket_.descriptor);
  if (!why.empty()) {
    stop();
    return why;
  }
  stop_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  is_running_ = stop_event_ >= 0 && start_thread(&run_acceptor, this, acceptor_);
  if (!is_running_) {
    stop();
    return "cannot start the thread that serves profiles";
  }
  return {};
}

void HttpServer::stop() {
  is_stopping_.store(true);
  const bool are_ours = are_descriptors_ours();
  if (is_running_) {
    const uint64_t one = 1;
    if (are_ours && ::write(stop_event_, &one, sizeof(one)) < 0) {
      // It looks at is_stopping_ in kLookMs.
    }
    ::pthread_join(acceptor_, nullptr);
    std::unique_lock lock(mutex_);
    for (size_t slot = 0; slot < kMaxConnections; ++slot) {
      if (is_connection_ours(slot)) {
        ::shutdown(connections_[slot].load(), SHUT_RDWR);  // a client that does not read is not waited for
      }
    }
    is_idle_.wait(lock, [this] { return active_ == 0; });
    is_running_ = false;
  }
  for (int* descriptor : {&socket_.descriptor, &stop_event_}) {
    if (*descriptor >= 0 && are_ours) {
      ::close(*descriptor);
    }
    *descriptor = -1;
  }
  socket_.remove_path();
  socket_.path.clear();
}

void HttpServer::close_in_child() noexcept {
  if (!are_descriptors_ours()) {
    return;
  }
  ::close(socket_.descriptor);
  ::close(stop_event_);
  for (size_t slot = 0; slot < kMaxConnections; ++slot) {
    if (is_connection_ours(slot)) {
      ::close(connections_[slot].load());
    }
  }
}

bool HttpServer::is_connection_ours(size_t slot) const noexcept {
  const int descriptor = connections_[slot].load();
  return descriptor >= 0 && FileIdentity::of(descriptor) == identities_[slot];
}

bool HttpServer::is_own_thread(pid_t thread) const {
  return std::ranges::any_of(threads_, [thread](const auto& own) { return own.load() == thread; });
}

void HttpServer::enter_thread(size_t place) {
  t_state.is_inside = true;  // for good: waits and allocations of this thread are ours
  threads_[place].store(static_cast<pid_t>(::syscall(SYS_gettid)));
  ::pthread_setname_np(::pthread_self(), "appprof");
}

void* HttpServer::run_acceptor(void* self) {
  static_cast<HttpServer*>(self)->accept_connections();
  return nullptr;
}

void* HttpServer::run_connection(void* argument) {
  const std::unique_ptr<Connection> connection(static_cast<Connection*>(argument));
  const auto [server, slot] = *connection;
  server->enter_thread(slot);
  try {
    server->serve(server->connections_[slot].load(), slot);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): memory is short, also for saying so
  }
  server->threads_[slot].store(0);
  server->end_connection(slot);
  return nullptr;
}

// False: no more are taken.
bool HttpServer::wait_for_connection(RateLimit& limit) const {
  std::array<pollfd, 2> polls{pollfd{socket_.descriptor, POLLIN, 0}, pollfd{stop_event_, POLLIN, 0}};
  int ready = 0;
  while (ready <= 0) {
    ready = ::poll(polls.data(), polls.size(), kLookMs);
    if ((ready < 0 && errno != EINTR) || polls[1].revents != 0 || is_stopping_.load() ||
        !are_descriptors_ours()) {
      return false;
    }
  }
  while (!limit.take(monotonic_ns())) {
    if (::poll(&polls[1], 1, 20) > 0) {
      return false;
    }
  }
  return true;
}

void HttpServer::accept_connections() {
  enter_thread(kMaxConnections);
  RateLimit limit(connections_per_minute_, monotonic_ns());
  while (wait_for_connection(limit)) {
    const int connection = ::accept4(socket_.descriptor, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection >= 0) {
      try {
        start_connection(connection);
      } catch (const std::exception&) {  // memory is short, before the connection had a slot
        ::close(connection);
      }
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      pollfd stop{stop_event_, POLLIN, 0};
      ::poll(&stop, 1, 100);  // no descriptor or memory left: no spinning
    }
  }
}

void HttpServer::start_connection(int connection) {
  const auto* free = std::ranges::find_if(connections_, [](const auto& slot) { return slot.load() < 0; });
  if (free == connections_.end()) {
    const std::string answer = write_response(failed(503, "too many connections\n"));
    [[maybe_unused]] const ssize_t sent =
        ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(connection);
    return;
  }
  const auto slot = static_cast<size_t>(free - connections_.begin());
  auto argument = std::make_unique<Connection>(Connection{this, slot});
  identities_[slot] = FileIdentity::of(connection);
  connections_[slot].store(connection);
  {
    const std::lock_guard lock(mutex_);
    ++active_;
  }
  pthread_t thread{};
  if (start_thread(&run_connection, argument.get(), thread)) {
    // NOLINTNEXTLINE(bugprone-unused-return-value): it is the thread's now
    static_cast<void>(argument.release());
    ::pthread_detach(thread);
  } else {
    end_connection(slot);
  }
}

void HttpServer::end_connection(size_t slot) {
  const std::lock_guard lock(mutex_);
  // The slot first: in a child forked in between, the number may be another file's.
  const bool is_ours = is_connection_ours(slot);
  const int connection = connections_[slot].exchange(-1);
  if (is_ours) {
    ::close(connection);
  }
  --active_;
  is_idle_.notify_all();
}

void HttpServer::serve(int connection, size_t slot) {
  const std::string response = [&] {
    try {
      return write_response(answer(connection));
    } catch (const std::exception& problem) {  // memory is short
      return write_response(failed(503, std::string(problem.what()) + "\n"));
    }
  }();
  // A profile takes a minute; the program may have closed what it did not know, and the number be another's connection.
  if (!is_connection_ours(slot)) {
    return;
  }
  write_all(connection, response);
  // Reads what the client still sends, so that closing does not throw away what it has not read.
  ::shutdown(connection, SHUT_WR);
  std::string rest;
  const int64_t until_ns = monotonic_ns() + 1'000'000'000;
  while (read_more(connection, rest, kMaxBodyBytes, until_ns)) {
  }
}

Response HttpServer::answer(int connection) {
  const int64_t until_ns = monotonic_ns() + kReadTimeoutNs;
  std::string content;
  size_t end = std::string::npos;
  while ((end = content.find("\r\n\r\n")) == std::string::npos) {
    if (!read_more(connection, content, kMaxHeadBytes, until_ns)) {
      return failed(400, "no whole request: at most 8 KiB of head, within 5 s\n");
    }
  }
  std::optional<Request> request = parse_head(std::string_view(content).substr(0, end + 2));
  if (!request) {
    return failed(400, "no HTTP/1.1 request\n");
  }
  if (!token_.empty() && !is_same_secret(request->header("authorization"), "Bearer " + token_)) {
    return failed(401, "requires the header \"Authorization: Bearer TOKEN\"\n");
  }
  // A page of a browser may have a name that it makes resolve to this machine.
  const std::string host = request->header("host");
  const std::string site = request->header("sec-fetch-site");
  if (!request->header("origin").empty() || (!site.empty() && site != "none" && site != "same-origin") ||
      (token_.empty() && !is_unix_socket_ && !host.empty() && !is_address_or_localhost(host))) {
    return failed(403, "not for pages of a browser: use an address or localhost\n");
  }
  if (request->method != "GET" && request->method != "POST") {
    return failed(405, "GET and POST only\n");
  }
  const std::string length_text = request->header("content-length");
  const std::optional<int64_t> length =
      length_text.empty() ? std::optional<int64_t>(0) : parse_number(length_text);
  if (!length || static_cast<size_t>(*length) > kMaxBodyBytes) {
    return failed(413, "a body is at most 1 MiB\n");
  }
  if (request->header("expect") == "100-continue") {
    write_all(connection, "HTTP/1.1 100 Continue\r\n\r\n");
  }
  request->body = content.substr(end + 4, static_cast<size_t>(*length));
  while (request->body.size() < static_cast<size_t>(*length)) {
    if (!read_more(connection, request->body, static_cast<size_t>(*length), until_ns)) {
      return failed(400, "the body is shorter than its length\n");
    }
  }
  return handler_(*request, RequestTime(connection, stop_event_));
}

}  // namespace plimsoll::appprof
