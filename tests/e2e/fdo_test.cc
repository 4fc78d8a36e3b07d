// Compiler profiles the whole way: a program is built, profiled by the daemon, built again with its profile, and compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "http/client.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/profiled_program.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kProfdata = "/usr/bin/llvm-profdata-19";

class Fdo : public FdoTest {};

TEST_F(Fdo, AProfileOfTheDaemonsSamplesIsWhatClangTakes) {
  for (const char* format : {"text", "binary"}) {
    const std::string profile = file(std::string(format) + ".prof");
    const Finished made = fdo({"autofdo", "--binary", file("app"), "--format", format, "--output", profile});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("Quality of the profile of " + file("app")));
    EXPECT_THAT(made.out, HasSubstr("samples: time, not executions"));
    const Finished shown = run({kProfdata, "show", "--sample", profile});
    EXPECT_EQ(shown.status, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("Function: _Z8hot_loop"));
    EXPECT_THAT(shown.out, HasSubstr("inlined callee: _ZN12_GLOBAL__N_16Random4nextEv"));
    profiled_->build("rebuilt", {"-fprofile-sample-use=" + profile, "-Werror"});
    EXPECT_EQ(run({file("rebuilt"), "1000000"}).out, run({file("app"), "1000000"}).out);
  }
}

TEST_F(Fdo, AServerAnswersAsItsDataDirectory) {
  ASSERT_EQ(fdo({"autofdo", "--binary", file("app"), "--output", file("local.prof")}).status, 0);
  const TestServer server(file("data"));
  ASSERT_TRUE(server.becomes_ready());
  const Finished made = run({"plimsoll", "fdo", "autofdo", "--server", server.address(), "--binary",
                             file("app"), "--output", file("served.prof")});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(*read_file(file("served.prof"), 1 << 20), *read_file(file("local.prof"), 1 << 20));
}

TEST_F(Fdo, TheReportIsOneDocument) {
  const Finished made = fdo({"report", "--binary", file("app"), "--json"});
  ASSERT_EQ(made.status, 0) << made.err;
  const json report = json::parse(made.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << made.out;
  EXPECT_EQ(report["build_ids"], json::array({build_id_of(file("app"))}));
  EXPECT_EQ(report["machines"], 1);
  EXPECT_GT(report["samples"], 300);
  EXPECT_GT(report["lines"]["matched_share"], 0.9);
  EXPECT_GT(report["share_of_process"], 0.5);
  EXPECT_EQ(report["basis"], "samples");
  EXPECT_EQ(report["hot_functions"][0]["function"], "_Z8hot_loopRKSt6vectorImSaImEEm");
  EXPECT_EQ(report["halves"], nullptr);
}

TEST_F(Fdo, ASeparateDebugFileWillDo) {
  shell("cp app stripped && objcopy --only-keep-debug app app.debug && strip stripped && cp stripped lost");
  const Finished made = fdo({"autofdo", "--binary", file("stripped"), "--debug", file("app.debug"),
                             "--format", "text", "--output", file("stripped.prof")});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(*read_file(file("stripped.prof"), 1 << 20), HasSubstr("_Z8hot_loop"));
  EXPECT_THAT(refusal({"--binary", file("stripped")}),
              AllOf(HasSubstr("has no line tables"), HasSubstr("--debug FILE")));
  EXPECT_THAT(refusal({"--binary", file("app.debug")}),
              HasSubstr("has no code: it is a separate debug file"));
  shell("objcopy --only-keep-debug no_lines other.debug");
  EXPECT_THAT(refusal({"--binary", file("stripped"), "--debug", file("other.debug")}),
              AllOf(HasSubstr(build_id_of(file("app"))), HasSubstr(build_id_of(file("no_lines")))));
}

TEST_F(Fdo, WhatWouldMisleadIsRefused) {
  EXPECT_THAT(
      refusal({"--binary", file("no_lines")}),
      AllOf(HasSubstr("no profile has samples of a binary with build ID " + build_id_of(file("no_lines"))),
            HasSubstr("app (build ID " + build_id_of(file("app")))));
  EXPECT_THAT(refusal({"--binary", file("app"), "--build-id", "abcdef"}),
              AllOf(HasSubstr("has the build ID " + build_id_of(file("app"))),
                    HasSubstr("samples of abcdef are asked for")));
  EXPECT_THAT(refusal({"--binary", file("app"), "--where", "machine=elsewhere"}),
              HasSubstr("nothing matches machine=elsewhere"));
  EXPECT_THAT(refusal({"--binary", file("app"), "--event", "lock-wait-ns"}), HasSubstr("lock-wait-ns"));
  EXPECT_THAT(refusal({"--binary", file("app.cc")}), HasSubstr("app.cc"));
  shell("head -c 9000 app > truncated");
  EXPECT_THAT(refusal({"--binary", file("truncated")}), HasSubstr("is truncated"));
  profiled_->build("anonymous", {"-gmlt", "-Wl,--build-id=none"});
  EXPECT_THAT(refusal({"--binary", file("anonymous")}), HasSubstr("has no build ID"));
  EXPECT_THAT(refusal({"--binary", file("missing")}), HasSubstr("missing"));
}

TEST_F(Fdo, AQualityBelowWhatIsWantedWritesNothing) {
  const std::string output = file("wanted.prof");
  const Finished few = fdo({"autofdo", "--binary", file("app"), "--since", "2001-01-01T00:00:00Z", "--until",
                            "2001-01-02T00:00:00Z", "--output", output});
  EXPECT_EQ(few.status, 1);
  EXPECT_THAT(few.err, HasSubstr("no "));
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_EQ(fdo({"report", "--binary", file("app"), "--min-quality", "fair"}).status, 0);
  // Fewer samples than a good profile needs, in a data directory of their own.
  const Background load({file("app"), "4000000000"});
  const Finished once = run({"plimsolld", "--once", "2", "--rate", "99", "--output", file("short")});
  ASSERT_EQ(once.status, 0) << once.err;
  ASSERT_EQ(run({"plimsoll", "import", "--data", file("short_data"), file("short")}).status, 0);
  const auto made = [&](const std::string& quality) {
    return run({"plimsoll", "fdo", "autofdo", "--data", file("short_data"), "--binary", file("app"),
                "--min-quality", quality, "--output", output});
  };
  const Finished refused = made("good");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("and \"good\" is wanted"), HasSubstr("2000 make a good profile")));
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_EQ(made("none").status, 0);
  EXPECT_TRUE(std::filesystem::exists(output));
}

