// What a view's answer says over HTTP depends on who asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "query/table/table.h"
#include "server/query_api.h"
#include "server/withheld.h"
#include "tests/unit/query/fleet_fixture.h"
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

// A fleet of which the second block is damaged, on a server whose work has failed.
class PathsOverHttp : public ::testing::Test {
 protected:
  PathsOverHttp() {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      fleet_.add({.seed = seed, .stacks = "main 1\n"});
    }
    std::ofstream(fleet_.path() + "/blocks/000002/catalogue.db", std::ios::binary) << "torn";
  }

  query::RunningServer running() const {
    query::RunningServer server;
    server.work.push_back(
        {.name = "symbols",
         .failing_since_ns = 1,
         .last_error_ns = 2,
         .last_error = "opening " + fleet_.path() + "/symbols/ab (\"/srv/keys/one\": denied)"});
    return server;
  }

  std::string answer(const http::Route& route, http::Role role, http::Fields query = {}) const {
    http::Request request;
    request.path = route.path;
    request.caller.role = role;
    request.query = std::move(query);
    return route.handle(request).body;
  }

  const http::Route& route(const std::string& view) const {
    return *std::ranges::find(routes_, "/api/v1/" + view, &http::Route::path);
  }

  query::Fleet fleet_{{.max_profiles = 1}};
  query::SnapshotCache snapshots_{fleet_.path()};
  std::vector<http::Route> routes_ =
      server::query_routes(snapshots_, {.write_audit_log = [] { return Status(); },
                                        .running_server = [this] { return running(); },
                                        .answered = [](std::string_view, int64_t) {}});
};

// Of a source that has no data directory, whose name would be found everywhere.
TEST(WithheldPaths, WithoutADirectoryNothingIsRelativeToIt) {
  std::vector<std::string> notes{"opening /srv/rows, (a b): denied", ""};
  server::withhold_paths("", notes);
  EXPECT_EQ(notes, (std::vector<std::string>{"opening /srv/rows, (a b): denied", ""}));
}

TEST_F(PathsOverHttp, AreToldToRoleAdminAlone) {
  for (const http::Route& asked : routes_) {
    SCOPED_TRACE(asked.path);
    EXPECT_THAT(answer(asked, http::Role::kRead), Not(HasSubstr(fleet_.path())));
    EXPECT_THAT(answer(asked, http::Role::kRead), Not(HasSubstr("/srv/keys")));
  }
  for (const auto role : {http::Role::kAdmin, http::Role::kUnasked}) {
    EXPECT_THAT(answer(route("store"), role), HasSubstr(fleet_.path() + "/blocks/000002/catalogue.db"));
    EXPECT_THAT(answer(route("status"), role, {{"by", "work"}}), HasSubstr("/srv/keys/one"));
  }
}

TEST_F(PathsOverHttp, ReadersLearnWhichFileOfTheStoreIsDamaged) {
  EXPECT_THAT(answer(route("store"), http::Role::kRead), HasSubstr(" blocks/000002/catalogue.db"));
  EXPECT_THAT(answer(route("top"), http::Role::kRead), HasSubstr(" blocks/000002/catalogue.db"));
  EXPECT_THAT(answer(route("status"), http::Role::kRead, {{"by", "work"}}),
              HasSubstr("opening symbols/ab (\\\"[path]\\\": denied)"));
}

}  // namespace
}  // namespace plimsoll::symbolizer
