#include "http/exchange.h"

#include <microhttpd.h>

#include <charconv>
#include <exception>
#include <new>

#include "base/log.h"
#include "base/time.h"

namespace plimsoll::http {
namespace {

std::optional<uint64_t> declared_length(const Request& request) {
  const std::string_view text = request.header(MHD_HTTP_HEADER_CONTENT_LENGTH);
  uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return length;
}

// May throw std::bad_alloc alone.
Response response_of_handler(const Route& route, const Request& request) {
  std::string why;
  try {
    Response response = route.handle(request);
    if (response.status >= 200 && response.status <= 599) {
      return response;
    }
    why = fmt::format("handler answered with status {}", response.status);
  } catch (const std::bad_alloc&) {
    throw;  // not the handler's fault
  } catch (const std::exception& exception) {
    why = exception.what();
  } catch (...) {
    why = "unknown exception";
  }
  log_error("serving {} {}: {}", request.method, request.path, why);
  return error_response(Error{ErrorCode::kIo, "serving the request: " + why, {}, "see the server's log"});
}

}  // namespace

Exchange begun(Request request) {
  Exchange exchange;
  exchange.begun_ns = monotonic_now_ns();
  const bool chunked = !request.header(MHD_HTTP_HEADER_TRANSFER_ENCODING).empty();
  exchange.declared_bytes = chunked ? std::nullopt : declared_length(request);
  exchange.has_body = chunked || exchange.declared_bytes.value_or(0) > 0;
  exchange.request = std::move(request);
  return exchange;
}

std::string caller_of(const Request& request) {
  return request.caller.name.empty() ? request.peer.substr(0, request.peer.rfind(':')) : request.caller.name;
}

Response unavailable(std::string_view why, int64_t retry_after_s) {
  Response response = error_response(Error{ErrorCode::kUnavailable, std::string(why), {}, "try again later"});
  response.headers = {{MHD_HTTP_HEADER_RETRY_AFTER, std::to_string(retry_after_s)}};
  return response;
}

Response too_large(const Exchange& exchange) {
  return error_response(fail(ErrorCode::kTooLarge, "{} {} takes a body of at most {} bytes",
                             exchange.request.method, exchange.request.path, exchange.route->max_body_bytes)
                            .error());
}

Response no_memory(const Request& request) noexcept {
  try {
    log_error("serving {} {}: there is no memory for it", request.method, request.path);
    return unavailable("the server has no memory for this now");
  } catch (const std::exception&) {
    return Response{.status = MHD_HTTP_SERVICE_UNAVAILABLE, .content_type = {}, .body = {}, .headers = {}};
  }
}

Response answer_of(const Route& route, const Request& request) noexcept {
  try {
    if (route.is_question && request.is_abandoned && request.is_abandoned()) {
      return unavailable("the client has gone, or the server is stopping");
    }
    return response_of_handler(route, request);
  } catch (const std::bad_alloc&) {
    return no_memory(request);
  }
}

}  // namespace plimsoll::http
