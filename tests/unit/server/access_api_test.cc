// Orders about one machine.
#include "server/access_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "http/token.h"
#include "store/directory/data_directory.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AccessApiTest : public ::testing::Test {
 protected:
  void open(std::vector<KnownToken> tokens) {
    authenticator_ = *Authenticator::open({.tokens = std::move(tokens)}, access_store(), access_store());
    routes_ = access_routes(*authenticator_, folder_.path(), reserve_);
  }
  store::AccessStore access_store() const {
    return *store::AccessStore::open(directory_->access_path(), sqlite::OpenMode::kReadWrite);
  }
  http::Response order(const std::string& what, const std::string& machine) {
    http::Request request;
    request.headers = {{"Content-Type", "application/json"}};
    request.query = {{"machine", machine}};
    return std::ranges::find(routes_, "/api/v1/machines/" + what, &http::Route::path)->handle(request);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  Result<store::DataDirectory> directory_ = store::DataDirectory::open_for_writing(folder_.path());
  store::DiskReserve reserve_{folder_ / "reserve"};
  std::unique_ptr<Authenticator> authenticator_;
  std::vector<http::Route> routes_;
};

class OrdersAboutMachines : public AccessApiTest {
 protected:
  OrdersAboutMachines() { open({{"root", http::token_hash("token"), http::Role::kAdmin}}); }
};

TEST_F(OrdersAboutMachines, SayWhetherTheMachineWasKnown) {
  ASSERT_TRUE(authenticator_->accounts().enrol("m1", "hash", "rack", 1));
  const std::string known = order("revoke", "m1").body;
  EXPECT_THAT(known, HasSubstr("machine m1 is revoked\""));
  EXPECT_THAT(order("revoke", "m9").body, HasSubstr("machine m9 is revoked, but was not enrolled"));
  EXPECT_TRUE(authenticator_->accounts().is_revoked("m9")) << "who is not here yet can be shut out as well";
  EXPECT_THAT(order("readmit", "m1").body, HasSubstr("machine m1 may enrol again"));
  EXPECT_EQ(order("readmit", "m1").status, 404);
}

TEST_F(OrdersAboutMachines, ChangeNoIdIntoAnother) {
  const http::Response refused = order("revoke", "m1\n");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("control characters"));
  EXPECT_FALSE(authenticator_->accounts().is_revoked("m1?"));
}

TEST_F(AccessApiTest, WhereNobodyIsAskedNobodyIsShutOut) {
  open({});
  const http::Response refused = order("revoke", "m1");
  EXPECT_GE(refused.status, 400);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("without authentication"), HasSubstr("access.tokens")));
  EXPECT_FALSE(authenticator_->accounts().is_revoked("m1"));
}

}  // namespace
}  // namespace plimsoll::server
