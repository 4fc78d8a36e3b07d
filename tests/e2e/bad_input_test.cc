// What is wrong is refused with a message that says what it is, and changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/hex.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/framed.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Bytes that claim to be the profile with the seed 2, and are not.
struct BadProfile {
  std::string what;
  std::string bytes;
  std::string says;  // part of the message
  unsigned status = 400;
};

// The same profile, but for one field; framed and with the right checksum.
std::string reframed(const std::function<void(wire::RawProfile&)>& change) {
  wire::RawProfile profile = make_profile({.seed = 2, .stacks = "main;work 5\nmain 7\n"});
  change(profile);
  return wire::framed(wire::compressed(profile.SerializeAsString()));
}

std::vector<BadProfile> bad_profiles() {
  const std::string good = wire::encode(make_profile({.seed = 2, .stacks = "main;work 5\nmain 7\n"}));
  std::mt19937_64 random(11);
  std::vector<BadProfile> bad{{"nothing", "", ""}};
  std::string noise(1000, '\0');
  std::ranges::generate(noise, [&] { return static_cast<char>(random()); });
  bad.push_back({"random bytes", noise, ""});
  for (const size_t length :
       {1UL, 7UL, 8UL, 12UL, 20UL, 31UL, 32UL, 33UL, good.size() / 2, good.size() - 1}) {
    bad.push_back({fmt::format("the first {} bytes", length), good.substr(0, length), ""});
  }
  bad.push_back({"one byte too many", good + '\0', "longer than declared"});
  for (int i = 0; i < 100; ++i) {
    std::string flipped = good;
    const size_t bit = random() % (flipped.size() * 8);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    // Bits of the version make it another version.
    const bool is_version = bit / 8 >= 8 && bit / 8 < 12;
    bad.push_back({fmt::format("bit {} flipped", bit), flipped, "", is_version ? 415U : 400U});
  }
  std::string version = good;
  version[8] = 77;
  bad.push_back({"another version", version, "format version 77; this program reads", 415});
  bad.push_back({"no zstd", wire::framed("no zstd"), "body"});
  bad.push_back({"no message", wire::framed(wire::compressed("\xff\xff\xff")), ""});
  bad.push_back({"a sum that is wrong",
                 reframed([](wire::RawProfile& profile) { profile.mutable_events(0)->set_hits(1000); }),
                 "events[0]"});
  bad.push_back({"a stack that is not there",
                 reframed([](wire::RawProfile& profile) { profile.mutable_samples(0)->set_stack(0, 99); }),
                 "samples[0].stack[0]"});
  bad.push_back({"a thread that is not there",
                 reframed([](wire::RawProfile& profile) { profile.mutable_samples(0)->set_thread(0, 99); }),
                 "samples[0].thread[0]"});
  bad.push_back(
      {"no name", reframed([](wire::RawProfile& profile) { profile.clear_profile_id(); }), "profile_id"});
  return bad;
}

TEST(BadProfiles, AreNotImported) {
  const TemporaryFolder folder;
  const std::string data_dir = folder / "data";
  write(folder / "good", wire::encode(make_profile({.seed = 1, .stacks = "main;work 12\n"})));
  ASSERT_EQ(run({"plimsoll", "import", "--data", data_dir, folder / "good"}).status, 0);
  const auto answer = [&] { return run({"plimsoll", "top", "--data", data_dir, "--json"}).out; };
  const std::string answer_before = answer();
  ASSERT_THAT(answer_before, HasSubstr("work"));
  const auto expect_refused = [&](const std::string& path, const std::string& what, const std::string& says) {
    const Finished refused = run({"plimsoll", "import", "--data", data_dir, path});
    EXPECT_EQ(refused.status, 1) << what << ": " << refused.err;
    EXPECT_THAT(refused.err, AllOf(HasSubstr(path), HasSubstr(says))) << what;
    EXPECT_EQ(stored_in(data_dir).accepted, 1) << what;
  };

  expect_refused(folder / "missing", "a missing file", "No such file");
  expect_refused(folder.path(), "a folder", "directory");
  write(folder / "large", "PLIMPROF");
  std::filesystem::resize_file(folder / "large", (64U << 20) + 1);
  expect_refused(folder / "large", "a file that is too large", "at most 67108864 are read");
  for (const BadProfile& bad : bad_profiles()) {
    write(folder / "bad", bad.bytes);
    expect_refused(folder / "bad", bad.what, bad.says);
  }
  EXPECT_EQ(answer(), answer_before);
}

