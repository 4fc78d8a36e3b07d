// Questions in SQL to a data directory and to its server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SqlOverProfiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const wire::RawProfile profile = make_profile({.events = {{.name = "cycles", .scale = 1000}},
                                                   .job = "db",
                                                   .stacks = "main;parse 30\nmain;read 12\n"});
    const std::string path = folder_ / "1.profile";
    ASSERT_TRUE(write_file_durably(path, as_bytes(wire::encode(profile))));
    const Finished imported = run({"plimsoll", "import", "--data", data_, path});
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  const std::string statement_ =
      "SELECT function, sum(value) AS self FROM samples WHERE job = 'db' GROUP BY function ORDER BY self "
      "DESC";
  TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
};

TEST_F(SqlOverProfiles, AnswersTheSameFromADirectoryAndItsServer) {
  const Finished text = run({"plimsoll", "sql", "--data", data_, statement_});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(text.out, "function   self\nparse     30000\nread      12000\n");
  EXPECT_THAT(text.err, HasSubstr("note: profiles of 1 of 1 machine"));
  TestServer server(data_);
  ASSERT_TRUE(server.becomes_ready());
  for (const std::string form : {"--csv", "--json"}) {
    const Finished of_directory = run({"plimsoll", "sql", "--data", data_, form, statement_});
    const Finished of_server = run({"plimsoll", "sql", "--server", server.address(), form, statement_});
    EXPECT_THAT(of_directory.out, AllOf(HasSubstr("parse"), HasSubstr("30000")));
    EXPECT_EQ(of_server.out, of_directory.out) << of_server.err;
    EXPECT_EQ(of_server.err, of_directory.err);
  }
}

TEST_F(SqlOverProfiles, AnswersOfEveryTable) {
  TestServer server(data_);
  ASSERT_TRUE(server.becomes_ready());
  const std::string statement =
      "SELECT e.event, e.hits, t.lost, m.state, count(*) FROM events e JOIN totals t USING (event) JOIN "
      "machines m "
      "USING (machine) JOIN samples s ON s.machine = m.machine, columns WHERE column_name = 'lost' AND "
      "table_name = "
      "'totals' GROUP BY 1";
  const Finished of_server = run({"plimsoll", "sql", "--server", server.address(), "--csv", statement});
  EXPECT_EQ(of_server.out, "event,hits,lost,state,count(*)\r\ncycles,42,0,profiles,2\r\n") << of_server.err;
  const Finished help = run({"plimsoll", "sql", "--help"});
  for (const std::string table : {"samples", "totals", "events", "machines", "columns"}) {
    EXPECT_THAT(help.out, HasSubstr("  " + table + ": a"));
  }
}

TEST_F(SqlOverProfiles, SaysWhatIsWrongAndWhere) {
  const Finished refused = run({"plimsoll", "sql", "--data", data_, "SELECT functon FROM samples"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("character 8"), HasSubstr("did you mean function?")));
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(run({"plimsoll", "sql", "--data", data_, "DELETE FROM samples"}).status, 2);
  EXPECT_EQ(run({"plimsoll", "sql", statement_}).status, 2) << "nobody to ask";
}

TEST_F(SqlOverProfiles, ReadsTheStatementFromStandardInput) {
  const std::string path = folder_ / "statement.sql";
  ASSERT_TRUE(write_file_durably(path, as_bytes(statement_ + ";\n")));
  const Finished piped =
      run({"/bin/sh", "-c", fmt::format("{}/plimsoll sql --csv --data {} < {}", built_file(), data_, path)});
  EXPECT_EQ(piped.out, "function,self\r\nparse,30000\r\nread,12000\r\n") << piped.err;
}

}  // namespace
}  // namespace plimsoll::testing
