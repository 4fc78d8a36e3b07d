#include "server/orders.h"

#include <algorithm>
#include <utility>

#include "base/printable.h"

namespace plimsoll::server {
namespace {

constexpr size_t kMaxOrderBytes = 4096;

Result<std::string> given(const http::Request& request, std::string_view name, std::string_view otherwise) {
  const auto found = std::ranges::find(request.query, name, [](const auto& field) { return field.first; });
  if (found == request.query.end() || found->second.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "{}", otherwise), std::string(name));
  }
  return found->second;
}

}  // namespace

http::Route order_route(std::string path, store::DiskReserve& reserve,
                        std::function<http::Response(const http::Request&)> obey) {
  http::Route route;
  route.method = "POST";
  route.path = std::move(path);
  route.max_body_bytes = kMaxOrderBytes;
  return order_route(std::move(route), reserve, std::move(obey));
}

http::Route order_route(http::Route route, store::DiskReserve& reserve,
                        std::function<http::Response(const http::Request&)> obey) {
  route.threads = http::Threads::kControl;
  route.right = http::Right::kOrder;
  route.handle = [&reserve, obey = std::move(obey)](const http::Request& request) {
    if (!request.header("Content-Type").starts_with("application/json")) {
      return http::error_response(
          with_field(fail(ErrorCode::kInvalid, "orders must be sent as application/json"), "Content-Type")
              .error());
    }
    reserve.refill();
    http::Response response = obey(request);
    while (response.status >= 500 && reserve.give_slice()) {
      response = obey(request);
    }
    return response;
  };
  return route;
}

Result<std::string> required_name(const http::Request& request, std::string_view name,
                                  std::string_view otherwise) {
  auto text = given(request, name, otherwise);
  if (text && printable(*text) != *text) {
    return with_field(
        fail(ErrorCode::kInvalid, "{} has control characters or is not UTF-8", printable(*text)),
        std::string(name));
  }
  return text;
}

Result<std::string> required_parameter(const http::Request& request, std::string_view name,
                                       std::string_view otherwise) {
  const auto text = given(request, name, otherwise);
  return text ? Result<std::string>(printable(*text)) : propagate(text);
}

std::string orderer(const http::Request& request) {
  return request.caller.name.empty()
             ? request.peer
             : fmt::format("{} at {}", printable(text_of(request.caller)), request.peer);
}

}  // namespace plimsoll::server
