// What was asked of a server under attack, and what it answered. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::soak {

// Of a request that was given up: the client went, or the server ended the connection without an answer.
inline constexpr unsigned kNoAnswer = 0;

class Tally {
 public:
  // `answer` is kept where the status is no permitted one (see is_permitted()).
  void count(std::string_view kind, unsigned status, std::string_view answer);

  // What took longest, for whoever looks for what a server is busy with.
  void note_time(double seconds, std::string_view request);
  // Lines "12.3 s GET /api/v1/...", the slowest first.
  std::vector<std::string> slowest() const;

  uint64_t requests() const;
  uint64_t with_status(unsigned status) const;
  // "12,345 requests (profiles 120, sql 40, ...); 2xx 80, 4xx 70, 503 8, unanswered 2".
  std::string text() const;
  // One line for each status and kind that is not permitted, with the first answer of that kind.
  std::vector<std::string> forbidden() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t, std::less<>> kinds_;
  std::map<unsigned, uint64_t> statuses_;
  std::map<std::string, std::string> forbidden_;
  std::multimap<double, std::string> slowest_;  // by seconds
};

// Of the server's errors:
//   503  it has no room now: requests, bodies or answers in flight, memory, disk
//   501  the head asks for what no HTTP server here has (an unknown transfer encoding)
//   505  the head is of another version of HTTP
//   507  it has no room for this one, now or later
// 500 says that something failed which nobody foresaw.
bool is_permitted(unsigned status);

}  // namespace plimsoll::soak