// Without a binary here: the server has it.
TEST_F(Fdo, AServerMakesProfilesOfItsOwnFiles) {
  const std::string build_id = build_id_of(file("app"));
  const auto get = [](const TestServer& server, const std::string& parameters,
                      const http::Fields& headers = {}) {
    http::Client client({.base_url = server.address()});
    auto answer = client.send("GET", "/api/v1/fdo/autofdo?" + parameters, {}, {}, headers);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? *answer : http::Response{.status = 0};
  };
  ASSERT_EQ(fdo({"autofdo", "--binary", file("app"), "--output", file("local.prof")}).status, 0);
  {
    const TestServer server(file("data"), "[symbols]\nroots = [\"" + file("") + "\"]\n");
    ASSERT_TRUE(server.becomes_ready());
    const http::Response pulled = get(server, "build_id=" + build_id);
    ASSERT_EQ(pulled.status, 200) << pulled.body;
    EXPECT_EQ(pulled.body, *read_file(file("local.prof"), 1 << 20)) << "as the command makes it";
    EXPECT_EQ(
        get(server, "build_id=" + build_id, {{"If-None-Match", std::string(pulled.header("ETag"))}}).status,
        304);
    const json report = json::parse(get(server, "format=report&build_id=" + build_id).body, nullptr, false);
    EXPECT_EQ(report["build_ids"], json::array({build_id}));
    const Finished by_command =
        run({"plimsoll", "fdo", "autofdo", "--server", server.address(), "--build-id", build_id, "--output",
             file("pulled.prof"), "--report", file("report"), "--json"});
    EXPECT_EQ(by_command.status, 0) << by_command.err;
    EXPECT_EQ(*read_file(file("pulled.prof"), 1 << 20), pulled.body);
    EXPECT_THAT(*read_file(file("report"), 1 << 20), HasSubstr(build_id));
    EXPECT_THAT(refusal({}), HasSubstr("--server ADDR and --build-id ID"));
    const auto pull_refused = [&](const std::vector<std::string>& words) {
      std::vector<std::string> all{"plimsoll",       "fdo",        "autofdo", "--server",
                                   server.address(), "--build-id", build_id};
      all.insert(all.end(), words.begin(), words.end());
      const Finished refused = run(all);
      EXPECT_EQ(refused.status, 2) << refused.err;
      return refused.err;
    };
    EXPECT_THAT(pull_refused({"--output", file("no.prof"), "--report", file("report")}),
                HasSubstr("give --json"));
    EXPECT_FALSE(std::filesystem::exists(file("no.prof")));
    EXPECT_THAT(pull_refused({"--format", "text", "--json"}), HasSubstr("cannot both go to standard output"));
    const http::Response refused = get(server, "min_quality=good&since=1s&build_id=" + build_id);
    EXPECT_GE(refused.status, 400U) << refused.body;
  }
  // Whatever a sampled file is, it is parsed in a process of its own.
  shell("cp app whole && head -c 9000 whole > app");
  {
    const TestServer server(file("data"), "[symbols]\nroots = [\"" + file("") + "\"]\n");
    ASSERT_TRUE(server.becomes_ready());
    const http::Response broken = get(server, "build_id=" + build_id);
    EXPECT_GE(broken.status, 400U);
    shell("mv whole app");
    EXPECT_EQ(get(server, "build_id=" + build_id).status, 200);
  }
  const TestServer without(file("data"), "[symbols]\nroots = [\"/usr/games\"]\n");
  ASSERT_TRUE(without.becomes_ready());
  const http::Response missing = get(without, "build_id=" + build_id);
  EXPECT_EQ(missing.status, 404) << missing.body;
  EXPECT_THAT(missing.body,
              AllOf(HasSubstr("the server has no file of build " + build_id), HasSubstr("symbols.roots")));
}

