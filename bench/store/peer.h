// Another database, in a process of its own, which does what it is told on a line and answers with a line.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::bench {

// A script for node beside this file, duckdb.mjs or clickhouse.mjs; ended when destroyed. Start it from the main thread: it
// ends with the thread that started it.
class Peer {
 public:
  // `name` is the script's; it keeps its files below `folder`. kNotFound, with a hint, where node or the package is missing.
  static Result<Peer> start(const std::string& name, const std::string& folder);

  Peer(Peer&& other) noexcept
      : name_(std::move(other.name_)),
        pid_(std::exchange(other.pid_, -1)),
        socket_(std::move(other.socket_)),
        read_(std::move(other.read_)) {}
  Peer& operator=(Peer&&) = delete;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  const std::string& name() const { return name_; }

  // What it answers to a command of bench/store/peer.mjs. An error that it reports is kInvalid.
  Result<std::string> ask(const std::string& command);
  Result<double> ask_number(const std::string& command);

 private:
  Peer(std::string name, pid_t pid, UniqueFd socket)
      : name_(std::move(name)), pid_(pid), socket_(std::move(socket)) {}
  Result<std::string> read_line();

  std::string name_;
  pid_t pid_;
  UniqueFd socket_;
  std::string read_;  // what came after the last line
};

}  // namespace plimsoll::bench
