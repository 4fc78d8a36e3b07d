// Traces among imported files, where the store cannot take them.
#include "cli/trace_import.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "formats/unpack.h"
#include "store/directory/data_directory.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::cli::trace_import_test {
namespace {

class TraceImportTest : public ::testing::Test {
 protected:
  // A file with a request of one span.
  void read(TraceImport& traces, const std::string& trace) const {
    const std::string path = folder_ / (trace + ".csv");
    std::ofstream(path) << "trace_id,span_id,service,operation,start_ns,end_ns\n"
                        << trace << ",1,cart,get,1700000000000000000,1700000000000001000\n";
    formats::unpack(path, {}, [&](const std::string& name, const Result<formats::InputFile>& input) {
      ASSERT_TRUE(input) << input.error().text();
      const auto taken = traces.read(*input);
      ASSERT_TRUE(taken) << taken.error().text();
      EXPECT_EQ(taken->read.taken, 1) << name;
    });
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(TraceImportTest, FilesThatCouldNotBeStoredAreGone) {
  const std::string data_dir = folder_ / "data";
  const auto directory = store::DataDirectory::open_for_writing(data_dir);
  ASSERT_TRUE(directory) << directory.error().text();
  // Spans cannot be opened without it.
  const std::string identity = data_dir + "/identity";
  std::filesystem::rename(identity, folder_ / "identity");
  std::ofstream(identity) << "damaged";
  TraceImport traces(*directory);
  ASSERT_NO_FATAL_FAILURE(read(traces, "1"));
  EXPECT_FALSE(traces.store());
  EXPECT_TRUE(traces.store()) << "nothing is left that could fail again, under the name of another file";

  std::filesystem::rename(folder_ / "identity", identity);
  ASSERT_NO_FATAL_FAILURE(read(traces, "2"));
  const Status stored = traces.store();
  ASSERT_TRUE(stored) << stored.error().text();
  const auto source = store::open_span_source(data_dir);
  const std::vector<plimsoll::testing::PlainSpan> kept = plimsoll::testing::answer_of(*source);
  ASSERT_EQ(kept.size(), 1) << "the first was reported as failed";
  EXPECT_EQ(kept.front().trace.low, 2);
}

}  // namespace
}  // namespace plimsoll::cli::trace_import_test
