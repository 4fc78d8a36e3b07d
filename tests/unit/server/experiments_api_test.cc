// Definitions of experiments that users share.
#include "server/experiments_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/time.h"
#include "query/table/table.h"
#include "store/directory/data_directory.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server::experiments_api_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPages =
    R"({"feature": "huge pages", "control": ["revision=41"], "test": ["revision=42"], "margin": "2%"})";

class ExperimentsApi : public ::testing::Test {
 protected:
  http::Response send(const std::string& method, const std::string& name, const std::string& body = "{}",
                      const std::string& caller = "") {
    http::Request request;
    request.method = method;
    request.path = "/api/v1/experiments/" + name;
    request.headers = {{"Content-Type", type_}};
    request.body = body;
    request.caller.name = caller;
    return route(method).handle(request);
  }
  const http::Route& route(const std::string& method) const {
    return *std::ranges::find(routes_, method, &http::Route::method);
  }
  // The cells of the only row; none where the answer is an error.
  static std::string cell(const http::Response& response, const std::string& column) {
    const auto table = query::from_json(response.body);
    EXPECT_TRUE(table && table->rows.size() == 1) << response.body;
    if (!table || table->rows.size() != 1) {
      return {};
    }
    const auto* text = std::get_if<std::string>(&table->rows[0][query::column_of(*table, column)]);
    return text == nullptr ? std::string() : *text;
  }
  std::vector<store::ExperimentDefinition> kept() {
    return directory_->open_draws()->experiments().value_or(std::vector<store::ExperimentDefinition>());
  }

  plimsoll::testing::TemporaryDirectory folder_;
  Result<store::DataDirectory> directory_ = store::DataDirectory::open_for_writing(folder_.path());
  store::DiskReserve reserve_{folder_ / "reserve"};
  std::vector<http::Route> routes_ = experiment_routes(*directory_->open_draws(), reserve_);
  std::string type_ = "application/json";
};

TEST_F(ExperimentsApi, AreOrders) {
  for (const char* method : {"PUT", "DELETE"}) {
    EXPECT_EQ(route(method).right, http::Right::kOrder) << method;
    EXPECT_TRUE(route(method).is_prefix) << method;
  }
  type_ = "text/plain";
  EXPECT_EQ(send("PUT", "pages", kPages).status, 400);
  EXPECT_EQ(send("DELETE", "pages").status, 400);
  EXPECT_TRUE(kept().empty());
}

TEST_F(ExperimentsApi, DefineTwiceIsOnce) {
  const http::Response first = send("PUT", "pages", kPages, "ann");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_THAT(first.body, HasSubstr("experiment pages is defined\""));
  EXPECT_EQ(cell(first, "owner"), "ann");
  EXPECT_EQ(cell(first, "state"), "planned");
  const int64_t changed_ns = kept().at(0).changed_ns;
  const http::Response again = send("PUT", "pages", kPages, "bob");
  EXPECT_EQ(again.status, 200);
  EXPECT_THAT(again.body, HasSubstr("experiment pages is defined so already"));
  EXPECT_EQ(cell(again, "owner"), "ann") << "who says the same does not take it over";
  EXPECT_EQ(kept().at(0).changed_ns, changed_ns);
}

TEST_F(ExperimentsApi, WhatIsPlannedMayChange) {
  send("PUT", "pages", kPages, "ann");
  const http::Response changed =
      send("PUT", "pages", R"({"owner": "bob", "control": ["revision=41"], "test": ["revision=43"]})", "ann");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_THAT(changed.body, HasSubstr("experiment pages is changed"));
  EXPECT_EQ(cell(changed, "test"), "revision=43");
  EXPECT_EQ(cell(changed, "owner"), "bob");
  EXPECT_EQ(cell(changed, "feature"), "") << "the whole definition is replaced";
}

TEST_F(ExperimentsApi, TheArmsOfARunningExperimentStay) {
  const auto running = [](const std::string& test, const std::string& until) {
    return fmt::format(R"({{"control": ["revision=41"], "test": ["{}"], "since": "{}", "until": "{}"}})",
                       test, "2026-01-01T00:00:00Z", until);
  };
  ASSERT_EQ(send("PUT", "pages", running("revision=42", "")).status, 200);
  const http::Response refused = send("PUT", "pages", running("revision=43", ""));
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("experiment pages is running: its test cannot change"));
  EXPECT_THAT(refused.body, HasSubstr("withdraw this one first"));
  const std::string later = format_time(wall_now_ns() + kNsPerHour);
  EXPECT_EQ(cell(send("PUT", "pages", running("revision=42", later)), "until"), later);
  EXPECT_EQ(kept().at(0).values_of("test"), std::vector<std::string>{"revision=42"});
}

TEST_F(ExperimentsApi, WithdrawLeavesTheOthers) {
  send("PUT", "pages", kPages);
  send("PUT", "huge pages", kPages);
  const http::Response withdrawn = send("DELETE", "huge pages");
  EXPECT_EQ(withdrawn.status, 200) << withdrawn.body;
  EXPECT_THAT(withdrawn.body, HasSubstr("experiment huge pages is withdrawn"));
  EXPECT_EQ(cell(withdrawn, "experiment"), "pages");
  const http::Response unknown = send("DELETE", "page");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("did you mean pages?"));
}

TEST_F(ExperimentsApi, RefuseWhatIsNoDefinition) {
  for (const std::string& body :
       {std::string(), std::string("[]"), std::string(R"({"control": ["a=1"]})"),
        std::string(R"({"control": ["revision=41"], "test": ["revision=42"], "colour": "red"})"),
        std::string(R"({"control": ["revision=41"], "test": ["revision=42"], "since": "1h"})"),
        std::string(R"({"control": ["revision=41"], "test": ["revision=42"], "feature": "\u001b[2J"})")}) {
    EXPECT_EQ(send("PUT", "pages", body).status, 400) << body;
  }
  for (const std::string& name : {std::string(), std::string("a/b"), std::string(".."), std::string("a\nb"),
                                  std::string("x.toml"), std::string("\xff"), std::string(65, 'x')}) {
    EXPECT_EQ(send("PUT", name, kPages).status, 400) << name;
    EXPECT_EQ(send("DELETE", name).status, 404) << name;
  }
  EXPECT_TRUE(kept().empty());
}

TEST_F(ExperimentsApi, RefuseDefinitionsThatAreTooLarge) {
  const std::string body =
      fmt::format(R"({{"control": ["revision=41"], "test": ["revision=42"], "feature": "{}"}})",
                  std::string(store::kMaxExperimentBytes, 'x'));
  EXPECT_LT(body.size(), route("PUT").max_body_bytes);
  EXPECT_EQ(send("PUT", "pages", body).status, 413);
  EXPECT_TRUE(kept().empty());
}

}  // namespace
}  // namespace plimsoll::server::experiments_api_test