TEST(BadProfiles, LeaveTheGoodOnesAroundThemImported) {
  const TemporaryFolder folder;
  write(folder / "good", wire::encode(make_profile({.seed = 1, .stacks = "main;work 12\n"})));
  write(folder / "bad", "not a profile");
  write(folder / "good too", wire::encode(make_profile({.seed = 2, .stacks = "main;work 30\n"})));
  const Finished refused = run({"plimsoll", "import", "--data", folder / "data", folder / "good",
                                folder / "bad", folder / "missing", folder / "good too"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(folder / "bad"), HasSubstr(folder / "missing"),
                                 HasSubstr("2 of 4 files were not imported")));
  EXPECT_EQ(self_of(top({"--data", folder / "data"}))["work"], 42);
}

TEST(BadProfiles, AreNotAcceptedFromDaemons) {
  const TemporaryFolder folder;
  TestServer server(folder / "data", "[limits]\nmax_profile_bytes = \"4KiB\"\n");
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  http::Client client({.base_url = server.fleet_address()});
  const auto put = [&](uint64_t seed, const std::string& bytes) {
    const auto response = client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile_id(seed)), bytes);
    EXPECT_TRUE(response.has_value()) << response.error().text();
    return response.value_or(http::Response());
  };
  const std::string good = wire::encode(make_profile({.seed = 1, .stacks = "main;work 12\n"}));
  ASSERT_EQ(put(1, good).status, 200);

  for (const BadProfile& bad : bad_profiles()) {
    const http::Response refused = put(2, bad.bytes);
    EXPECT_EQ(refused.status, bad.status) << bad.what << ": " << refused.body;
    EXPECT_THAT(refused.body, AllOf(HasSubstr("\"error\""), HasSubstr(bad.says))) << bad.what;
  }
  EXPECT_EQ(put(2, std::string(4097, 'x')).status, 413);
  const http::Response other_name = put(2, good);
  EXPECT_EQ(other_name.status, 400);
  EXPECT_THAT(other_name.body, AllOf(HasSubstr(to_hex(profile_id(1))), HasSubstr(to_hex(profile_id(2)))));
  const http::Response other_content =
      put(1, wire::encode(make_profile({.seed = 1, .stacks = "main;work 13\n"})));
  EXPECT_EQ(other_content.status, 409);
  EXPECT_THAT(other_content.body, HasSubstr(to_hex(profile_id(1))));
  const auto no_name = client.send("PUT", "/fleet/v1/profiles/xyz", good);
  ASSERT_TRUE(no_name.has_value()) << no_name.error().text();
  EXPECT_EQ(no_name->status, 400);

  ASSERT_EQ(server.stop().status, 0);
  EXPECT_EQ(stored_in(folder / "data").accepted, 1);
  EXPECT_EQ(self_of(top({"--data", folder / "data"}))["work"], 12);
}

struct BadCommand {
  std::vector<std::string> arguments;
  std::string says;
  int status = 2;
};

void expect_refused(const std::string& name, const std::vector<BadCommand>& commands) {
  for (const BadCommand& command : commands) {
    std::vector<std::string> argv{name};
    argv.insert(argv.end(), command.arguments.begin(), command.arguments.end());
    const Finished refused = run(argv);
    const std::string line = fmt::format("{}", fmt::join(argv, " "));
    EXPECT_EQ(refused.status, command.status) << line;
    EXPECT_THAT(refused.err, HasSubstr(command.says)) << line;
    EXPECT_EQ(refused.out, "") << line;
  }
}

