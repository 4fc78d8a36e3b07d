// Where a ClickHouse server is, as people write it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/clickhouse/connection.h"

namespace plimsoll::store::clickhouse {
namespace {

struct Written {
  std::string address;
  std::string base_url;
  std::string user;
  std::string database;
  std::vector<std::string> further_urls = {};
};

TEST(ClickHouseAddress, NamesHostUserAndDatabase) {
  for (const Written& written : {
           Written{"clickhouse://db:8124/plimsoll", "http://db:8124", "", "plimsoll"},
           Written{"clickhouse://db/plimsoll", "http://db:8123", "", "plimsoll"},
           Written{"clickhouses://writer@db/p_1", "https://db:8443", "writer", "p_1"},
           Written{"clickhouse://[::1]/p", "http://[::1]:8123", "", "p"},
           Written{"clickhouse://a@b@[::1]:9/p", "http://[::1]:9", "a@b", "p"},
           Written{"clickhouse://writer@a:8124,b,[::1],[::1]:9/p",
                   "http://a:8124",
                   "writer",
                   "p",
                   {"http://b:8123", "http://[::1]:8123", "http://[::1]:9"}},
           Written{"clickhouses://a,b:9/p", "https://a:8443", "", "p", {"https://b:9"}},
       }) {
    SCOPED_TRACE(written.address);
    const auto options = parse_address(written.address);
    ASSERT_TRUE(options) << options.error().text();
    EXPECT_EQ(options->base_url, written.base_url);
    EXPECT_EQ(options->further_urls, written.further_urls);
    EXPECT_EQ(options->user, written.user);
    EXPECT_EQ(options->database, written.database);
  }
}

TEST(ClickHouseAddress, WhatIsNoneIsRefusedWithTheFormThatIs) {
  for (const std::string address :
       {"", "db:8123/p", "http://db/p", "clickhouse://", "clickhouse:///p", "clickhouse://db",
        "clickhouse://db/", "clickhouse://db/a;b", "clickhouse://db/a/b", "clickhouse://user@/p",
        "clickhouse://a,/p", "clickhouse://,a/p", "clickhouse://a,,b/p", "clickhouse://a,b c/p",
        "clickhouse://a,b,a:8123/p", "clickhouse://db#/p", "clickhouse://d b/p", "clickhouse://db\\x/p"}) {
    SCOPED_TRACE(address);
    const auto options = parse_address(address);
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().code, ErrorCode::kInvalid);
    EXPECT_NE(options.error().hint.find("clickhouse://"), std::string::npos);
  }
}

TEST(ClickHouseAddress, APasswordIsRefusedAndNotRepeated) {
  for (const std::string address :
       {"clickhouse://user:secret@db/p", "clickhouse://user:secret@db/a-b", "clickhouse://user:secret@db",
        "clickhouse://user:secret/1@db/p", "http://user:secret@db/p", "user:secret@db/p",
        "clickhouse://db/p?password=secret", "clickhouse://user@db:8123/p?secret", "http://db?key=secret"}) {
    SCOPED_TRACE(address);
    const auto options = parse_address(address);
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(options.error().text().find("secret"), std::string::npos) << options.error().text();
  }
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
