// Clients that hold many connections and do little with them: slow heads, slow bodies, answers that nobody reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace plimsoll::bench {

// `text` a piece at a time, to so many connections, each of which is opened again when the server has ended it. For one thread;
// nothing waits.
class Pests {
 public:
  // `source` is a loopback address of their own, as strangers on a network have; it is borrowed.
  Pests(const char* source, uint16_t port, size_t count, std::string text, size_t piece_bytes)
      : source_(source), port_(port), text_(std::move(text)), piece_bytes_(piece_bytes), pests_(count) {}

  // One piece to each connection.
  void act();

 private:
  struct Pest {
    UniqueFd fd = {};
    size_t sent = 0;
  };
  const char* source_;
  const uint16_t port_;
  const std::string text_;
  const size_t piece_bytes_;
  std::vector<Pest> pests_;
};

}  // namespace plimsoll::bench
