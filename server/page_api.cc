#include "server/page_api.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "http/encoding.h"

namespace plimsoll::server {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".json", "application/json"},
}};

std::string_view type_of(std::string_view path) {
  for (const auto& [end, type] : kTypes) {
    if (path.ends_with(end)) {
      return type;
    }
  }
  return "application/octet-stream";
}

// Scripts, styles, pictures and requests of this server alone, no frame around it, no form that leaves it. Pictures made in the browser
// (downloads) are blobs.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'";

http::Response response_of(const web::PageFile& file, const http::Request& request) {
  const bool is_named_by_contents = file.path.starts_with("assets/");
  // Weak: compressed and not, it is the same page.
  const std::string tag = "W/\"" + std::string(file.hash) + "\"";
  http::Response response;
  response.headers = {
      {"Cache-Control", is_named_by_contents ? "public, max-age=31536000, immutable" : "no-cache"},
      {"ETag", tag},
      {"Vary", "Accept-Encoding"},
      {"X-Content-Type-Options", "nosniff"},
      {"Content-Security-Policy", std::string(kPolicy)},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  };
  if (request.header("If-None-Match").find(tag) != std::string_view::npos) {
    response.status = 304;
    response.content_type.clear();
    return response;
  }
  response.content_type = type_of(file.path);
  const bool is_packed = !file.gzip.empty() && http::accepts_gzip(request);
  response.body = is_packed ? file.gzip : file.bytes;
  if (is_packed) {
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  return response;
}

http::Route route_of(const web::PageFile& file, std::string path) {
  return {.method = "GET",
          .path = std::move(path),
          .handle = [&file](const http::Request& request) { return response_of(file, request); },
          .right = http::Right::kNone};
}

}  // namespace

std::vector<http::Route> page_routes(std::span<const web::PageFile> files) {
  std::vector<http::Route> routes;
  for (const web::PageFile& file : files) {
    routes.push_back(route_of(file, file.path == "index.html" ? "/" : "/" + std::string(file.path)));
  }
  return routes;
}

}  // namespace plimsoll::server
