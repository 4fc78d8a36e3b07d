// Ends connections that take too long: a client that is slow on purpose holds a place that others need, and never seems idle.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

namespace plimsoll::http {

struct WatchLimits {
  int64_t head_ns =
      0;  // for a connection's first head, its handshake among it, and from one request to the next's head
  int64_t grace_ns = 0;         // before bodies and answers have to keep to the rate
  int64_t min_bytes_per_s = 1;  // of bodies, and of answers that a client reads
  size_t max_connections =
      0;  // with nine tenths of them open, one goes for each that comes: idle ones first, then slow ones
};

// Any thread may call. A thread of its own looks at all connections once a second.
class ConnectionWatch {
 public:
  explicit ConnectionWatch(const WatchLimits& limits);
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;
  // All connections have ended.
  ~ConnectionWatch();

  enum class State : uint8_t {
    kHead,     // nothing of a request has been understood yet
    kBody,     // is being received
    kHandled,  // by us: the client is not to blame
    kReply,    // is being sent
    kIdle,     // between two requests
  };
  struct Connection {
    int fd = -1;
    State state = State::kHead;
    int64_t since_ns = 0;  // monotonic, of the state
    uint64_t bytes = 0;    // of the body so far, or of the whole answer
    bool is_cut = false;
  };
  using Handle = std::list<Connection>::iterator;

  // Borrows the socket until end(), before which it must not be closed.
  Handle begin(int fd);
  void end(Handle connection);

  void enter(Handle connection, State state, uint64_t bytes = 0);
  void received(Handle connection, uint64_t bytes);
  // Ends the one that has been reading its answer longest, where it has had seconds for it.
  void cut_slowest_reader();

 private:
  void watch();
  // These want the mutex held.
  bool is_late(const Connection& connection, int64_t now_ns) const;
  void cut(Connection& connection);
  // Null: none is in that state since before then.
  Connection* longest_in(State state, int64_t since_before_ns);
  void make_room();

  const WatchLimits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Connection> connections_;  // guarded by mutex_, as all below
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::http
