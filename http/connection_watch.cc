#include "http/connection_watch.h"

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <iterator>

#include "base/time.h"

namespace plimsoll::http {
namespace {

constexpr std::chrono::seconds kBetweenLooks{1};
constexpr int64_t kShortestReadingNs = 5 * kNsPerSecond;

// Under pressure: whoever asks nothing, then whoever takes longer than anybody who means it.
struct FirstToGo {
  ConnectionWatch::State state;
  int64_t shortest_ns;  // that it has been so
};
constexpr std::array<FirstToGo, 4> kFirstToGo{{{ConnectionWatch::State::kIdle, 0},
                                               {ConnectionWatch::State::kHead, kNsPerSecond},
                                               {ConnectionWatch::State::kReply, kShortestReadingNs},
                                               {ConnectionWatch::State::kBody, kShortestReadingNs}}};

}  // namespace

ConnectionWatch::ConnectionWatch(const WatchLimits& limits) : limits_(limits), thread_([this] { watch(); }) {}

ConnectionWatch::~ConnectionWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

ConnectionWatch::Handle ConnectionWatch::begin(int fd) {
  const std::lock_guard lock(mutex_);
  make_room();
  connections_.push_back(Connection{.fd = fd, .since_ns = monotonic_now_ns()});
  return std::prev(connections_.end());
}

void ConnectionWatch::end(Handle connection) {
  const std::lock_guard lock(mutex_);
  connections_.erase(connection);
}

void ConnectionWatch::enter(Handle connection, State state, uint64_t bytes) {
  const int64_t now_ns = monotonic_now_ns();
  const std::lock_guard lock(mutex_);
  connection->state = state;
  connection->since_ns = now_ns;
  connection->bytes = bytes;
}

void ConnectionWatch::received(Handle connection, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  connection->bytes += bytes;
}

void ConnectionWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenLooks, [this] { return is_ending_; })) {
    const int64_t now_ns = monotonic_now_ns();
    for (Connection& connection : connections_) {
      if (is_late(connection, now_ns)) {
        cut(connection);
      }
    }
  }
}

bool ConnectionWatch::is_late(const Connection& connection, int64_t now_ns) const {
  const int64_t taken_ns = now_ns - connection.since_ns;
  const double bytes_left =
      static_cast<double>(connection.bytes) / static_cast<double>(limits_.min_bytes_per_s);
  const double allowed_ns =
      static_cast<double>(limits_.grace_ns) + bytes_left * static_cast<double>(kNsPerSecond);
  switch (connection.state) {
    case State::kHead:
    case State::kIdle:
      return taken_ns > limits_.head_ns;
    case State::kBody:
    case State::kReply:
      return static_cast<double>(taken_ns) > allowed_ns;
    case State::kHandled:
      return false;
  }
  return false;
}

// Whoever serves the connection finds it at its end, and closes it. That resets it: otherwise the kernel would keep what a
// client does not read, which may be megabytes, for minutes.
void ConnectionWatch::cut(Connection& connection) {
  if (!connection.is_cut) {
    connection.is_cut = true;
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(connection.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::shutdown(connection.fd, SHUT_RDWR);
  }
}

// The list is by time of the connection, and not of the state: all are looked at.
ConnectionWatch::Connection* ConnectionWatch::longest_in(State state, int64_t since_before_ns) {
  Connection* longest = nullptr;
  for (Connection& connection : connections_) {
    const bool is_candidate =
        connection.state == state && !connection.is_cut && connection.since_ns < since_before_ns;
    if (is_candidate && (longest == nullptr || connection.since_ns < longest->since_ns)) {
      longest = &connection;
    }
  }
  return longest;
}

void ConnectionWatch::make_room() {
  if (limits_.max_connections == 0 || connections_.size() * 10 < limits_.max_connections * 9) {
    return;
  }
  const int64_t now_ns = monotonic_now_ns();
  for (const auto& [state, shortest_ns] : kFirstToGo) {
    if (Connection* const longest = longest_in(state, now_ns - shortest_ns)) {
      return cut(*longest);
    }
  }
}

void ConnectionWatch::cut_slowest_reader() {
  const std::lock_guard lock(mutex_);
  if (Connection* const longest = longest_in(State::kReply, monotonic_now_ns() - kShortestReadingNs)) {
    cut(*longest);
  }
}

}  // namespace plimsoll::http
