// Requests that change what is done to machines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/routes.h"
#include "store/directory/disk_reserve.h"

namespace plimsoll::server {

// A POST for administrators. It must be of type application/json, which a page of another site cannot make a browser send; everything else is
// refused. Where it fails on a full disk it has room from the reserve (borrowed), and is tried again.
http::Route order_route(std::string path, store::DiskReserve& reserve,
                        std::function<http::Response(const http::Request&)> obey);
// For another method, or a path that is a prefix: `route` says which, and how long the body may be.
http::Route order_route(http::Route route, store::DiskReserve& reserve,
                        std::function<http::Response(const http::Request&)> obey);

// What a parameter names; kInvalid where it is missing or empty (`otherwise` says what that would mean), or has control characters.
Result<std::string> required_name(const http::Request& request, std::string_view name,
                                  std::string_view otherwise);

// The text of a parameter, for people; kInvalid where it is missing or empty: `otherwise` says what that would mean.
Result<std::string> required_parameter(const http::Request& request, std::string_view name,
                                       std::string_view otherwise);

// Who gave the order, and from where: "alice at 10.0.0.7:51234".
std::string orderer(const http::Request& request);

}  // namespace plimsoll::server
