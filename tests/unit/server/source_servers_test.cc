// Source files from servers that the operator names: which requests are made of paths in debug information,
// and what becomes of the answers.
#include "server/source_servers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http/listener.h"

namespace plimsoll::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SourceServer server_of(const std::string& text) {
  const auto servers = parse_source_servers({text});
  EXPECT_TRUE(servers) << servers.error().text();
  return servers ? servers->at(0) : SourceServer();
}

TEST(SourceServers, AreAFolderOfTheCompilersAndAUrl) {
  EXPECT_EQ(server_of("/build/app/ = https://code.example:8443/app/raw/{revision}/{path}?plain=1"),
            (SourceServer{.prefix = "/build/app",
                          .origin = "https://code.example:8443",
                          .pattern = "/app/raw/{revision}/{path}?plain=1"}));
  for (const char* text :
       {"", "https://code.example/{path}", "/ = https://code.example/{path}",
        "app = https://code.example/{path}", "/app  = https://code.example/{path}",
        "/app = code.example/{path}", "/app = file:///srv/{path}", "/app = https://code.example",
        "/app = https://code.example/raw", "/app = https:///{path}", "/app = https://{revision}/{path}",
        "/app = https://{path}", "/app = https://user:word@code.example/{path}",
        "/app = https://code.example/{path}#top", "/app = https://code.example/{file}/{path}",
        "/app = https://code.example/a b/{path}"}) {
    EXPECT_FALSE(parse_source_servers({text})) << text;
  }
  EXPECT_FALSE(parse_source_servers(std::vector<std::string>(17, "/app = https://code.example/{path}")));
}

TEST(SourceServers, AreAskedForFilesOfTheirFolderAlone) {
  const SourceServer server = server_of("/build/app = https://code.example/raw/{revision}/{path}");
  const auto request = [&](const std::string& path) {
    return request_for(server, path, "v1.2").value_or("");
  };
  EXPECT_EQ(request("/build/app/src/a.c"), "/raw/v1.2/src/a.c");
  EXPECT_EQ(request("/build/app/./x/../src/a.c"), "/raw/v1.2/src/a.c");
  EXPECT_EQ(request("/build/app/src/a b?c#d&e%2e%2e.c"), "/raw/v1.2/src/a%20b%3Fc%23d%26e%252e%252e.c");
  EXPECT_EQ(request("/build/app/{revision}/{path}"), "/raw/v1.2/%7Brevision%7D/%7Bpath%7D");
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("a.c"), std::string("/build/app"),
        std::string("/build/app/"), std::string("/build/application/a.c"),
        std::string("/build/app/../secret"), std::string("/build/app/../../etc/passwd"),
        std::string("/etc/passwd"), std::string("https://evil.example/a.c"),
        std::string("//evil.example/a.c"), std::string("/build/app/a\0.c", 15),
        "/build/app/" + std::string(5000, 'a')}) {
    EXPECT_EQ(request(path), "") << path;
  }
}

TEST(SourceServers, TakeTheRevisionAsOnePartOfThePath) {
  const SourceServer server = server_of("/build = https://code.example/raw/{revision}/{path}");
  const auto request = [&](const std::string& revision) {
    return request_for(server, "/build/a.c", revision).value_or("");
  };
  EXPECT_EQ(request("release/1"), "/raw/release%2F1/a.c");
  EXPECT_EQ(request("{path}?x"), "/raw/%7Bpath%7D%3Fx/a.c");
  for (const std::string& none :
       {std::string(), std::string("."), std::string(".."), std::string(300, '4')}) {
    EXPECT_EQ(request(none), "") << none;
  }
  EXPECT_EQ(request_for(server_of("/build = http://code.example/{path}"), "/build/a.c", ""), "/a.c");
}

class SourceFetching : public ::testing::Test {
 protected:
  using Answer = std::function<http::Response(const std::string& path)>;

  void start(Answer answer) {
    http::Route route;
    route.method = "GET";
    route.path = "/raw/";
    route.is_prefix = true;
    route.right = http::Right::kRead;
    route.handle = [this, answer = std::move(answer)](const http::Request& request) {
      const std::lock_guard lock(mutex_);
      asked_.push_back(request.path);
      return answer(request.path);
    };
    listener_ = *http::Listener::start({}, {route});
    servers_ = *parse_source_servers(
        {fmt::format("/build = http://{}/raw/{{revision}}/{{path}}", listener_->address())});
  }

  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  static http::Response text(std::string body) {
    return {.content_type = "text/plain", .body = std::move(body)};
  }

