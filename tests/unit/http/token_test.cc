#include "http/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "http/caller.h"
#include "http/client.h"

namespace plimsoll::http {
namespace {

using ::testing::HasSubstr;

std::string file_with(const std::string& text) {
  const std::string path = ::testing::TempDir() + "plimsoll-token-" + std::to_string(::getpid());
  std::ofstream(path) << text;
  return path;
}

Result<std::string> read_from(const std::string& text) {
  const std::string path = file_with(text);
  auto token = read_token(path);
  std::filesystem::remove(path);
  return token;
}

TEST(Token, IsKnownByItsSha256) {
  EXPECT_EQ(token_hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Token, IsNeverMadeTwice) {
  const std::string token = make_token();
  EXPECT_EQ(token.size(), 4 + 64);
  EXPECT_NE(token, make_token());
}

TEST(Token, IsTheFirstLineOfItsFile) {
  EXPECT_EQ(read_from("  0123456789abcdef\t\r\n# alice\n").value(), "0123456789abcdef");
  EXPECT_EQ(read_from("0123456789abcdef").value(), "0123456789abcdef");
}

TEST(Token, ThatCannotStandInAHeaderIsNone) {
  for (const std::string text :
       {"", "\n0123456789abcdef", "too short", "0123456789 abcdef", "0123456789abcde\x01"}) {
    const auto token = read_from(text);
    ASSERT_FALSE(token) << text;
    EXPECT_EQ(token.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(token.error().text(), HasSubstr("create one with plimsoll token"));
  }
  EXPECT_FALSE(read_from(std::string(257, 'x')));
}

TEST(Token, StandsInTheHeaderOfARequest) {
  Request request;
  EXPECT_FALSE(bearer_token(request));
  request.headers = {{"authorization", "bearer  abc "}};
  EXPECT_EQ(bearer_token(request), "abc");
  request.headers = {{"Authorization", "Basic abc"}};
  EXPECT_FALSE(bearer_token(request));
}

// A row for each role, a column for each right, as docs/security.md has them.
TEST(Caller, MayDoWhatItsRolePermits) {
  const std::vector<Right> rights{Right::kNone,      Right::kRead,   Right::kOrder,        Right::kEnrol,
                                  Right::kMachine,   Right::kUpload, Right::kPullProfile,  Right::kAddBinary,
                                  Right::kSymbolize, Right::kRelay,  Right::kCopyDirectory};
  const std::map<Role, std::string> permitted{
      {Role::kUnasked, "yyyyyyyyyyy"},    {Role::kStranger, "y----------"}, {Role::kRead, "yy---------"},
      {Role::kUpload, "y----y-----"},     {Role::kEnrol, "y--y-------"},    {Role::kAdmin, "yyy--yyy--y"},
      {Role::kFdo, "y-----y----"},        {Role::kMachine, "y--yyy-----"},  {Role::kBinaries, "y------y---"},
      {Role::kSymbolizer, "y-------y--"}, {Role::kRelay, "y--------y-"},    {Role::kReplica, "y---------y"},
  };
  for (const auto& [role, expected] : permitted) {
    std::string actual;
    for (const Right right : rights) {
      actual += permits(role, right) ? 'y' : '-';
    }
    EXPECT_EQ(actual, expected) << name_of(role);
  }
}

TEST(Caller, ThatIsAMachineSpeaksForItselfAlone) {
  const Caller machine{Role::kMachine, "m1"};
  EXPECT_TRUE(may_speak_for(machine, "m1"));
  EXPECT_EQ(may_speak_for(machine, "m2").error().code, ErrorCode::kDenied);
  EXPECT_EQ(may_speak_for(machine, "").error().code, ErrorCode::kDenied);
  EXPECT_TRUE(may_speak_for({Role::kUpload, "relay"}, "m2"));
}

TEST(Unencrypted, WhatLeavesThisMachineWithoutTls) {
  EXPECT_TRUE(is_unencrypted("plimsoll:7070", {}));
  EXPECT_TRUE(is_unencrypted("HTTP://plimsoll:7070/", {}));
  EXPECT_TRUE(is_unencrypted("http://plimsoll:7070", {.ca = "ca.pem"})) << "refused once it is asked";
  EXPECT_FALSE(is_unencrypted("plimsoll:7070", {.ca = "ca.pem"}));
  EXPECT_FALSE(is_unencrypted("https://plimsoll:7070", {}));
  EXPECT_FALSE(is_unencrypted("127.0.0.1:7070", {}));
  EXPECT_FALSE(is_unencrypted("http://localhost:7070", {}));
}

}  // namespace
}  // namespace plimsoll::http
