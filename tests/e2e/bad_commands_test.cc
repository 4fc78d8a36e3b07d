// Command lines that are wrong are refused with a message that says what is wrong. A table for each family of commands.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "proto/profile_codec.h"
#include "tests/e2e/bad_input.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

// A data directory with one profile, whose file is "good" in the folder.
class PlimsollExplains : public ::testing::Test {
 protected:
  void SetUp() override {
    write(folder_ / "good", wire::encode(make_profile({.seed = 1})));
    ASSERT_EQ(run({"plimsoll", "import", "--data", data_, folder_ / "good"}).status, 0);
  }

  const TemporaryFolder folder_;
  const std::string data_ = folder_ / "data";
};

std::vector<BadCommand> wrong_words_and_flags(const std::string& data) {
  return {
      {{}, "missing command, such as demo, server, import, top or diff\n\"plimsoll help\" lists all"},
      {{"config"}, "plimsoll config: missing command: show, check"},
      {{"--data", data, "top"}, "flags follow the command: plimsoll top --data " + data},
      {{"calibrate", "--overhead", "3", "--", "true"}, "3 has no unit: write 3%"},
      {{"calibrate", "--overhead", "300%", "--", "true"}, "300% is not between 0.001% and 100%"},
      {{"wsmeter", "pln"}, "no such command: pln; did you mean plan?"},
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
      {{"demo", "--seconds", "1"}, "not in range"},
  };
}

TEST_F(PlimsollExplains, WrongWordsAndFlags) {
  expect_refused("plimsoll", wrong_words_and_flags(data_));
}

std::vector<BadCommand> wrong_questions(const TemporaryFolder& folder, const std::string& data) {
  return {
      {{"top", "--limit", "3", "--since"}, "--since requires a value"},
      {{"flame", "--data", data, "--svg", "f", "g"}, "unexpected arguments: f g"},
      {{"top", "--data", data, "--since", "5"}, "a duration before now with its unit (30m, 2h"},
      {{"top", "--limt", "3"}, "plimsoll top: no such flag: --limt; did you mean --limit?"},
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
      {{"annotate"}, "function is required"},
      {{"annotate", "main"}, "--server ADDR or --data DIR"},
      {{"annotate", "main", "--data", data, "--order", "size"}, "must be address, source, not \"size\""},
      {{"annotate", "no_such_function", "--data", data}, "in a function called no_such_function", 1},
      {{"annotate", "main", "--data", data, "--event", "branch-records"}, "(field: event)"},
      {{"annotate", "main", "--data", data, "--event", "cycles,cycles"}, "event cycles is listed twice"},
      {{"annotate", "main", "--data", data, "--source-root", "a = b"}, "is not a source root"},
      {{"annotate", "main", "--data", data, "--debug", folder / "good"}, "--debug requires a binary"},
      {{"annotate", "main", "--data", data, "--binary", folder / "good"}, "good", 1},
  };
}

TEST_F(PlimsollExplains, WrongQuestions) {
  expect_refused("plimsoll", wrong_questions(folder_, data_));
}

std::vector<BadCommand> wrong_servers(const TemporaryFolder& folder, const std::string& data) {
  return {
      {{"server", "--data"}, "--data requires a value: DIR"},
      {{"import", folder / "good"}, "--data is required"},
      {{"server"}, "(field: --data)"},
      {{"server", "--role", "symbolizer"}, "(field: symbolizer.server)"},
      {{"server", "--role", "ingest"}, "(field: ingest.server)"},
      {{"server", "--role", "query"}, "(field: --data)"},
      {{"server", "--role", "query", "--data", folder / "query"}, "(field: primary.server)"},
      {{"server", "--role", "captain"}, "captain"},
      {{"config", "check", "--role", "captain"}, "--role: captain not in"},
      {{"config", "check", "--daemon", "--role", "ingest"}, "(field: --role)"},
      {{"server", "--standby"}, "(field: --data)"},
      {{"server", "--standby", "--role", "symbolizer"}, "(field: --standby)"},
      {{"server", "--data", folder / "new", "--listen", "nonsense"}, "write HOST:PORT"},
      {{"store", "copy", "--data", data}, "--to is required"},
      {{"store", "copy", "--to", "directory"}, "--data is required"},
      {{"store", "copy", "--data", folder / "none", "--to", "directory"}, folder / "none", 1},
      {{"store", "copy", "--data", data, "--to", "nowhere"}, "the store's address nowhere"},
      {{"store", "copy", "--data", data, "--to", "clickhouse://u:p@127.0.0.1/d"}, "holds a password"},
      {{"store", "copy", "--data", data, "--to", "directory", "--replicated"},
       "rows in the directory are not replicated"},
      {{"store", "copy", "--data", data, "--to", "directory", "--shard", "clickhouse://127.0.0.1/d"},
       "rows in the directory have no shards"},
      {{"store", "copy", "--data", data, "--to", "clickhouse://127.0.0.1:1/d", "--shard",
        "clickhouse://127.0.0.1:1/d"},
       "is listed twice",
       1},
      {{"store", "copy", "--data", data, "--to", "clickhouse://127.0.0.1:1,127.0.0.1:2/d"},
       "names several hosts"},
      {{"store", "copy", "--data", data, "--to", "directory", "--password-file", "f"},
       "rows in the directory need no password"},
      {{"store", "restore", "--from", "s3://profiles", "--data", folder / "restored-from-none"},
       "https://HOST:PORT"},
      {{"store", "restore", "--from", "file://" + (folder / "no-objects"), "--data",
        folder / "restored-from-none"},
       "there is no folder",
       1},
  };
}

