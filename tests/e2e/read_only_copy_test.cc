// A data directory that nothing can be written to: a backup, a snapshot that is mounted read-only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

// Shows what a shell script, "$@", finds in a view of the file system where the folder $0 is mounted read-only. A user who is not root
// has its modes changed instead.
Finished run_read_only(const std::string& folder, std::vector<std::string> argv) {
  const std::string script = ::geteuid() == 0
                                 ? R"(mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@")"
                                 : R"(chmod -R a-w "$0"; "$@"; status=$?; chmod -R u+w "$0"; exit $status)";
  std::vector<std::string> command = {"/bin/sh", "-c", script, folder};
  if (::geteuid() == 0) {
    command.insert(command.begin(), {"/usr/bin/unshare", "--mount"});
  }
  argv[0] = program(argv[0]);
  command.insert(command.end(), argv.begin(), argv.end());
  return run(command);
}

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    files.insert(file.path().lexically_relative(folder));
  }
  return files;
}

TEST(ReadOnlyData, AnswersEveryQuestionAsItDidBefore) {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  {
    TestServer server(data);
    ASSERT_TRUE(server.becomes_ready());
    const wire::RawProfile profile = make_profile({.events = {{.name = "cycles", .scale = 1000}},
                                                   .job = "db",
                                                   .stacks = "main;parse 30\nmain;read 12\n"});
    const std::string path = folder / "1.profile";
    ASSERT_TRUE(write_file_durably(path, as_bytes(wire::encode(profile))));
    const Finished stopped = server.stop();
    ASSERT_EQ(stopped.status, 0) << stopped.err;
    ASSERT_EQ(run({"plimsoll", "import", "--data", data, path}).status, 0);
  }
  const std::vector<std::vector<std::string>> questions = {
      {"plimsoll", "top", "--data", data},
      {"plimsoll", "callers", "--data", data, "parse"},
      {"plimsoll", "series", "--data", data},
      {"plimsoll", "coverage", "--data", data},
      {"plimsoll", "machines", "--data", data},
      {"plimsoll", "jobs", "--data", data},
      {"plimsoll", "draws", "--data", data},
      {"plimsoll", "collection", "--data", data},
      {"plimsoll", "audit", "--data", data},
      {"plimsoll", "export", "--data", data, "--pprof", "-"},
      {"plimsoll", "flame", "--data", data, "--folded"},
      {"plimsoll", "sql", "--data", data, "SELECT function, value FROM samples ORDER BY value"},
  };
  std::vector<Finished> before;
  for (const auto& question : questions) {
    before.push_back(run(question));
  }
  const auto files = files_in(data);
  for (size_t i = 0; i < questions.size(); ++i) {
    SCOPED_TRACE(questions[i][1]);
    const Finished finished = run_read_only(data, questions[i]);
    if (finished.err.starts_with("unshare:") || finished.err.starts_with("mount:")) {
      GTEST_SKIP() << "mounting takes privileges that are missing: " << finished.err;
    }
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, before[i].out);
    EXPECT_EQ(finished.err, before[i].err);
  }
  EXPECT_EQ(files_in(data), files);
}

TEST(ReadOnlyData, IsNotTakenForWriting) {
  const TemporaryFolder folder;
  const std::string data = folder / "data";
  ASSERT_EQ(run({"plimsoll", "import", "--data", data}).status, 0);
  const Finished finished = run_read_only(data, {"plimsoll", "import", "--data", data});
  if (finished.err.starts_with("unshare:") || finished.err.starts_with("mount:")) {
    GTEST_SKIP() << "mounting takes privileges that are missing: " << finished.err;
  }
  EXPECT_NE(finished.status, 0);
  EXPECT_THAT(finished.err, HasSubstr(data));
}

}  // namespace
}  // namespace plimsoll::testing
