#include "http/routes.h"

#include <algorithm>
#include <tuple>

namespace plimsoll::http {
namespace {

bool covers(const Route& route, std::string_view path) {
  return route.is_prefix ? path.starts_with(route.path) : path == route.path;
}

bool same_target(const Route& a, const Route& b) {
  return a.path == b.path && a.is_prefix == b.is_prefix;
}

Status check_route(const Route& route) {
  if (!route.path.starts_with('/') || (route.is_prefix && !route.path.ends_with('/')) ||
      route.method.empty() || (!route.handle && !route.handle_later)) {
    return fail(ErrorCode::kInvalid,
                "route {} {} has no method, absolute path or handler, or is a prefix without '/'",
                route.method, route.path);
  }
  return {};
}

Response method_not_allowed(std::string_view method, std::string_view path, std::string allowed) {
  Response response = error_response(
      with_hint(fail(ErrorCode::kInvalid, "method {} is not allowed on {}", method, path), "use " + allowed)
          .error());
  response.status = 405;
  response.headers.emplace_back("Allow", std::move(allowed));
  return response;
}

}  // namespace

Result<RouteTable> RouteTable::create(std::vector<Route> routes, std::vector<PathHint> hints) {
  std::ranges::sort(routes, [](const Route& a, const Route& b) {
    return std::tuple(a.is_prefix, b.path.size(), std::string_view(a.path), std::string_view(a.method)) <
           std::tuple(b.is_prefix, a.path.size(), std::string_view(b.path), std::string_view(b.method));
  });
  for (const Route& route : routes) {
    if (const auto checked = check_route(route); !checked) {
      return propagate(checked);
    }
  }
  const auto twice = std::ranges::adjacent_find(
      routes, [](const Route& a, const Route& b) { return same_target(a, b) && a.method == b.method; });
  if (twice != routes.end()) {
    return fail(ErrorCode::kInvalid, "route {} {} is defined twice", twice->method, twice->path);
  }
  return RouteTable(std::move(routes), std::move(hints));
}

bool RouteTable::has_any_for(Threads threads) const {
  return std::ranges::find(routes_, threads, &Route::threads) != routes_.end();
}

Response RouteTable::not_found(std::string_view path) const {
  const auto missing = fail(ErrorCode::kNotFound, "no such path: {}", path);
  const auto known = std::ranges::find_if(
      hints_, [path](const PathHint& candidate) { return path.starts_with(candidate.prefix); });
  return error_response((known == hints_.end() ? missing : with_hint(missing, known->hint)).error());
}

RouteMatch RouteTable::match(std::string_view method, std::string_view path) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  const auto first = std::ranges::find_if(routes_, [&](const Route& route) { return covers(route, path); });
  if (first == routes_.end()) {
    return {nullptr, not_found(path)};
  }
  std::string allowed;
  for (auto route = first; route != routes_.end() && same_target(*route, *first); ++route) {
    if (route->method == wanted) {
      return {&*route, {}};
    }
    allowed += (allowed.empty() ? "" : ", ") + route->method + (route->method == "GET" ? ", HEAD" : "");
  }
  return {nullptr, method_not_allowed(method, path, std::move(allowed))};
}

}  // namespace plimsoll::http
