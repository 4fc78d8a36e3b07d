// The page's files over HTTP.
#include "server/page_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "web/page_files.h"

namespace plimsoll::server::page_api_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::array<web::PageFile, 2> kFiles{
    {{"index.html", "<!doctype html>", "packed", "aa"}, {"assets/app-1.js", "let a;", "", "bb"}}};

http::Response get(const std::string& path, const http::Fields& headers = {}) {
  static const std::vector<http::Route> routes = page_routes(kFiles);
  const auto route = std::ranges::find(routes, path, &http::Route::path);
  if (route == routes.end()) {
    return {.status = 404};
  }
  http::Request request;
  request.headers = headers;
  return route->handle(request);
}

TEST(Page, IsAtTheRootAndItsFilesBelow) {
  EXPECT_EQ(get("/").body, "<!doctype html>");
  EXPECT_EQ(get("/").content_type, "text/html; charset=utf-8");
  EXPECT_EQ(get("/assets/app-1.js").content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(get("/index.html").status, 404);
}

TEST(Page, NeedsNoToken) {
  for (const http::Route& route : page_routes(kFiles)) {
    EXPECT_EQ(route.right, http::Right::kNone) << route.path;
  }
}

TEST(Page, FilesNamedByTheirContentsAreCachedAndOthersAskedForAgain) {
  EXPECT_EQ(get("/assets/app-1.js").header("Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(get("/").header("Cache-Control"), "no-cache");
  EXPECT_EQ(get("/").header("ETag"), "W/\"aa\"");
  const http::Response same = get("/", {{"If-None-Match", "W/\"zz\", W/\"aa\""}});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_EQ(same.header("ETag"), "W/\"aa\"");
  EXPECT_EQ(get("/", {{"If-None-Match", "W/\"bb\""}}).status, 200);
}

TEST(Page, IsCompressedWhereThatIsSmallerAndTheClientTakesIt) {
  const http::Response packed = get("/", {{"Accept-Encoding", "gzip, br"}});
  EXPECT_EQ(packed.body, "packed");
  EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
  EXPECT_EQ(get("/assets/app-1.js", {{"Accept-Encoding", "gzip"}}).header("Content-Encoding"), "");
}

TEST(Page, MayAskThisServerAloneAndRunsNoOtherScript) {
  const std::string policy(get("/").header("Content-Security-Policy"));
  EXPECT_THAT(policy, AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self';"),
                            HasSubstr("connect-src 'self'"), HasSubstr("frame-ancestors 'none'")));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(get("/").header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(get("/").header("Referrer-Policy"), "no-referrer");
}

TEST(Page, OfThisBuildNamesNoOtherHost) {
  const auto files = web::page_files();
  ASSERT_NE(std::ranges::find(files, "index.html", &web::PageFile::path), files.end());
  for (const web::PageFile& file : files) {
    EXPECT_FALSE(file.bytes.empty()) << file.path;
    EXPECT_EQ(file.bytes.find("src=\"/"), std::string_view::npos)
        << file.path << ": addresses are relative, so that the page works below any path";
    EXPECT_EQ(file.bytes.find("src=\"http"), std::string_view::npos) << file.path;
  }
}

}  // namespace
}  // namespace plimsoll::server::page_api_test