TEST(BadCommandLines, AreExplainedByPlimsoll) {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  write(folder / "good", wire::encode(make_profile({.seed = 1})));
  ASSERT_EQ(run({"plimsoll", "import", "--data", data, folder / "good"}).status, 0);
  expect_refused(
      "plimsoll",
      {
          {{}, "missing command, such as demo, server, import, top or diff\n\"plimsoll help\" lists all"},
          {{"config"}, "plimsoll config: missing command: show, check"},
          {{"server", "--data"}, "--data requires a value: DIR"},
          {{"top", "--limit", "3", "--since"}, "--since requires a value"},
          {{"--data", data, "top"}, "flags follow the command: plimsoll top --data " + data},
          {{"flame", "--data", data, "--svg", "f", "g"}, "unexpected arguments: f g"},
          {{"calibrate", "--overhead", "3", "--", "true"}, "3 has no unit: write 3%"},
          {{"calibrate", "--overhead", "300%", "--", "true"}, "300% is not between 0.001% and 100%"},
          {{"top", "--data", data, "--since", "5"}, "a duration before now with its unit (30m, 2h"},
          {{"wsmeter", "pln"}, "no such command: pln; did you mean plan?"},
          {{"top", "--limt", "3"}, "plimsoll top: no such flag: --limt; did you mean --limit?"},
          {{"help", "fliters"}, "did you mean filters?"},
          {{"completion", "tcsh"}, "choose bash, zsh or fish"},
          {{"tpo"}, "no such command: tpo; did you mean top?"},
          {{"imprt", "file"}, "did you mean import?"},
          {{"--frobnicate"}, "--frobnicate"},
          {{"token", "--name", "ann"}, "--role is required"},
          {{"token", "--name", "ann", "--role", "king"}, "--role: king not in"},
          {{"calibrate"}, "plimsoll calibrate -- COMMAND"},
          {{"calibrate", "--rates", "0", "--", "true"}, "--rates"},
          {{"calibrate", "--rounds", "1", "--", "true"}, "--rounds"},
          {{"calibrate", "--overhead", "0", "--", "true"}, "--overhead"},
          {{"top"}, "--server ADDR or --data DIR"},
          {{"top", "--data", data, "--server", "127.0.0.1:1"}, "--server excludes --data"},
          {{"top", "--data", data, "--frobnicate"}, "--frobnicate"},
          {{"top", "--data", data, "--by"}, "--by"},
          {{"top", "--data", data, "--by", "fucntion"}, "did you mean function?"},
          {{"diff", "--data", data}, "the two sides of the comparison are the same"},
          {{"diff", "--data", data, "--new-where", "jib=a"}, "did you mean job?"},
          {{"callers", "--data", data}, "a function is required"},
          {{"top", "--data", data, "--by", "app,"}, "no such dimension: \"\""},
          {{"top", "--data", data, "--where", "app"}, "write dim=value"},
          {{"top", "--data", data, "--where", "ap=x"}, "did you mean app?"},
          {{"top", "--data", data, "--where", "function=~["}, "not a regular expression"},
          {{"top", "--data", data, "--since", "yesterday"}, "(field: since)"},
          {{"top", "--data", data, "--until", "25:00"}, "(field: until)"},
          {{"top", "--data", data, "--since", "1h", "--until", "2h"}, "the time range is empty"},
          {{"top", "--data", data, "--limit", "0"}, "(field: limit)"},
          {{"top", "--data", data, "--limit", "many"}, "(field: limit)"},
          {{"top", "--data", data, "--json", "--csv"}, "--json excludes --csv"},
          {{"top", "--data", data, "--json", "--watch"}, "--json excludes --watch"},
          {{"top", "--data", data, "--watch", "0"}, "0 is no number of seconds from 0.1 to 86400"},
          {{"top", "--data", data, "--watch", "--by", "fucntion"}, "did you mean function?"},
          {{"top", "--data", data, "--event", "cycels"}, "events with samples: cycles", 1},
          {{"top", "--data", folder / "none"}, folder / "none", 1},
          {{"top", "--server", "ftp://127.0.0.1:1"}, "http://"},
          {{"top", "--server", free_address()}, "check that the server runs", 1},
          {{"import", folder / "good"}, "--data is required"},
          {{"server"}, "(field: --data)"},
          {{"server", "--role", "symbolizer"}, "(field: symbolizer.server)"},
          {{"server", "--role", "ingest"}, "(field: ingest.server)"},
          {{"server", "--role", "query"}, "(field: --data)"},
          {{"server", "--role", "query", "--data", folder / "query"}, "(field: primary.server)"},
          {{"server", "--role", "captain"}, "captain"},
          {{"server", "--standby"}, "(field: --data)"},
          {{"server", "--standby", "--role", "symbolizer"}, "(field: --standby)"},
          {{"server", "--data", folder / "new", "--listen", "nonsense"}, "write HOST:PORT"},
          {{"store", "copy", "--data", data}, "--to is required"},
          {{"store", "copy", "--to", "directory"}, "--data is required"},
          {{"store", "copy", "--data", folder / "none", "--to", "directory"}, folder / "none", 1},
          {{"store", "copy", "--data", data, "--to", "nowhere"}, "the store's address nowhere"},
          {{"store", "copy", "--data", data, "--to", "clickhouse://u:p@127.0.0.1/d"}, "holds a password"},
          {{"store", "copy", "--data", data, "--to", "directory", "--password-file", "f"},
           "rows in the directory need no password"},
          {{"diagnose"}, "--traces is required"},
          {{"diagnose", "--traces", folder / "none"}, folder / "none", 1},
          {{"diagnose", "--data", folder / "none"}, folder / "none", 1},
          {{"diagnose", "--traces", folder / "good", "--data", data}, "are both given"},
          {{"diagnose", "--traces", folder / "good", "--server", free_address()}, "are both given"},
          {{"diagnose", "--server", free_address()}, "check that the server runs", 1},
          {{"trace", "show", "abc", "--server", free_address()}, "check that the server runs", 1},
          {{"trace", "show", "nonsense", "--data", data}, "no trace ID in hexadecimal"},
          {{"trace", "show", "abc", "--data", data, "--export", "svg"}, "must be chrome, jaeger, otlp"},
          {{"diagnose", "--traces", folder / "good", "--by", "guess"},
           "must be all, category, clouddiag, clouddiag-paper, pca, plimsoll, tree"},
          {{"experiment"}, "missing command: define, list, withdraw, plan"},
          {{"experiment", "define"}, "experiment is required"},
          {{"experiment", "list"}, "experiment list requires --server ADDR or --data DIR"},
          {{"experiment", "withdraw"}, "name is required"},
          {{"experiment", "plan", "pages"}, "experiment pages is a name, which a server keeps"},
          {{"experiment", "withdraw", "pages", "--data", data}, "requires its address"},
          {{"experiment", "report", "pages", "--data", data}, "no experiment is called \"pages\"", 1},
          {{"experiment", "define", "a.toml", "--server", "127.0.0.1:1", "--feature", "x", "--control",
            "job=a", "--test", "job=b"},
           "a.toml is a file"},
          {{"experiment", "define", "a.toml", "--data", data, "--feature", "x", "--control", "job=a",
            "--test", "job=b"},
           "a.toml is a file"},
          {{"experiment", "percentiles"}, "file is required"},
          {{"experiment", "percentiles", folder / "none"}, folder / "none", 1},
          {{"experiment", "percentiles", folder / "none", "--block", "5m"}, "at least 1h"},
          {{"pooling"}, "file is required"},
          {{"pooling", folder / "none"}, folder / "none", 1},
          {{"pooling", folder / "none", "--max-lag", "soon"}, "--max-lag must be a duration"},
          {{"regressions"}, "FILE is required, or --data or --server"},
          {{"regressions", folder / "good", "--data", data}, "are both given"},
          {{"regressions", "--data", folder / "none"}, folder / "none", 1},
          {{"regressions", "--server", free_address()}, "check that the server runs", 1},
          {{"regressions", folder / "none"}, folder / "none", 1},
          {{"regressions", folder / "good", "--since", "yesterday"}, "not a time"},
          {{"regressions", folder / "good",
            "--attribute", "a",
            "--attribute", "b",
            "--attribute", "c",
            "--attribute", "d",
            "--attribute", "e",
            "--attribute", "f",
            "--attribute", "g",
            "--attribute", "h",
            "--attribute", "i",
            "--attribute", "j",
            "--attribute", "k",
            "--attribute", "l",
            "--attribute", "m"},
           "over 12 attributes to search"},
          {{"store", "restore", "--from", "s3://profiles", "--data", folder / "restored-from-none"},
           "https://HOST:PORT"},
          {{"store", "restore", "--from", "file://" + (folder / "no-objects"), "--data",
            folder / "restored-from-none"},
           "there is no folder",
           1},
          {{"bursts"}, "missing command: plan, list, upload, show, requests, export, search, clocks"},
          {{"binaries"}, "missing command: list, missing, add, show, verify"},
          {{"binaries", "add"}, "files is required"},
          {{"binaries", "add", folder / "good"}, "binaries add requires --server ADDR or --data DIR"},
          {{"binaries", "add", "--data", folder / "binaries", folder / "good"},
           "neither an ELF file nor a Debian package",
           1},
          {{"binaries", "add", "--data", folder / "binaries", folder / "missing"}, "No such file", 1},
          {{"binaries", "add", "--data", folder / "binaries", "--sources", "src = nowhere",
            folder / "missing"},
           "sources are of one build",
           1},
          {{"binaries", "list"}, "binaries requires --server ADDR or --data DIR"},
          {{"binaries", "show", "--data", data}, "build_id is required"},
          {{"binaries", "show", "XYZ", "--data", data}, "hexadecimal digits in lower case"},
          {{"binaries", "show", "00112233", "--data", data}, "no binary whose build ID begins with", 1},
          {{"binaries", "verify"}, "--data is required"},
          {{"bursts", "plan"}, "--request-ms is required"},
          {{"bursts", "plan", "--request-ms", "0"}, "--request-ms"},
          {{"bursts", "plan", "--request-ms", "20", "--share", "3"}, "3 has no unit: write 3%"},
          {{"bursts", "plan", "--request-ms", "200000"}, "bursts last up to 1049 s"},
          {{"bursts", "show"}, "FILE is required, or --data or --server"},
          {{"bursts", "show", folder / "good", "--data", data}, "are both given"},
          {{"bursts", "show", folder / "good", "--machine", "m"}, "--machine selects recordings of"},
          {{"bursts", "list"}, "bursts list requires --server ADDR or --data DIR"},
          {{"bursts", "list", "--data", data, "--since", "yesterday"}, "yesterday"},
          {{"bursts", "upload"}, "files is required"},
          {{"bursts", "upload", folder / "good"}, "bursts upload requires --server ADDR or --data DIR"},
          {{"bursts", "upload", folder / "good", "--data", folder / "uploads"},
           "this is no recording of bursts",
           1},
          {{"bursts", "requests", folder / "good"}, "this is no recording of bursts", 1},
          {{"bursts", "requests", folder / "good", "--request", "seven"}, "no ID of a request"},
          {{"bursts", "requests", folder / "good", "--layers"}, "this is no recording of bursts", 1},
          {{"bursts", "requests", folder / "good", "--summary"}, "--summary requires --layers"},
          {{"bursts", "requests", folder / "good", "--layers", "--stacks"}, "--stacks excludes --layers"},
          {{"bursts", "export", folder / "good"}, "--chrome or --perfetto is required"},
          {{"bursts", "export", folder / "good", "--chrome", "a", "--perfetto", "b"}, "are both given"},
          {{"bursts", "export", folder / "good", folder / "good", "--chrome", "a"},
           "--chrome takes one recording"},
          {{"bursts", "export", folder / "good", "--perfetto", "a"}, "this is no recording of bursts", 1},
          {{"bursts", "search"}, "query is required"},
          {{"bursts", "search", "request"}, "FILE is required, or --data or --server"},
          {{"bursts", "search", "reqest", folder / "good"}, "did you mean request?"},
          {{"bursts", "search", "request{duration > 5}", folder / "good"},
           "column 20: expected a time with its unit"},
          {{"bursts", "search", "request", folder / "good"}, "this is no recording of bursts", 1},
          {{"bursts", "search", "request", folder / "none", "--limit", "0"}, "--limit"},
          {{"bursts", "clocks"}, "FILE is required, or --data or --server"},
          {{"bursts", "clocks", folder / "none"}, folder / "none", 1},
          {{"bursts", "show", folder / "none"}, folder / "none", 1},
          {{"bursts", "show", folder / "good"}, "this is no recording of bursts", 1},
          {{"trace"}, "missing command: show"},
          {{"trace", "show", "--traces", folder / "good"}, "id is required"},
          {{"annotate"}, "function is required"},
          {{"annotate", "main"}, "--server ADDR or --data DIR"},
          {{"annotate", "main", "--data", data, "--order", "size"}, "must be address, source, not \"size\""},
          {{"annotate", "no_such_function", "--data", data}, "in a function called no_such_function", 1},
          {{"annotate", "main", "--data", data, "--event", "branch-records"}, "(field: event)"},
          {{"annotate", "main", "--data", data, "--event", "cycles,cycles"}, "event cycles is listed twice"},
          {{"annotate", "main", "--data", data, "--source-root", "a = b"}, "is not a source root"},
          {{"annotate", "main", "--data", data, "--debug", folder / "good"}, "--debug requires a binary"},
          {{"annotate", "main", "--data", data, "--binary", folder / "good"}, "good", 1},
          {{"demo", "--seconds", "1"}, "not in range"},
      });
}

