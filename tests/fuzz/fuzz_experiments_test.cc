// Definitions of experiments, as clients send them: damaged ones are refused, or are definitions.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "base/time.h"
#include "query/operations/experiments.h"
#include "query/wsmeter/asked/defined_experiment.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"

namespace plimsoll::query::fuzz_experiments_test {
namespace {

constexpr int kMutations = 10'000;
constexpr int64_t kNowNs = int64_t{1'800'000'000} * kNsPerSecond;

constexpr std::array<std::string_view, 4> kDefinitions{
    R"({"feature": "huge pages", "control": ["revision=41"], "test": ["revision=42"], "margin": "2%"})",
    R"({"control": "job=web", "test": ["job=web", "label:pages=huge"], "where": ["platform=AMD Zen 4"],
        "since": "2026-11-24T12:00:00Z", "until": "2027-12-01T00:00:00+01:00", "ratio": "ipc", "owner": "ann"})",
    R"({"control": ["function=~^a.*b$"], "test": ["job in a,b"], "detect": 0.01, "power": "90%",
        "min_instances": 8, "history": "14d", "focus": ["malloc"], "ignore": ["x"], "hide": ["none"]})",
    R"({"control": [], "test": null, "until": "", "feature": "\u00fc\ud83d\ude00\\\"", "since": -1e308})"};

TEST(FuzzExperiments, DamagedDefinitionsAreRefusedOrComeBackAsTheyWere) {
  std::mt19937_64 random(fuzz::seed(1));
  int read = 0;
  int accepted = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string_view original = kDefinitions[random() % kDefinitions.size()];
    const std::string json = fuzz::mutated(original, random);
    const std::string name = random() % 2 == 0 ? "pages" : fuzz::mutated("huge pages/x.toml", random);
    const auto definition = definition_from_json(name, json);
    if (!definition) {
      continue;
    }
    ++read;
    const auto again = definition_from_json(name, definition_json(*definition));
    ASSERT_TRUE(again) << json << "\n" << again.error().text();
    ASSERT_EQ(again->parameters, definition->parameters) << json;
    ASSERT_EQ(again->feature, definition->feature) << json;
    ASSERT_EQ(again->owner, definition->owner) << json;
    if (!check_definition(*definition, kNowNs)) {
      continue;
    }
    ++accepted;
    ASSERT_EQ(printable(definition->name), definition->name) << json;
    ASSERT_TRUE(check_change(*definition, *again, kNowNs)) << json;
    ASSERT_EQ(experiments({.name = {}, .now_ns = kNowNs}, {*definition}).rows.size(), 1) << json;
  }
  // Else nothing is compared.
  EXPECT_GT(read, kMutations / 100);
  EXPECT_GT(accepted, kMutations / 1000);
}

}  // namespace
}  // namespace plimsoll::query::fuzz_experiments_test
