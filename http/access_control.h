// Authentication and authorization of requests to a listener.
#pragma once

#include <optional>

#include "http/message.h"
#include "http/routes.h"

namespace plimsoll::http {

// Called by all threads of a listener, which it must not hold up.
class AccessControl {
 public:
  AccessControl() = default;
  AccessControl(const AccessControl&) = delete;
  AccessControl& operator=(const AccessControl&) = delete;
  virtual ~AccessControl() = default;

  // When the head of a request is there, and nothing of its body has been kept: sets the authenticated caller (Request::caller), or
  // returns the refusal.
  virtual std::optional<Response> admit(Request& request, const Route& route) = 0;

  // Once for each request, when its answer is known. `route` is null for paths without a route.
  virtual void answered(const Request& request, const Route* route, unsigned status) = 0;
};

}  // namespace plimsoll::http
