// Definitions of experiments in draws.db.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/draws/draw_store.h"
#include "store/draws/experiment.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store::experiments_kept_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ExperimentDefinition pages(const std::string& name = "pages") {
  return {.name = name,
          .feature = "huge pages",
          .owner = "ann",
          .parameters = {{"control", "revision=41"}, {"control", "job=web"}, {"test", "revision=42"}},
          .defined_ns = 100,
          .changed_ns = 200};
}

std::string text_of(const ExperimentDefinition& definition) {
  std::string text = fmt::format("{}: {} by {} at {}, {}", definition.name, definition.feature,
                                 definition.owner, definition.defined_ns, definition.changed_ns);
  for (const auto& [name, value] : definition.parameters) {
    text += fmt::format(" {}={}", name, value);
  }
  return text;
}

class ExperimentsKept : public ::testing::Test {
 protected:
  DrawStore open(sqlite::OpenMode mode = sqlite::OpenMode::kReadWrite) {
    return *DrawStore::open(folder_ / "draws.db", mode);
  }
  std::vector<std::string> texts(DrawStore& store) {
    std::vector<std::string> texts;
    const auto kept = store.experiments();
    EXPECT_TRUE(kept) << kept.error().text();
    for (const ExperimentDefinition& definition : kept.value_or(std::vector<ExperimentDefinition>())) {
      texts.push_back(text_of(definition));
    }
    return texts;
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(ExperimentsKept, AreReadBackByNameWithTheirFiltersInOrder) {
  ASSERT_TRUE(open().keep_experiment(pages("zlib")));
  ExperimentDefinition bare = pages("a b");
  bare.parameters.clear();
  ASSERT_TRUE(open().keep_experiment(bare));
  DrawStore store = open(sqlite::OpenMode::kRead);
  EXPECT_THAT(texts(store), ElementsAre("a b: huge pages by ann at 100, 200",
                                        "zlib: huge pages by ann at 100, 200 control=revision=41 "
                                        "control=job=web test=revision=42"));
  EXPECT_THAT((*store.experiments())[1].values_of("control"), ElementsAre("revision=41", "job=web"));
  EXPECT_THAT((*store.experiments())[1].values_of("until"), IsEmpty());
}

TEST_F(ExperimentsKept, ALaterDefinitionTakesThePlaceOfTheOneBefore) {
  DrawStore store = open();
  ASSERT_TRUE(store.keep_experiment(pages()));
  ExperimentDefinition later = pages();
  later.feature = "larger pages";
  later.parameters = {{"control", "revision=42"}};
  ASSERT_TRUE(store.keep_experiment(later));
  EXPECT_THAT(texts(store), ElementsAre("pages: larger pages by ann at 100, 200 control=revision=42"));
}

TEST_F(ExperimentsKept, AWithdrawnOneIsGone) {
  DrawStore store = open();
  ASSERT_TRUE(store.keep_experiment(pages()));
  EXPECT_EQ(store.withdraw_experiment("pages").value_or(false), true);
  EXPECT_THAT(texts(store), IsEmpty());
  EXPECT_EQ(store.withdraw_experiment("pages").value_or(true), false);
}

TEST_F(ExperimentsKept, AnOlderVersionsFileHasNone) {
  ASSERT_TRUE(open().keep_experiment(pages()));
  {
    auto database = sqlite::Database::open(folder_ / "draws.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(database->run("DROP TABLE experiment_parameter; DROP TABLE experiment"));
  }
  DrawStore reader = open(sqlite::OpenMode::kRead);
  EXPECT_THAT(texts(reader), IsEmpty());
  // Its writer makes the tables when it opens the file.
  DrawStore writer = open();
  EXPECT_TRUE(writer.keep_experiment(pages()));
}

TEST_F(ExperimentsKept, AreLimitedInNumber) {
  DrawStore store = open();
  auto database = sqlite::Database::open(folder_ / "draws.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(
      database->execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                        "INSERT INTO experiment SELECT 'e' || i, '', '', 1, 1 FROM n",
                        kMaxExperiments));
  const Status refused = store.keep_experiment(pages());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(refused.error().text(), HasSubstr("withdraw experiments that have ended"));
  EXPECT_TRUE(store.keep_experiment(pages("e7"))) << "one of those that there are can be changed";
  EXPECT_EQ(store.experiments()->size(), kMaxExperiments);
}

TEST(ExperimentNames, StandInPathsAndOnCommandLines) {
  for (const char* name : {"pages", "huge pages", "v1.2_x-y", "\u00fcber", "a=b&c", "<b>"}) {
    EXPECT_TRUE(check_experiment_name(name)) << name;
  }
  EXPECT_TRUE(check_experiment_name(std::string(kMaxExperimentNameBytes, 'x')));
  for (const std::string& name :
       {std::string(), std::string(kMaxExperimentNameBytes + 1, 'x'), std::string("a/b"), std::string(".."),
        std::string("."), std::string("-x"), std::string(" x"), std::string("x "), std::string("x.toml"),
        std::string("a\nb"), std::string("a\0b", 3), std::string("\xff"), std::string("\x1b[2J"),
        std::string("a\u202e")}) {
    const Status refused = check_experiment_name(name);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << name;
    EXPECT_EQ(refused.error().field, "name") << name;
  }
}

TEST_F(ExperimentsKept, OfUnfitTextsNothingIsKept) {
  DrawStore store = open();
  const auto code_of = [&](const ExperimentDefinition& definition) {
    const Status refused = store.keep_experiment(definition);
    return refused ? std::string("kept") : std::string(name_of(refused.error().code));
  };
  const std::string invalid(name_of(ErrorCode::kInvalid));
  const std::string large(name_of(ErrorCode::kTooLarge));
  EXPECT_EQ(code_of(pages("a/b")), invalid);
  ExperimentDefinition definition = pages();
  definition.feature = "a\x1b[2J";
  EXPECT_EQ(code_of(definition), invalid);
  definition = pages();
  definition.owner = "\xff";
  EXPECT_EQ(code_of(definition), invalid);
  definition = pages();
  definition.parameters.emplace_back("where", "job=\n");
  EXPECT_EQ(code_of(definition), invalid);
  for (const char* name : {"", "where\x1b[2J", "\xff"}) {
    definition = pages();
    definition.parameters.emplace_back(name, "job=web");
    EXPECT_EQ(code_of(definition), invalid) << "no name of a parameter";
  }
  definition = pages();
  definition.owner = std::string(kMaxExperimentOwnerBytes + 1, 'o');
  EXPECT_EQ(code_of(definition), large);
  definition = pages();
  definition.feature = std::string(kMaxExperimentBytes, 'f');
  EXPECT_EQ(code_of(definition), large);
  definition = pages();
  definition.parameters.assign(kMaxExperimentParameters + 1, {"where", "a=b"});
  EXPECT_EQ(code_of(definition), large);
  EXPECT_THAT(texts(store), IsEmpty());
}

// Against a map.
TEST_F(ExperimentsKept, AreWhatWasLastKeptAndNotWithdrawn) {
  std::mt19937 random(20261128);
  DrawStore store = open();
  std::map<std::string, std::string> model;
  for (int step = 0; step < 300; ++step) {
    ExperimentDefinition definition = pages(fmt::format("e{}", random() % 12));
    if (random() % 3 == 0) {
      const auto withdrawn = store.withdraw_experiment(definition.name);
      ASSERT_TRUE(withdrawn);
      EXPECT_EQ(*withdrawn, model.erase(definition.name) == 1) << step;
      continue;
    }
    definition.changed_ns = step;
    definition.parameters.resize(random() % 4, {"where", fmt::format("label:a={}", step)});
    ASSERT_TRUE(store.keep_experiment(definition));
    model[definition.name] = text_of(definition);
  }
  std::vector<std::string> expected;
  for (const auto& [name, text] : model) {
    expected.push_back(text);
  }
  EXPECT_EQ(texts(store), expected);
}

}  // namespace
}  // namespace plimsoll::store::experiments_kept_test
