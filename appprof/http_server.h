// Serves small requests from a few threads.
//
// Written by hand, of what HTTP/1.1 a profile needs: GET and POST, one request a connection. A library would be libmicrohttpd, which
// brings GnuTLS and eight more into every program that preloads this one, with constructors and fork handlers of their own, and
// whose descriptors a forked child cannot close.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "appprof/file_identity.h"
#include "appprof/http_request.h"
#include "appprof/listening_socket.h"
#include "appprof/rate_limit.h"

namespace plimsoll::appprof {

// A request's own time: it ends early when the client has gone or the server stops.
class RequestTime {
 public:
  RequestTime(int connection, int stop_event) : connection_(connection), stop_event_(stop_event) {}
  // False: ended early.
  bool sleep(int64_t ns) const;

 private:
  const int connection_;
  const int stop_event_;
};

class HttpServer {
 public:
  using Handler = std::function<Response(const Request&, const RequestTime&)>;

  static constexpr size_t kMaxConnections = 8;
  static constexpr size_t kMaxHeadBytes = 8 << 10;
  static constexpr size_t kMaxBodyBytes = 1 << 20;

  // Connections over the rate wait, so that a storm of them costs the application little.
  HttpServer(std::string token, uint32_t connections_per_minute, Handler handler)
      : token_(std::move(token)),
        connections_per_minute_(connections_per_minute),
        handler_(std::move(handler)) {
    for (std::atomic<int>& connection : connections_) {
      connection.store(-1);
    }
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // Listens, and starts the thread. Returns why not; empty: it serves.
  std::string start(const ListenAddress& address);
  // Waits for its threads; answers under way end, and connections are cut.
  void stop();

  // "http://127.0.0.1:41234" or "unix:/path".
  const std::string& address() const { return socket_.shown_address; }
  // At exit, in place of stop(): the path of the Unix socket, and nothing else.
  void remove_path() const noexcept { socket_.remove_path(); }

  // Of this server; any thread.
  bool is_own_thread(pid_t thread) const;

  // In a forked child, where none of the threads is: closes what was inherited, and nothing else. The object is leaked then.
  void close_in_child() noexcept;

 private:
  struct Connection;

  bool start_thread(void* (*run)(void*), void* argument, pthread_t& thread) const;
  void accept_connections();
  void start_connection(int connection);
  void end_connection(size_t slot);
  bool wait_for_connection(RateLimit& limit) const;
  bool are_descriptors_ours() const noexcept { return FileIdentity::of(socket_.descriptor) == identity_; }
  // False also where the slot is free.
  bool is_connection_ours(size_t slot) const noexcept;
  void serve(int connection, size_t slot);
  Response answer(int connection);
  void enter_thread(size_t place);
  static void* run_acceptor(void* self);
  static void* run_connection(void* argument);

  const std::string token_;
  const uint32_t connections_per_minute_;
  const Handler handler_;
  bool is_unix_socket_ = false;
  ListeningSocket socket_;
  int stop_event_ = -1;  // readable from stop() on
  // A program that closes all descriptors, as daemons do at their start, closes both; then the numbers may be other files'.
  FileIdentity identity_;
  pthread_t acceptor_{};
  bool is_running_ = false;

  std::array<std::atomic<int>, kMaxConnections>
      connections_;  // descriptors; -1: free. Closed with mutex_ held
  std::array<FileIdentity, kMaxConnections>
      identities_;  // of the connections, as identity_; written before them
  std::array<std::atomic<pid_t>, kMaxConnections + 1> threads_{};
  std::mutex mutex_;
  std::condition_variable is_idle_;
  size_t active_ = 0;  // guarded by mutex_
  std::atomic<bool> is_stopping_{false};
};

}  // namespace plimsoll::appprof