Finished run_with(const std::string& variable, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/usr/bin/env", variable});
  arguments[2] = program(arguments[2]);
  return run(arguments);
}

TEST(Variables, ThatAreUnknownAreRefused) {
  for (const char* name : {"plimsoll", "plimsolld"}) {
    const Finished refused =
        run_with("PLIMSOLL_SERVER_DTA=/srv", {name, name == std::string("plimsoll") ? "demo" : "probe"});
    EXPECT_EQ(refused.status, 2) << name;
    EXPECT_EQ(refused.out, "") << name;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("unknown environment variable PLIMSOLL_SERVER_DTA"),
                                   HasSubstr("did you mean PLIMSOLL_SERVER_DATA?")));
  }
}

TEST(Variables, NameTheServerThatIsAskedWhereNoneIsGiven) {
  const TemporaryFolder folder;
  write(folder / "good", wire::encode(make_profile({.seed = 1, .stacks = "of_server 3\n"})));
  write(folder / "other", wire::encode(make_profile({.seed = 2, .stacks = "of_folder 3\n"})));
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "data", folder / "good"}).status, 0);
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "other-data", folder / "other"}).status, 0);
  TestServer server(folder / "data");
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  const std::string usual = "PLIMSOLL_SERVER=" + server.address();
  EXPECT_THAT(run_with(usual, {"plimsoll", "top", "--csv"}).out, HasSubstr("of_server"));
  EXPECT_THAT(run_with(usual, {"plimsoll", "top", "--csv", "--data", folder / "other-data"}).out,
              HasSubstr("of_folder"));
  EXPECT_THAT(run_with("PLIMSOLL_SERVER=" + free_address(),
                       {"plimsoll", "top", "--server", server.address(), "--csv"})
                  .out,
              HasSubstr("of_server"));
}

