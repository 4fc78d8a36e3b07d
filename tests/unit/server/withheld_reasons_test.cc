// What a view's answer says over HTTP depends on who asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "query/table/table.h"
#include "server/query_api.h"
#include "tests/unit/symbolizer/binding_fixture.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A fleet with code in two binaries: of one there is no file, and the other lies outside the roots. A sender may have named either.
class ReasonsOverHttp : public BindingTest {
 protected:
  ReasonsOverHttp() {
    auto profile = plimsoll::testing::make_profile({.stacks = "main 1\n"});
    plimsoll::testing::add_sample(profile, binary("one", "/nowhere/app"), wire::ELF, 0x1000, 1);
    plimsoll::testing::add_sample(profile, binary("two", "/etc/passwd"), wire::ELF, 0x1000, 1);
    ingest(profile);
    bind({{folder_ / "data"}});
  }

  std::string answer(const http::Route& route, http::Role role) const {
    http::Request request;
    request.path = route.path;
    request.caller.role = role;
    if (route.path == "/api/v1/sql") {
      request.query = {{"q", "SELECT * FROM samples"}};
    }
    const http::Response response = route.handle(request);
    return response.body;
  }

  query::SnapshotCache snapshots_{folder_ / "data"};
  std::vector<http::Route> routes_ =
      server::query_routes(snapshots_, {.write_audit_log = [] { return Status(); },
                                        .running_server = [] { return query::RunningServer(); },
                                        .answered = [](std::string_view, int64_t) {}});
  const std::string full_ = "outside symbols.roots";
};

TEST_F(ReasonsOverHttp, OfMissingSymbolsTellThoseWhoOnlyReadNothingOfFiles) {
  int with_reasons = 0;
  for (const http::Route& route : routes_) {
    SCOPED_TRACE(route.path);
    const std::string for_admin = answer(route, http::Role::kAdmin);
    const std::string for_reader = answer(route, http::Role::kRead);
    with_reasons += for_admin.find(full_) != std::string::npos ? 1 : 0;
    EXPECT_EQ(answer(route, http::Role::kUnasked), for_admin) << "where nobody is asked, all may do all";
    EXPECT_THAT(for_reader, Not(HasSubstr(full_)));
    EXPECT_THAT(for_reader, Not(HasSubstr("looking for")));
    EXPECT_THAT(for_reader, Not(HasSubstr("symbols.roots")));
  }
  EXPECT_GE(with_reasons, 6) << "the views of code say why names are missing";
}

TEST_F(ReasonsOverHttp, AreTheSameWhateverLiesAtThePath) {
  for (const http::Route& route : routes_) {
    if (route.path == "/api/v1/top") {
      const auto table = query::from_json(answer(route, http::Role::kRead));
      ASSERT_TRUE(table) << table.error().text();
      std::set<std::string> reasons;
      for (const query::UnsymbolizedBinary& binary : table->coverage.unsymbolized_by) {
        reasons.insert(binary.reason);
      }
      EXPECT_THAT(reasons, ::testing::ElementsAre(HasSubstr("no complete symbols of this build")));
    }
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer
