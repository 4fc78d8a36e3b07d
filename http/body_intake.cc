#include "http/body_intake.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/time.h"

namespace plimsoll::http {
namespace {

// A client whose body was refused while it was sending may go on this far before it is cut off: one that reads no answer before it has
// sent everything learns why it was refused.
constexpr size_t kMaxDiscardedBytes = 16UL << 20;

Response full_buffers() {
  return unavailable("the server is at its limit of buffered request bodies");
}

// Why the sink does not take it.
std::optional<Response> sink_piece(Exchange& exchange, std::string_view data) {
  if (data.size() > exchange.route->max_body_bytes - exchange.sunk_bytes) {
    return too_large(exchange);
  }
  if (monotonic_now_ns() - exchange.begun_ns >= exchange.route->max_body_ns) {
    return error_response(fail(ErrorCode::kUnavailable, "the body took longer than {} s: {} bytes have come",
                               exchange.route->max_body_ns / kNsPerSecond, exchange.sunk_bytes)
                              .error());
  }
  if (!exchange.request.sink) {
    if (auto refused = BodyIntake::begin_sink(exchange)) {
      return refused;
    }
  }
  exchange.sunk_bytes += data.size();
  const Status taken = exchange.request.sink->take(as_bytes(data));
  return taken ? std::nullopt : std::optional(error_response(taken.error()));
}

}  // namespace

std::optional<Response> BodyIntake::refusal_of_declared(const Exchange& exchange) const {
  const uint64_t declared_bytes = exchange.declared_bytes.value_or(0);
  if (declared_bytes > exchange.route->max_body_bytes) {
    return too_large(exchange);
  }
  if (!exchange.route->begin_body && !budget_.has_room(declared_bytes)) {
    return full_buffers();
  }
  return std::nullopt;
}

std::optional<Response> BodyIntake::begin_sink(Exchange& exchange) {
  auto sink = exchange.route->begin_body(exchange.request);
  if (!sink) {
    return error_response(sink.error());
  }
  exchange.request.sink = *std::move(sink);
  return std::nullopt;
}

bool BodyIntake::take(Exchange& exchange, std::string_view data) {
  if (!exchange.refusal) {
    auto refused = exchange.route->begin_body ? sink_piece(exchange, data) : buffer(exchange, data);
    if (!refused) {
      return true;
    }
    exchange.refusal = {*std::move(refused), true};
    drop(exchange);
  }
  exchange.discarded_bytes += data.size();
  return exchange.discarded_bytes <= kMaxDiscardedBytes;
}

void BodyIntake::drop(Exchange& exchange) {
  exchange.request.body = std::string();
  exchange.request.sink.reset();
  budget_.give_back(std::exchange(exchange.charged_bytes, 0));
}

std::optional<Response> BodyIntake::buffer(Exchange& exchange, std::string_view data) {
  if (data.size() > exchange.route->max_body_bytes - exchange.request.body.size()) {
    return too_large(exchange);
  }
  if (!reserve(exchange, data.size())) {
    return full_buffers();
  }
  exchange.request.body += data;
  return std::nullopt;
}

// Charged as it arrives, not as it is declared: a client that only announces bodies holds nothing.
bool BodyIntake::reserve(Exchange& exchange, size_t bytes) {
  std::string& body = exchange.request.body;
  const size_t needed = body.size() + bytes;
  if (needed <= exchange.charged_bytes) {
    return true;
  }
  const size_t largest = exchange.declared_bytes.value_or(exchange.route->max_body_bytes);
  const size_t wanted = std::max(needed, std::min(2 * needed, largest));
  if (!budget_.take(wanted - exchange.charged_bytes)) {
    return false;
  }
  exchange.charged_bytes = wanted;
  body.reserve(wanted);
  return true;
}

}  // namespace plimsoll::http