// Questions by HTTP are refused as those on the command line are.
TEST(BadCommandLines, AreExplainedByTheServer) {
  const TemporaryFolder folder;
  TestServer server(folder / "data");
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  expect_refused(
      "plimsoll",
      {
          {{"top", "--server", server.address(), "--by", "fucntion"}, "did you mean function?"},
          {{"top", "--server", server.address(), "--where", "function=~["}, "(field: where)"},
          {{"top", "--server", server.address(), "--limit", "0"}, "(field: limit)"},
          {{"annotate", "f", "--server", server.address(), "--event", ","}, "(field: event)"},
          {{"annotate", "f", "--server", server.address(), "--source-root", "/srv"}, "its own sources.roots"},
      });
}

TEST(BadCommandLines, AreExplainedByPlimsolld) {
  const TemporaryFolder folder;
  const std::string output = folder / "profile";
  expect_refused(
      "plimsolld",
      {
          {{}, "or probe is required"},
          {{"prob"}, "no such command: prob; did you mean probe?"},
          {{"bursts"}, "missing command: record"},
          {{"bursts", "record", "--config", "7,8"}, "--output is required"},
          {{"bursts", "record", "--config", "7,8", "--output", "f", "--bursts", "0"}, "--bursts"},
          {{"bursts", "record", "--config", "7,8", "--output", "f", "--samples", "10001"}, "--samples"},
          {{"--onc", "1"}, "plimsolld: no such flag: --onc; did you mean --once?"},
          {{"--frobnicate"}, "--frobnicate"},
          {{"--once"}, "--once"},
          {{"--once", "1"}, "--once requires --output FILE"},
          {{"--output", output}, "one of --server ADDR, --once SECONDS --output FILE"},
          {{"--once", "0", "--output", output}, "(field: --once)"},
          {{"--once", "-1", "--output", output}, "(field: --once)"},
          {{"--once", "nan", "--output", output}, "(field: --once)"},
          {{"--once", "soon", "--output", output}, "soon"},
          {{"--once", "1", "--server", "127.0.0.1:1"}, "--server"},
          {{"--once", "1", "--output", output, "--rate", "0"}, "--rate"},
          {{"--once", "1", "--output", output, "--event", "page-fault"}, "did you mean page-faults?"},
          {{"--once", "1", "--output", output, "--event", "page-faults:0"}, "(field: --event)"},
          {{"--once", "1", "--output", output, "--event", "page-faults:often"}, "(field: --event)"},
      });
  EXPECT_FALSE(std::filesystem::exists(output));
}

