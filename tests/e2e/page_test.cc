// The web page in a real browser (Debian's chromium) against a real server with profiles of a made-up fleet. What is looked at stands in
// web/browser/*.mjs, one file for each test here; they are run by Node.js from the build folder, where npm has put playwright-core.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

std::string chromium() {
  for (const char* const path : {"/usr/bin/chromium", "/usr/lib/chromium/chromium"}) {
    if (::access(path, X_OK) == 0) {
      return path;
    }
  }
  return {};
}

// Data directories take seconds to fill: once for all tests of the program.
class PageData : public ::testing::Environment {
 public:
  void SetUp() override { instance_ = this; }
  void TearDown() override { folder_.reset(); }

  static std::string of(const std::string& kind) { return instance_->made(kind); }

 private:
  std::string made(const std::string& kind) {
    if (folder_ == nullptr) {
      folder_ = std::make_unique<TemporaryFolder>();
    }
    const std::string data = *folder_ / kind;
    if (std::filesystem::exists(data)) {
      return data;
    }
    const std::string profiles = *folder_ / (kind + "-profiles");
    const bool is_hardware = kind == "hardware";
    EXPECT_EQ(
        run({is_hardware ? "page_hardware" : "page_fleet", is_hardware ? "profiles" : kind, profiles}).status,
        0);
    std::vector<std::string> import{"plimsoll", "import", "--data", data};
    for (const auto& entry : std::filesystem::directory_iterator(profiles)) {
      import.push_back(entry.path());
    }
    const Finished imported = run(import);
    EXPECT_EQ(imported.status, 0) << imported.err;
    return data;
  }

  std::unique_ptr<TemporaryFolder> folder_;
  static inline PageData* instance_ = nullptr;
};

const auto* const kPageData = ::testing::AddGlobalTestEnvironment(new PageData());

class Page : public ::testing::Test {
 protected:
  void SetUp() override {
    if (chromium().empty()) {
      GTEST_SKIP() << "chromium is not installed: scripts/install.sh --tests";
    }
  }

  // Runs web/browser/NAME.mjs, which has to succeed.
  void look(const std::string& name, const TestServer& server,
            const std::vector<std::string>& variables = {}) {
    std::vector<std::string> argv{"/usr/bin/env", "PLIMSOLL_URL=http://" + server.address(),
                                  "PLIMSOLL_FLEET=" + server.fleet_address(), "CHROMIUM=" + chromium(),
                                  "PLIMSOLL_BIN=" + built_file()};
    argv.insert(argv.end(), variables.begin(), variables.end());
    const std::string script = built_file("../web/browser/" + name + ".mjs");
    argv.insert(argv.end(), {"node", "--test", "--test-reporter=spec", script});
    const Finished looked = run(argv);
    EXPECT_EQ(looked.status, 0) << looked.out << looked.err;
    fmt::print("{}", looked.out);
  }
};

TEST_F(Page, ExploreShowsWhatTheApiSays) {
  const TestServer server(PageData::of("profiles"));
  ASSERT_TRUE(server.becomes_ready());
  look("explore", server);
}

TEST_F(Page, FlameGraphsAreOperatedByPointerAndKeyboard) {
  const TestServer server(PageData::of("profiles"));
  ASSERT_TRUE(server.becomes_ready());
  look("flame", server);
}

TEST_F(Page, AHundredThousandNodesAndDeepStacksAreDrawn) {
  const TestServer server(PageData::of("large"));
  ASSERT_TRUE(server.becomes_ready());
  look("large", server);
}

TEST_F(Page, TheStartPageShowsTheFleetAndWhatChanged) {
  const TestServer server(PageData::of("profiles"));
  ASSERT_TRUE(server.becomes_ready());
  look("fleet", server);
}

TEST_F(Page, HardwarePlacementAndExperimentsShowWhatTheApiSays) {
  const TestServer server(PageData::of("hardware"));
  ASSERT_TRUE(server.becomes_ready());
  look("decisions", server);
}

TEST_F(Page, SeveralEventsAndBothDirectionsOfADiff) {
  const TestServer server(PageData::of("hardware"));
  ASSERT_TRUE(server.becomes_ready());
  look("events", server);
}

TEST_F(Page, AFunctionHasAPageOfItsOwn) {
  const TestServer server(PageData::of("profiles"));
  ASSERT_TRUE(server.becomes_ready());
  look("function", server);
}

// Few draws beside the one by order. Machines that refuse or fail stop nothing.
TEST_F(Page, HealthShowsWhatNeedsAttentionAndWhatToDo) {
  const TestServer server(PageData::of("profiles"),
                          "[draw]\ninterval = \"1h\"\npercent = 50\nmax_percent_per_job = 100\n"
                          "max_percent_per_platform = 100\nmax_overhead_percent = 100\nstop_percent = 100\n");
  ASSERT_TRUE(server.becomes_ready());
  look("health", server);
}

TEST_F(Page, QuestionsAskedColdTakeThreeClicks) {
  const TestServer server(PageData::of("two-days"));
  ASSERT_TRUE(server.becomes_ready());
  look("questions", server);
}

TEST_F(Page, QuestionsAboutHardwareAndExperimentsTakeThreeClicks) {
  const TestServer server(PageData::of("hardware"));
  ASSERT_TRUE(server.becomes_ready());
  look("questions_hardware", server);
}

TEST_F(Page, EveryPageIsOperatedAndReadByEveryone) {
  const TestServer server(PageData::of("profiles"));
  ASSERT_TRUE(server.becomes_ready());
  look("every_page", server, {"PLIMSOLL_PAGES=page_fleet"});
}

TEST_F(Page, EveryPageAboutHardwareIsOperatedAndReadByEveryone) {
  const TestServer server(PageData::of("hardware"));
  ASSERT_TRUE(server.becomes_ready());
  look("every_page", server, {"PLIMSOLL_PAGES=page_hardware"});
}

TEST_F(Page, DownloadsAndDiffsAreWhatTheApiSays) {
  const TestServer server(PageData::of("profiles"));
  ASSERT_TRUE(server.becomes_ready());
  look("downloads", server);
}

TEST_F(Page, TheFirstRunNamesTheCommand) {
  const TemporaryFolder folder;
  const TestServer server(folder / "data");
  ASSERT_TRUE(server.becomes_ready());
  look("first_run", server);
}

TEST_F(Page, AsksForATokenWhereTheServerDoes) {
  const TemporaryFolder folder;
  const Finished made = run({"plimsoll", "token", "--name", "reader", "--role", "read"});
  ASSERT_EQ(made.status, 0) << made.err;
  const size_t end = made.out.find('\n');
  const TestServer server(folder / "data", made.out.substr(end));
  ASSERT_TRUE(server.becomes_ready());
  look("login", server, {"PLIMSOLL_TOKEN=" + made.out.substr(0, end)});
}

}  // namespace
}  // namespace plimsoll::testing