// The next release: lines are inserted in the hot loop, and a function has another name.
TEST_F(Fdo, SamplesOfAnOlderBuildAreAdded) {
  std::string source = kFdoSource;
  const auto replace = [&source](std::string_view what, std::string_view by) {
    for (size_t at = source.find(what); at != std::string::npos; at = source.find(what, at + by.size())) {
      source.replace(at, what.size(), by);
    }
  };
  replace("rare_case", "odd_case");
  replace("    const uint64_t value = random.next();\n",
          "    if (sum == 12345) {\n      std::printf(\"odd\");\n    }\n    const uint64_t value = "
          "random.next();\n");
  std::ofstream(file("next.cc")) << source;
  profiled_->build("next", {"-gmlt", "-fdebug-info-for-profiling"}, "next.cc");
  {
    const Background load({file("next"), "4000000000"});
    const Finished once =
        run({"plimsolld", "--once", "2", "--rate", "199", "--output", file("next_profile")});
    ASSERT_EQ(once.status, 0) << once.err;
  }
  ASSERT_EQ(run({"plimsoll", "import", "--data", file("both"), file("profile"), file("next_profile")}).status,
            0);
  const Finished made = run({"plimsoll", "fdo", "autofdo", "--data", file("both"), "--binary", file("next"),
                             "--older", file("app"), "--json", "--output", file("next.prof")});
  ASSERT_EQ(made.status, 0) << made.err;
  const json report = json::parse(made.out, nullptr, false);
  EXPECT_EQ(report["build_ids"], json::array({build_id_of(file("next")), build_id_of(file("app"))}));
  const json& older = report["older_builds"][0];
  EXPECT_GT(older["samples"], report["samples"]) << made.out;
  EXPECT_GT(older["similarity"], 0.6) << made.out;
  EXPECT_GT(older["carried_share"], 0.8) << made.out;
  EXPECT_THAT(older["stale_functions"].dump(), AnyOf(HasSubstr("rare_case"), "[]")) << "where it has samples";
  profiled_->build("next_built", {"-fprofile-sample-use=" + file("next.prof"), "-Werror"}, "next.cc");

  // As LLVM's text, which llvm-profdata makes.
  shell(std::string(kProfdata) + " merge --sample --text next.prof -o next.txt");
  EXPECT_EQ(run({"plimsoll", "fdo", "autofdo", "--data", file("data"), "--binary", file("app"),
                 "--older-profile", file("next.txt"), "--output", file("app.prof")})
                .status,
            0);
  const auto refused = [](const std::string& older_file) {
    return refusal({"--binary", file("app"), "--older", older_file});
  };
  EXPECT_THAT(refused(file("app")), HasSubstr("is given twice"));
  EXPECT_THAT(refused(file("next.cc")), HasSubstr("--older " + file("next.cc")));
  EXPECT_THAT(refusal({"--binary", file("app"), "--older-profile", file("next.prof")}),
              HasSubstr("llvm-profdata merge --sample --text"));
  const Finished without =
      fdo({"autofdo", "--binary", file("app"), "--older", file("next"), "--output", file("app.prof")});
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr(build_id_of(file("next")) + " has no samples in the selection"));
  // As the server says of a build that it knows.
  const TestServer server(file("both"), "[symbols]\nroots = [\"" + file("") + "\"]\n");
  ASSERT_TRUE(server.becomes_ready());
  const auto pulled_report = [&](const std::string& filter) {
    const Finished pulled = run({"plimsoll", "fdo", "autofdo", "--server", server.address(), "--build-id",
                                 build_id_of(file("app")), "--older", build_id_of(file("next")), "--where",
                                 filter, "--output", file("pulled.prof"), "--json"});
    EXPECT_EQ(pulled.status, 0) << pulled.err;
    return pulled.out;
  };
  EXPECT_THAT(pulled_report("thread=app"),
              HasSubstr(build_id_of(file("next")) + " has no samples in the selection"));
  EXPECT_THAT(pulled_report("thread=~.*"), Not(HasSubstr("has no samples in the selection")));
}