// Hours of samples would be lost if these were found wrong at the end, and a ring buffer of three pages cannot be.
TEST(BadCommandLines, AreRefusedBeforeSampling) {
  const TemporaryFolder folder;
  expect_refused(
      "plimsolld",
      {
          {{"--once", "3600", "--output", folder / "none/profile"}, folder / "none", 1},
          {{"--once", "3600", "--output", folder / "none/profile"}, "(field: --output)", 1},
          {{"--once", "3600", "--output", folder.path()}, folder.path(), 1},
          {{"--once", "3600", "--output", folder / "profile", "--ring-pages", "3"},
           "(field: --ring-pages); try 4"},
          {{"--once", "3600", "--output", folder / "profile", "--ring-pages", "0"}, "--ring-pages"},
      });
}

TEST(BadConfigurations, AreExplained) {
  const TemporaryFolder folder;
  struct BadFile {
    std::string program;
    std::string content;
    std::string says;
  };
  const std::string path = folder / "plimsoll.toml";
  for (const BadFile& bad : {
           BadFile{"plimsoll", "[collect]\nrate_zh = 99\n", ":2: unknown key collect.rate_zh"},
           BadFile{"plimsoll", "[collect]\nrate_zh = 99\n", "did you mean collect.rate_hz?"},
           BadFile{"plimsoll", "[collect]\nrate_hz = \"fast\"\n", "collect.rate_hz must be an integer"},
           BadFile{"plimsoll", "\n\n[collect]\nrate_hz = 0\n", ":4: collect.rate_hz is 0"},
           BadFile{"plimsoll", "[collect]\nrate_hz = 0\n", "between 1 and 10000"},
           BadFile{"plimsoll", "[fleet]\nheartbeat = \"1ms\"\n", "between 100ms and 10min"},
           BadFile{"plimsoll", "[bursts]\nduration = \"7h\"\n", "between 100ms and 6h"},
           BadFile{"plimsoll", "collect = 7\n", "collect must be a table"},
           BadFile{"plimsoll", "this is not TOML\n", ":1: "},
           BadFile{"plimsolld", "[daemon]\nsever = \"127.0.0.1:1\"\n", "did you mean daemon.server?"},
           BadFile{"plimsolld", "[limits]\nevents = \"cycles\"\n", "limits.events must be a list of strings"},
           BadFile{"plimsolld", "[limits]\nmax_window = \"25h\"\n", "between 1s and 24h"},
           BadFile{"plimsolld", "[bursts]\npermit = \"yes\"\n", "bursts.permit must be true or false"},
           BadFile{"plimsolld", "[limits\n", ":1: "},
       }) {
    write(path, bad.content);
    std::vector<std::string> argv{bad.program};
    if (bad.program == "plimsoll") {
      argv.insert(argv.end(), {"server", "--data", folder / "data"});
    }
    argv.insert(argv.end(), {"--config", path});
    const Finished refused = run(argv);
    EXPECT_EQ(refused.status, 2) << bad.content;
    EXPECT_THAT(refused.err, AllOf(HasSubstr(path), HasSubstr(bad.says))) << bad.content;
  }
  expect_refused("plimsoll",
                 {{{"server", "--data", folder / "data", "--config", folder / "none"}, folder / "none", 1}});
  expect_refused("plimsolld", {{{"--config", folder / "none"}, folder / "none", 1}});
  EXPECT_FALSE(std::filesystem::exists(folder / "data"));
}

