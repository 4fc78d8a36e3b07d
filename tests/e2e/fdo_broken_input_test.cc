// Files that make no compiler profile, and samples that are not there: a clear error and no file, or the right answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "http/client.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/profiled_program.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kHotFunction = "_Z8hot_loopRKSt6vectorImSaImEEm";
constexpr const char* kCommands[] = {"autofdo", "bolt", "order"};

class FdoBrokenInput : public FdoTest {
 protected:
  // What each command that writes a file refuses.
  static void expect_refused(const std::vector<std::string>& words,
                             const ::testing::Matcher<std::string>& why) {
    for (const char* command : kCommands) {
      EXPECT_THAT(refusal(words, command), why) << command;
    }
    std::vector<std::string> report = words;
    report.insert(report.begin(), "report");
    const Finished refused = fdo(report);
    EXPECT_NE(refused.status, 0) << refused.out;
    EXPECT_THAT(refused.err, why);
  }
};

TEST_F(FdoBrokenInput, FilesThatAreCutAnywhere) {
  const size_t bytes = std::filesystem::file_size(file("app"));
  for (const size_t kept : {size_t{1}, size_t{63}, size_t{64}, size_t{1000}, bytes / 2, bytes - 1}) {
    shell("head -c " + std::to_string(kept) + " app > cut");
    SCOPED_TRACE(kept);
    expect_refused({"--binary", file("cut")}, HasSubstr("cut"));
  }
  shell("head -c " + std::to_string(bytes / 2) + " app > cut");
  expect_refused({"--binary", file("cut")}, HasSubstr("is truncated"));
  shell(": > empty");
  expect_refused({"--binary", file("empty")}, HasSubstr("empty"));
}

TEST_F(FdoBrokenInput, DebugFilesInPlaceOfBinaries) {
  shell(
      "objcopy --only-keep-debug app app.debug && cp app bare && strip bare && head -c 3000 app.debug > "
      "cut.debug");
  expect_refused({"--binary", file("app.debug")}, HasSubstr("has no code: it is a separate debug file"));
  expect_refused({"--binary", file("bare"), "--debug", file("cut.debug")}, HasSubstr("is truncated"));
  expect_refused({"--binary", file("bare"), "--debug", file("missing.debug")}, HasSubstr("missing.debug"));
  EXPECT_THAT(refusal({"--binary", file("bare")}), HasSubstr("has no line tables"));
  const Finished made = fdo({"autofdo", "--binary", file("bare"), "--debug", file("app.debug"), "--format",
                             "text", "--output", file("bare.prof")});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(read_file(file("bare.prof"), 1 << 20).value_or(""), HasSubstr(kHotFunction));
}

TEST_F(FdoBrokenInput, BuildsWithoutSamples) {
  expect_refused({"--binary", file("no_lines")},
                 AllOf(HasSubstr(build_id_of(file("no_lines"))), HasSubstr(build_id_of(file("app")))));
  expect_refused({"--binary", file("app"), "--until", "2001-01-01T00:00:00Z"}, HasSubstr("no "));
  expect_refused({"--binary", file("app"), "--where", "machine=elsewhere"},
                 HasSubstr("nothing matches machine=elsewhere"));
}

// The server finds files by build ID, whatever lies at the path that machines reported.
TEST_F(FdoBrokenInput, FilesOfAServer) {
  const std::string build_id = build_id_of(file("app"));
  const auto answered = [&](const std::string& in_place) {
    shell("mkdir -p roots && rm -rf roots/* && mkdir -p roots$(dirname " + file("app") + ") && " + in_place);
    const TestServer server(file("data"), "[symbols]\nroots = [\"" + file("roots") +
                                              "\"]\ndebug_roots = [\"" + file("roots") + "/debug\"]\n");
    EXPECT_TRUE(server.becomes_ready());
    http::Client client({.base_url = server.address()});
    auto answer = client.send("GET", "/api/v1/fdo/autofdo?build_id=" + build_id);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? *answer : http::Response{.status = 0};
  };
  const std::string there = "roots" + file("app");
  const http::Response whole = answered("cp app " + there);
  ASSERT_EQ(whole.status, 200) << whole.body;
  EXPECT_THAT(whole.body, HasSubstr(kHotFunction));

  const http::Response other = answered("cp no_lines " + there);
  EXPECT_EQ(other.status, 404) << other.body;
  EXPECT_THAT(other.body, HasSubstr("the server has no file of build " + build_id));

  const http::Response cut = answered("head -c 9000 app > " + there);
  EXPECT_EQ(cut.status, 400) << cut.body;

  const http::Response debug_alone = answered("objcopy --only-keep-debug app " + there);
  EXPECT_EQ(debug_alone.status, 404) << debug_alone.body;

  const http::Response stripped = answered("cp app " + there + " && strip " + there);
  EXPECT_EQ(stripped.status, 400) << stripped.body;
  EXPECT_THAT(stripped.body, AllOf(HasSubstr("no line tables"), HasSubstr("symbols.debug_roots")));

  const std::string debug_folder = "roots/debug/.build-id/" + build_id.substr(0, 2);
  const http::Response apart =
      answered("cp app " + there + " && strip " + there + " && mkdir -p " + debug_folder +
               " && objcopy --only-keep-debug app " + debug_folder + "/" + build_id.substr(2) + ".debug");
  EXPECT_EQ(apart.status, 200) << apart.body;
  EXPECT_THAT(apart.body, HasSubstr(kHotFunction));
}

}  // namespace
}  // namespace plimsoll::testing
