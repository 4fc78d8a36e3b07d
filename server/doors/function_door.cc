#include "server/doors/function_door.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/hex.h"
#include "base/printable.h"
#include "symbolizer/worker/function_names.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::server {
namespace {

constexpr std::string_view kFunctionsPath = "/api/v1/functions/";
constexpr std::string_view kPlaces = "at";
constexpr size_t kMaxIdentityBytes = 64;

Result<std::string> functions_text(const http::Request& request, const std::string& data_dir) {
  const auto identity = from_hex(std::string_view(request.path).substr(kFunctionsPath.size()));
  if (!identity || identity->empty() || identity->size() > kMaxIdentityBytes) {
    return fail(ErrorCode::kInvalid, "the path does not end in a build ID in hexadecimal digits");
  }
  const auto at = std::ranges::find(request.query, kPlaces, [](const auto& field) { return field.first; });
  const auto places =
      symbolizer::parse_places(at == request.query.end() ? std::string_view() : std::string_view(at->second));
  if (!places) {
    return with_field(propagate(places), "at");
  }
  const auto mapped = symbolizer::read_table(data_dir, *identity);
  if (!mapped) {
    return propagate(mapped);
  }
  std::string text;
  for (const std::string& function : symbolizer::functions_at(mapped->table, *places)) {
    text += printable(function) + "\n";
  }
  return text;
}

}  // namespace

std::vector<http::Route> function_routes(const std::string& data_dir) {
  http::Route route;
  route.method = "GET";
  route.path = kFunctionsPath;
  route.is_prefix = true;
  route.threads = http::Threads::kLong;
  route.is_question = true;
  route.right = http::Right::kRead;
  route.handle = [data_dir](const http::Request& request) {
    auto text = functions_text(request, data_dir);
    return text ? http::Response{.content_type = "text/plain", .body = std::move(*text)}
                : http::error_response(text.error());
  };
  return {std::move(route)};
}

}  // namespace plimsoll::server
