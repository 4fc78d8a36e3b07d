// The answer to a request that another thread gives later (Route::handle_later).
#pragma once

#include <functional>
#include <utility>

#include "http/message.h"

namespace plimsoll::http {

// Answers one request, once, from any thread. Destroyed without an answer, it gives 500, so that no client waits for good.
class LaterAnswer {
 public:
  // Called once; must not throw.
  using Give = std::function<void(Response)>;

  explicit LaterAnswer(Give give) : give_(std::move(give)) {}
  LaterAnswer(LaterAnswer&& other) noexcept : give_(std::exchange(other.give_, nullptr)) {}
  LaterAnswer& operator=(LaterAnswer&& other) noexcept {
    give_.swap(other.give_);
    return *this;
  }
  LaterAnswer(const LaterAnswer&) = delete;
  LaterAnswer& operator=(const LaterAnswer&) = delete;
  ~LaterAnswer();

  // The second time nothing happens.
  void give(Response response) {
    if (const Give once = std::exchange(give_, nullptr)) {
      once(std::move(response));
    }
  }

 private:
  Give give_;  // empty: it was given, or moved away
};

}  // namespace plimsoll::http