// As a user without any privilege but those named ("+perfmon").
Finished run_unprivileged(const std::vector<std::string>& arguments, const std::string& privileges = "") {
  const std::string capabilities = privileges.empty() ? "-all" : "-all," + privileges;
  std::vector<std::string> argv{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  for (const char* set : {"--inh-caps=", "--ambient-caps=", "--bounding-set="}) {
    argv.push_back(set + capabilities);
  }
  argv.push_back(program("plimsolld"));
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run(argv);
}

class MissingPrivileges : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user has no privileges to give away";
    }
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  }

  TemporaryFolder folder_;
};

TEST_F(MissingPrivileges, AreNamedWhereNothingCanBeSampled) {
  const Finished once = run_unprivileged({"--once", "1", "--output", folder_ / "profile"});
  EXPECT_EQ(once.status, 1);
  EXPECT_THAT(once.err, HasSubstr("CAP_PERFMON"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "profile"));
}

TEST_F(MissingPrivileges, AreNotedWhereSamplesLackNames) {
  const Finished once = run_unprivileged({"--once", "1", "--output", folder_ / "profile"}, "+perfmon");
  EXPECT_EQ(once.status, 0) << once.err;
  // Where the kernel hides its addresses from this user.
  const std::string kernel_note = "kernel code is unresolved";
  const std::string hidden = run_unprivileged({"probe"}, "+perfmon").out;
  EXPECT_EQ(once.out.find(kernel_note) != std::string::npos,
            hidden.find("/proc/kallsyms are hidden") != std::string::npos)
      << once.out;
  // Our own process is another user's.
  EXPECT_THAT(once.out, AllOf(HasSubstr("may not read the mappings"), HasSubstr("CAP_SYS_PTRACE")));
  const Finished imported = run({"plimsoll", "import", "--data", folder_ / "data", folder_ / "profile"});
  EXPECT_EQ(imported.status, 0) << imported.err;
}

TEST_F(MissingPrivileges, AreNotNotedWhereNoneIsMissing) {
  const Finished once = run({"plimsolld", "--once", "0.2", "--output", folder_ / "profile"});
  EXPECT_EQ(once.status, 0) << once.err;
  // In a sandbox there can be a process that is closed even to root.
  const bool some_closed =
      run({"plimsolld", "probe"}).out.find("protected by more than") != std::string::npos;
  EXPECT_EQ(once.out.find("CAP_SYS_PTRACE") != std::string::npos, some_closed) << once.out;
}

}  // namespace
}  // namespace plimsoll::testing
