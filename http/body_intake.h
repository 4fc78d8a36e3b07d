// What becomes of a request's body while it arrives: it is collected for the handler, given to the route's sink piece by piece, or
// discarded once the request is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http/byte_budget.h"
#include "http/exchange.h"

namespace plimsoll::http {

// Of all connections of a listener. Any thread; an exchange is of one thread at a time.
class BodyIntake {
 public:
  explicit BodyIntake(size_t max_buffered_bytes) : budget_(max_buffered_bytes) {}

  // Why a request with the head that `exchange` has is refused before a byte of its body is read: it declares more than its route
  // takes, or than may be buffered now.
  std::optional<Response> refusal_of_declared(const Exchange& exchange) const;

  // Opens the sink of a route that has one; why it refuses.
  static std::optional<Response> begin_sink(Exchange& exchange);

  // The next bytes. Where they are refused, `exchange` has its refusal, and this and all that follow are discarded. False: the client has
  // sent so much of a refused body that its connection is to be cut.
  bool take(Exchange& exchange, std::string_view data);

  // Lets go of the body and its sink, when the handler has ended or the request is over.
  void drop(Exchange& exchange);

  size_t buffered_bytes() const { return budget_.used_bytes(); }

 private:
  std::optional<Response> buffer(Exchange& exchange, std::string_view data);
  bool reserve(Exchange& exchange, size_t bytes);

  ByteBudget budget_;
};

}  // namespace plimsoll::http
