#include "http/encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/gunzip.h"

namespace plimsoll::http::encoding_test {
namespace {

Request accepting(const std::string& codings) {
  Request request;
  request.headers = {{"Accept-Encoding", codings}};
  return request;
}

TEST(AcceptsGzip, WhereItIsNamedAndNotRefused) {
  for (const char* const codings : {"gzip", "br, gzip", "deflate,gzip;q=0.5 , br", "gzip ; q=1"}) {
    EXPECT_TRUE(accepts_gzip(accepting(codings))) << codings;
  }
  for (const char* const codings : {"", "br", "gzip;q=0", "x-gzip", "gzip; q=0.000", "identity"}) {
    EXPECT_FALSE(accepts_gzip(accepting(codings))) << codings;
  }
  EXPECT_FALSE(accepts_gzip({}));
}

TEST(Compress, LongBodiesOfClientsThatTakeIt) {
  const std::string body(100'000, 'a');
  Response response{.body = body};
  compress(accepting("gzip"), response);
  EXPECT_EQ(response.header("Content-Encoding"), "gzip");
  EXPECT_EQ(response.header("Vary"), "Accept-Encoding");
  EXPECT_LT(response.body.size(), 1000);
  EXPECT_EQ(plimsoll::testing::gunzip(response.body), body);
}

TEST(Compress, LeavesOthersAsTheyAre) {
  Response plain{.body = std::string(100'000, 'a')};
  compress({}, plain);
  EXPECT_EQ(plain.body.size(), 100'000);
  EXPECT_EQ(plain.header("Content-Encoding"), "");
  EXPECT_EQ(plain.header("Vary"), "Accept-Encoding");
  Response small{.body = "{}"};
  compress(accepting("gzip"), small);
  EXPECT_EQ(small.body, "{}");
  EXPECT_EQ(small.header("Content-Encoding"), "");
}

}  // namespace
}  // namespace plimsoll::http::encoding_test