TEST_F(Fdo, AProfileForBoltWithoutFunctionsIsRefused) {
  shell("cp app one_symbol && strip --strip-all --keep-symbol=_start one_symbol");
  EXPECT_THAT(refusal({"--binary", file("one_symbol"), "--min-quality", "none"}, "bolt"),
              AllOf(HasSubstr("belongs to a function that symbols name"), HasSubstr("not stripped")));
}

TEST_F(Fdo, ProfilesForBoltAndLinkersNeedNoLines) {
  shell("cp app bare && strip --strip-debug bare");
  const Finished bolt = fdo({"bolt", "--binary", file("bare"), "--output", file("app.fdata")});
  ASSERT_EQ(bolt.status, 0) << bolt.err;
  EXPECT_THAT(*read_file(file("app.fdata"), 1 << 20), HasSubstr("_Z8hot_loop"));
  const Finished order = fdo({"order", "--binary", file("bare"), "--output", file("app.order")});
  ASSERT_EQ(order.status, 0) << order.err;
  EXPECT_THAT(*read_file(file("app.order"), 1 << 20), HasSubstr("_Z8hot_loop"));
  // Of a stripped file the exported functions alone would be known.
  shell("cp app exporting && objcopy --only-keep-debug app exporting.debug && strip exporting");
  const Finished by_debug_file = fdo({"order", "--binary", file("exporting"), "--debug",
                                      file("exporting.debug"), "--output", file("debug.order")});
  ASSERT_EQ(by_debug_file.status, 0) << by_debug_file.err;
  EXPECT_THAT(*read_file(file("debug.order"), 1 << 20), HasSubstr("_Z8hot_loop"));
  EXPECT_THAT(refusal({"--binary", file("exporting")}, "order"), HasSubstr("--debug"));
  EXPECT_THAT(refusal({"--binary", file("app"), "--event", "lock-wait-ns"}, "bolt"),
              HasSubstr("lock-wait-ns"));
}

TEST_F(Fdo, VerifyAcceptsWhatIsFasterAndRejectsWhatIsNot) {
  const std::vector<std::string> verify{"plimsoll", "fdo", "verify", "--runs", "4"};
  const auto verified = [&](const std::string& base, const std::string& test, std::vector<std::string> more) {
    std::vector<std::string> command = verify;
    command.insert(command.end(), {"--base", base, "--test", test});
    command.insert(command.end(), more.begin(), more.end());
    return run(command);
  };
  const std::string slow = file("app") + " 40000000";
  const std::string fast = file("app") + " 10000000";
  const Finished accepted = verified(slow, fast, {"--json"});
  EXPECT_EQ(accepted.status, 0) << accepted.err;
  const json document = json::parse(accepted.out, nullptr, false);
  EXPECT_EQ(document["accepted"], true) << accepted.out;
  EXPECT_GT(document["speedup_low_percent"], 0);
  const Finished rejected = verified(fast, slow, {});
  EXPECT_EQ(rejected.status, 1);
  EXPECT_THAT(rejected.out, HasSubstr("rejected: the test program takes -"));
  EXPECT_EQ(verified(slow, fast, {"--min-speedup", "99"}).status, 1);
  EXPECT_EQ(verified("40000000", "10000000", {"--", file("app"), "{}"}).status, 0);
  EXPECT_THAT(verified(slow, fast, {"--", "/bin/true"}).err, HasSubstr("write {}"));
  const Finished failed = verified(slow, "exit 7", {});
  EXPECT_THAT(failed.err, HasSubstr("status 7"));
  EXPECT_EQ(failed.status, 3) << "not measured is not rejected";
}

}  // namespace
}  // namespace plimsoll::testing
