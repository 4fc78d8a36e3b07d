// The exporters that applications have send their spans to a real server, whose store then has exactly these.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;

struct TraceClient {
  std::string exporter;
  std::string path;
};

void PrintTo(const TraceClient& client, std::ostream* out) {
  *out << client.exporter;
}

class TraceClients : public ::testing::TestWithParam<TraceClient> {};

TEST_P(TraceClients, TheStoreHasExactlyWhatWasSent) {
  const std::string packages = built_file("../clients");
  if (!std::filesystem::exists(packages + "/node_modules/@opentelemetry/sdk-trace-base")) {
    GTEST_SKIP() << "OpenTelemetry's exporters are not in " << packages
                 << ": scripts/install.sh --clients fetches them";
  }
  const TemporaryFolder folder;
  const TestServer server(folder / "data");
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  const Finished sent =
      run({"/usr/bin/env", "node", source_file("tests/e2e/clients/send_traces.cjs"), packages,
           GetParam().exporter, "http://" + server.fleet_address() + GetParam().path, "40"});
  ASSERT_EQ(sent.status, 0) << sent.err;
  std::map<std::string, std::map<std::string, Json>> expected;  // by trace and span
  for (const Json& span : Json::parse(sent.out)) {
    expected[span["trace"]][span["span"]] = span;
  }
  ASSERT_EQ(expected.size(), 40);
  for (const auto& [trace, spans] : expected) {
    const Finished shown = run({"plimsoll", "trace", "show", trace, "--server", server.address(), "--json"});
    ASSERT_EQ(shown.status, 0) << shown.err;
    const Json document = Json::parse(shown.out);
    EXPECT_FALSE(document["is_partial"].get<bool>());
    ASSERT_EQ(document["spans"].size(), spans.size());
    for (const Json& span : document["spans"]) {
      ASSERT_TRUE(spans.contains(span["span"])) << span;
      const Json& of = spans.at(span["span"]);
      for (const char* const name : {"parent", "service", "method", "duration_ns", "is_error"}) {
        EXPECT_EQ(span[name], of[name]) << name << " of " << span;
      }
      EXPECT_EQ(span["replica"], "shop-7");
      EXPECT_EQ(span["machine"], "node-3");
      EXPECT_EQ(span["attributes"]["host.type"], "c7");
      EXPECT_EQ(span["attributes"].contains("http.route"), span["parent"].is_null()) << span;
    }
  }
  // And nothing else.
  const Finished all = run({"plimsoll", "store", "check", "--data", folder / "data"});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_THAT(all.out, ::testing::ContainsRegex("(^|[^0-9])120 spans"));
}

INSTANTIATE_TEST_SUITE_P(Exporters, TraceClients,
                         ::testing::Values(TraceClient{"otlp-json", "/v1/traces"},
                                           TraceClient{"otlp-proto", "/v1/traces"},
                                           TraceClient{"zipkin", "/api/v2/spans"}),
                         [](const auto& client) {
                           std::string name = client.param.exporter;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace plimsoll::testing
