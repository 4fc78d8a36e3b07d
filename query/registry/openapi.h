// The API as other programs read it.
#pragma once

#include <string>

namespace plimsoll::query {

// An OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.0) of all views and orders, JSON.
std::string openapi_document();

}  // namespace plimsoll::query