  std::mutex mutex_;
  std::vector<std::string> asked_;  // guarded by mutex_
  std::unique_ptr<http::Listener> listener_;
  std::vector<SourceServer> servers_;
};

TEST_F(SourceFetching, BringsTheTextOfTheRevision) {
  start([](const std::string& path) {
    return path.ends_with("/a.c") ? text("int a;\n") : http::Response{.status = 404};
  });
  SourceFetcher fetcher(servers_, "4f2c");
  EXPECT_EQ(fetcher.fetch("/build/src/a.c"), "int a;\n");
  EXPECT_EQ(fetcher.fetch("/build/src/b.c"), std::nullopt);
  EXPECT_EQ(fetcher.fetch("/etc/passwd"), std::nullopt);
  EXPECT_EQ(fetcher.fetch("/build/../etc/passwd"), std::nullopt);
  EXPECT_THAT(asked(), ElementsAre("/raw/4f2c/src/a.c", "/raw/4f2c/src/b.c"));
  EXPECT_EQ(fetcher.note(), "");
}

TEST_F(SourceFetching, AsksForNothingWithoutTheRevision) {
  start([](const std::string&) { return text("int a;\n"); });
  SourceFetcher fetcher(servers_, "");
  EXPECT_EQ(fetcher.fetch("/etc/passwd"), std::nullopt);
  EXPECT_EQ(fetcher.note(), "") << "no server would have that";
  EXPECT_EQ(fetcher.fetch("/build/a.c"), std::nullopt);
  EXPECT_THAT(fetcher.note(), HasSubstr("no label \"revision\""));
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(SourceFetching, FollowsNoRedirectAndTakesNoPageForText) {
  start([](const std::string& path) {
    if (path.ends_with("/page.c")) {
      return http::Response{.content_type = "text/html; charset=utf-8", .body = "Sign in"};
    }
    if (path.ends_with("/moved.c")) {
      return http::Response{.status = 302, .headers = {{"Location", "/raw/4f2c/a.c"}}};
    }
    return text("int a;\n");
  });
  SourceFetcher fetcher(servers_, "4f2c");
  EXPECT_EQ(fetcher.fetch("/build/page.c"), std::nullopt);
  EXPECT_EQ(fetcher.fetch("/build/moved.c"), std::nullopt);
  EXPECT_THAT(asked(), ElementsAre("/raw/4f2c/page.c", "/raw/4f2c/moved.c"));
}

TEST_F(SourceFetching, AsksAServerThatFailsOnce) {
  start([](const std::string&) { return http::Response{.status = 503}; });
  SourceFetcher fetcher(servers_, "4f2c");
  EXPECT_EQ(fetcher.fetch("/build/a.c"), std::nullopt);
  EXPECT_EQ(fetcher.fetch("/build/b.c"), std::nullopt);
  EXPECT_THAT(asked(), ElementsAre("/raw/4f2c/a.c"));
  EXPECT_THAT(fetcher.note(), HasSubstr("does not answer as it should"));
  EXPECT_THAT(fetcher.note(), ::testing::Not(HasSubstr(listener_->address()))) << "readers learn of no host";
}

TEST_F(SourceFetching, HasLimits) {
  start(
      [](const std::string& path) { return text(std::string(path.ends_with("/large.c") ? 101 : 100, 'x')); });
  SourceFetcher few(servers_, "4f2c", {.max_files = 3, .max_file_bytes = 100});
  EXPECT_EQ(few.fetch("/build/large.c"), std::nullopt);
  EXPECT_EQ(few.fetch("/build/a.c"), std::string(100, 'x'));
  EXPECT_EQ(few.fetch("/build/b.c"), std::string(100, 'x'));
  EXPECT_EQ(few.fetch("/build/c.c"), std::nullopt) << "the fourth";
  EXPECT_THAT(few.note(), HasSubstr("3 files"));
  SourceFetcher none(servers_, "4f2c", {.max_time = std::chrono::milliseconds(0)});
  EXPECT_EQ(none.fetch("/build/a.c"), std::nullopt);
  EXPECT_EQ(asked().size(), 3);
}

}  // namespace
}  // namespace plimsoll::server
