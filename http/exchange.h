// One request and its answer, while a listener has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/routes.h"
#include "http/work_pool.h"

struct MHD_Connection;

namespace plimsoll::http {

struct Refusal {
  Response response;
  bool closes = false;  // the connection, instead of reading on
};

// From the first header to the last byte of the reply.
struct Exchange {
  Request request;
  const Route* route = nullptr;
  std::optional<uint64_t> declared_bytes;
  bool has_body = false;
  std::optional<Refusal> refusal;
  std::optional<Response> response;  // of a pool's handler
  size_t charged_bytes = 0;          // what the body holds of the budget
  size_t unread_bytes = 0;           // what the answer holds of that of answers
  size_t discarded_bytes = 0;
  uint64_t sunk_bytes = 0;               // that Request::sink has taken
  int64_t begun_ns = 0;                  // monotonic
  WorkPool* pool = nullptr;              // in which it has a place
  std::string place_of;                  // the caller who has it
  bool counted = false;                  // among the unfinished requests
  MHD_Connection* connection = nullptr;  // of a request that waits for a LaterAnswer
};

// With what the head says of the body.
Exchange begun(Request request);

// Whose turn it is, and who has places: a token or machine by name, another client by its address.
std::string caller_of(const Request& request);

// 503, with Retry-After.
Response unavailable(std::string_view why, int64_t retry_after_s = 1);
// 413, of a route that takes less.
Response too_large(const Exchange& exchange);
// 503 without a body where there is no memory for one.
Response no_memory(const Request& request) noexcept;

// What the route's handler answers, or 500 where it throws. A question that nobody waits for any more is not handled: 503.
Response answer_of(const Route& route, const Request& request) noexcept;

}  // namespace plimsoll::http
