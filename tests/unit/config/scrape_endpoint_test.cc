#include "config/scrape_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/daemon_config.h"
#include "config/listening_rule.h"

namespace plimsoll::config {
namespace {

std::string brief(std::string_view url) {
  const auto endpoint = parse_scrape_endpoint(url);
  return endpoint ? fmt::format("{} {} {} {} {}", endpoint->host, endpoint->port, endpoint->path,
                                endpoint->is_loopback ? "here" : "elsewhere", endpoint->name())
                  : "refused";
}

TEST(ScrapeEndpoint, IsAUrl) {
  EXPECT_EQ(brief("http://127.0.0.1:8080/pprof/heap"),
            "127.0.0.1 8080 /pprof/heap here 127.0.0.1:8080/pprof/heap");
  EXPECT_EQ(brief("http://127.9.8.7:1/debug/pprof/heap?gc=1"),
            "127.9.8.7 1 /debug/pprof/heap?gc=1 here 127.9.8.7:1/debug/pprof/heap?gc=1");
  EXPECT_EQ(brief("http://localhost"), "localhost 80 / here localhost/");
  EXPECT_EQ(brief("http://[::1]:6060/x"), "::1 6060 /x here [::1]:6060/x");
  EXPECT_EQ(brief("http://db.example:80/x"), "db.example 80 /x elsewhere db.example:80/x");
  EXPECT_EQ(brief("http://[2001:db8::1]/x"), "2001:db8::1 80 /x elsewhere [2001:db8::1]/x");
}

TEST(ScrapeEndpoint, NamesThatOnlyLookLikeLoopbackAreElsewhere) {
  for (const char* url : {"http://localhost.example/", "http://127.0.0.1.example/", "http://0.0.0.0/",
                          "http://127.1/", "http://10.0.0.1/", "http://[::ffff:127.0.0.1]/"}) {
    const auto endpoint = parse_scrape_endpoint(url);
    ASSERT_TRUE(endpoint) << url;
    EXPECT_FALSE(endpoint->is_loopback) << url;
  }
}

TEST(ScrapeEndpoint, MayBeAUnixSocket) {
  const auto endpoint = parse_scrape_endpoint("unix:/run/job.sock:/debug/pprof/heap?gc=1");
  ASSERT_TRUE(endpoint) << endpoint.error().text();
  EXPECT_EQ(endpoint->socket_path, "/run/job.sock");
  EXPECT_EQ(endpoint->path, "/debug/pprof/heap?gc=1");
  EXPECT_EQ(endpoint->base_url, "unix:/run/job.sock:");
  EXPECT_EQ(endpoint->name(), "unix:/run/job.sock:/debug/pprof/heap?gc=1");
  EXPECT_EQ(endpoint->program(), "unix:/run/job.sock");
  EXPECT_EQ(endpoint->host, "");
  EXPECT_TRUE(endpoint->is_loopback);
  EXPECT_EQ(kind_of_endpoint(*endpoint), "heap");
  for (const char* whole : {"unix:/run/job.sock", "unix:/run/job.sock:", "unix:/run/job.sock:/"}) {
    const auto without_path = parse_scrape_endpoint(whole);
    ASSERT_TRUE(without_path) << whole;
    EXPECT_EQ(without_path->socket_path, "/run/job.sock") << whole;
    EXPECT_EQ(without_path->base_url, "unix:/run/job.sock:") << whole;
    EXPECT_EQ(without_path->path, "/") << whole;
  }
  EXPECT_TRUE(parse_scrape_endpoint("unix:/" + std::string(106, 'x')));
  for (const std::string& url :
       {std::string("unix:"), std::string("unix:/"), std::string("unix::/x"), std::string("unix:run/x"),
        "unix:/" + std::string(107, 'x'), std::string("unix:/run/a b:/x")}) {
    EXPECT_FALSE(parse_scrape_endpoint(url)) << url;
  }
}

TEST(ScrapeEndpoint, AnythingElseIsRefused) {
  for (const char* url : {"", "http://", "127.0.0.1:80/x", "https://127.0.0.1/x", "file:///etc/passwd",
                          "http:///x", "http://127.0.0.1:/x", "http://127.0.0.1:0/",
                          "http://127.0.0.1:65536/", "http://127.0.0.1:80x/", "http://user@127.0.0.1/",
                          "http://127.0.0.1@evil.example/", "http://127.0.0.1/a b", "http://127.0.0.1/\n",
                          "http://127.0.0.1/#f", "http://[::1/x", "http://[::1]80/", "http://127.0.0.1?x/"}) {
    EXPECT_EQ(brief(url), "refused") << url;
  }
}

Result<DaemonConfig> configured(const std::string& endpoints, const std::string& beyond = "false") {
  return load_daemon_config({.environment = [](const char*) -> const char* { return nullptr; },
                             .flags = {{"scrape.endpoints", endpoints}, {"scrape.beyond_loopback", beyond}}});
}

TEST(ScrapeConfiguration, OnlyLoopbackIsScrapedUnlessPermitted) {
  EXPECT_TRUE(configured("http://127.0.0.1:1/a,http://localhost:2/b"));
  const auto refused = configured("http://127.0.0.1:1/a,http://192.0.2.1/b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  EXPECT_EQ(refused.error().field, "scrape.endpoints");
  EXPECT_THAT(refused.error().hint, ::testing::HasSubstr("scrape.beyond_loopback"));
  EXPECT_TRUE(configured("http://192.0.2.1/b", "true"));
  EXPECT_EQ(configured("nonsense").error().code, ErrorCode::kInvalid);
}

TEST(ListeningRule, NamesAProgramOrJobItsPortsAndPaths) {
  EXPECT_TRUE(check({.program = "search", .ports = "6060"}));
  EXPECT_TRUE(check({.job = "search", .ports = "8000-8000", .paths = {"/pprof/heap", "/pprof/contention"}}));
  EXPECT_TRUE(check({.program = "search", .sockets = "/run/search/*.sock"}));
  EXPECT_TRUE(check({.program = "search", .ports = "6060", .sockets = "/run/search/*.sock"}));
  EXPECT_FALSE(check({.program = "search", .sockets = "search.sock"})) << "no absolute path";
  EXPECT_FALSE(check({.program = "search", .ports = "x", .sockets = "/run/x"}));
  EXPECT_FALSE(check({.ports = "6060"})) << "any process";
  for (const char* ports : {"", "0", "-", "1-", "-1", "9-8", "1-65536", "1-2-3", " 1", "x"}) {
    EXPECT_FALSE(check({.program = "search", .ports = ports})) << ports;
  }
  for (const char* path : {"", "heap", "0/heap", "/a b"}) {
    EXPECT_FALSE(check({.program = "search", .ports = "1", .paths = {path}})) << path;
  }
  const auto twice = check({.program = "search", .ports = "1", .paths = {"/heap", "/allocs"}});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, ::testing::HasSubstr("would count twice"));
}

TEST(ListeningRule, HasEachCountOnce) {
  using Paths = std::vector<std::string>;
  for (const Paths& paths : {Paths{"/pprof/growth", "/pprof/growthz"},
                             Paths{"/debug/pprof/profile?seconds=5", "/debug/pprof/profile"},
                             Paths{"/wall?seconds=5", "/other/wall"}}) {
    const auto refused = check({.program = "search", .ports = "1", .paths = paths});
    ASSERT_FALSE(refused) << paths[0] << " " << paths[1];
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("would count twice"));
  }
  EXPECT_TRUE(check({.program = "search", .ports = "1", .paths = {"/growth", "/profile", "/wall", "/heap"}}));
}

TEST(ScrapeConfiguration, EndpointsThatWouldCountTwiceAreRefused) {
  const std::string go = "http://127.0.0.1:6060/debug/pprof/";
  for (const auto& [first, second] :
       std::initializer_list<std::pair<std::string, std::string>>{{go + "heap", go + "allocs"},
                                                                  {go + "heap?gc=1", go + "heap"},
                                                                  {go + "mutex", go + "contention"},
                                                                  {go + "block", go + "block?debug=0"},
                                                                  {go + "growth", go + "growthz"},
                                                                  {go + "profile", go + "profile?seconds=5"},
                                                                  {go + "wall?seconds=5", go + "wall"}}) {
    const auto refused = configured(first + "," + second);
    ASSERT_FALSE(refused) << first << " " << second;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("would count twice"));
  }
  EXPECT_TRUE(configured(go + "heap," + go + "growth," + go + "profile," + go + "wall"));
  EXPECT_TRUE(configured(go + "heap," + go + "mutex," + go + "block," + go + "goroutine"));
  for (const char* host : {"localhost", "[::1]", "[0:0::1]"}) {
    const auto refused = configured(go + "contention,http://" + host + ":6060/debug/pprof/mutex");
    ASSERT_FALSE(refused) << host;
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("would count twice"));
  }
  EXPECT_FALSE(configured("http://localhost/heap,http://127.0.0.1:80/heap")) << "the port of http";
  EXPECT_FALSE(configured("unix:/run/x:/heap,unix:/run/x:/allocs")) << "one Unix socket";
  EXPECT_TRUE(configured("unix:/run/x:/heap,unix:/run/y:/heap")) << "two Unix sockets";
  EXPECT_TRUE(configured(go + "heap,http://127.0.0.2:6060/debug/pprof/heap")) << "may be another program";
  EXPECT_TRUE(configured(go + "heap,http://127.0.0.1:6061/debug/pprof/allocs")) << "another program";
  EXPECT_TRUE(configured(go + "x," + go + "y")) << "of which nobody knows what they tell";
}

}  // namespace
}  // namespace plimsoll::config
