// A client whose server takes nothing.
#include <gtest/gtest.h>

#include <string>

#include "http/address.h"
#include "http/client.h"

namespace plimsoll::http {
namespace {

// The kernel accepts, and takes what fits into its buffers. Without its limit this would take as long as the request may.
TEST(Client, GivesUpAConnectionOfWhichNothingIsTaken) {
  const auto socket = listen_on("127.0.0.1:0", false);
  ASSERT_TRUE(socket) << socket.error().text();
  Client client({.base_url = socket->address, .timeout_ms = 3'600'000, .silence_timeout_ms = 300});
  const auto sent = client.send("POST", "/", std::string(32U << 20U, 'x'), "application/octet-stream");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kUnavailable) << sent.error().text();
}

}  // namespace
}  // namespace plimsoll::http