TEST_F(PlimsollExplains, WrongServersAndStores) {
  expect_refused("plimsoll", wrong_servers(folder_, data_));
}

std::vector<BadCommand> wrong_traces(const TemporaryFolder& folder, const std::string& data) {
  return {
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
      {{"trace"}, "missing command: show"},
      {{"trace", "show", "--traces", folder / "good"}, "id is required"},
  };
}

TEST_F(PlimsollExplains, WrongTraces) {
  expect_refused("plimsoll", wrong_traces(folder_, data_));
}

std::vector<BadCommand> wrong_experiments(const TemporaryFolder& folder, const std::string& data) {
  return {
      {{"experiment"}, "missing command: define, list, withdraw, plan"},
      {{"experiment", "define"}, "experiment is required"},
      {{"experiment", "list"}, "experiment list requires --server ADDR or --data DIR"},
      {{"experiment", "withdraw"}, "name is required"},
      {{"experiment", "plan", "pages"}, "experiment pages is a name, which a server keeps"},
      {{"experiment", "withdraw", "pages", "--data", data}, "requires its address"},
      {{"experiment", "report", "pages", "--data", data}, "no experiment is called \"pages\"", 1},
      {{"experiment", "define", "a.toml", "--server", "127.0.0.1:1", "--feature", "x", "--control", "job=a",
        "--test", "job=b"},
       "a.toml is a file"},
      {{"experiment", "define", "a.toml", "--data", data, "--feature", "x", "--control", "job=a", "--test",
        "job=b"},
       "a.toml is a file"},
      {{"experiment", "percentiles"}, "file is required"},
      {{"experiment", "percentiles", folder / "none"}, folder / "none", 1},
      {{"experiment", "percentiles", folder / "none", "--block", "5m"}, "at least 1h"},
      {{"pooling"}, "file is required"},
      {{"pooling", folder / "none"}, folder / "none", 1},
      {{"pooling", folder / "none", "--max-lag", "soon"}, "--max-lag must be a duration"},
  };
}

TEST_F(PlimsollExplains, WrongExperiments) {
  expect_refused("plimsoll", wrong_experiments(folder_, data_));
}

std::vector<BadCommand> wrong_binaries(const TemporaryFolder& folder, const std::string& data) {
  return {
      {{"binaries"}, "missing command: list, missing, add, show, verify"},
      {{"binaries", "add"}, "files is required"},
      {{"binaries", "add", folder / "good"}, "binaries add requires --server ADDR or --data DIR"},
      {{"binaries", "add", "--data", folder / "binaries", folder / "good"},
       "neither an ELF file nor a Debian package",
       1},
      {{"binaries", "add", "--data", folder / "binaries", folder / "missing"}, "No such file", 1},
      {{"binaries", "add", "--data", folder / "binaries", "--sources", "src = nowhere", folder / "missing"},
       "sources are of one build",
       1},
      {{"binaries", "list"}, "binaries requires --server ADDR or --data DIR"},
      {{"binaries", "show", "--data", data}, "build_id is required"},
      {{"binaries", "show", "XYZ", "--data", data}, "hexadecimal digits in lower case"},
      {{"binaries", "show", "00112233", "--data", data}, "no binary whose build ID begins with", 1},
      {{"binaries", "verify"}, "--data is required"},
  };
}

TEST_F(PlimsollExplains, WrongBinaries) {
  expect_refused("plimsoll", wrong_binaries(folder_, data_));
}

std::vector<BadCommand> wrong_bursts(const TemporaryFolder& folder, const std::string& data) {
  return {
      {{"bursts"}, "missing command: plan, list, upload, show, requests, export, search, clocks"},
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
  };
}

TEST_F(PlimsollExplains, WrongBursts) {
  expect_refused("plimsoll", wrong_bursts(folder_, data_));
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

}  // namespace
}  // namespace plimsoll::testing
