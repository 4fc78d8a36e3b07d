// What the endpoints answer with.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "appprof/http_request.h"

namespace plimsoll::appprof {

inline constexpr int64_t kSecond = 1'000'000'000;

inline Response too_many(const std::string& words) {
  Response response = failed(429, words);
  response.headers["Retry-After"] = "1";
  return response;
}

inline bool wants_text(const Request& request) {
  const auto found = request.query.find("debug");
  return found != request.query.end() && found->second != "0";
}

// Held while a profile samples.
class Exclusive {
 public:
  explicit Exclusive(std::atomic<bool>& is_taken) : is_taken_(is_taken), has_it_(!is_taken.exchange(true)) {}
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;
  ~Exclusive() {
    if (has_it_) {
      is_taken_.store(false);
    }
  }
  explicit operator bool() const { return has_it_; }

 private:
  std::atomic<bool>& is_taken_;
  const bool has_it_;
};

inline constexpr const char* kBusy = "another profile that samples threads is under way: one at a time\n";

}  // namespace plimsoll::appprof
