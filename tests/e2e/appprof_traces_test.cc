// The example of docs/appprof.md: a program that serves profiles of itself and writes spans, which have its requests' trace IDs in common.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "http/client.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/eventually.h"
#include "tests/places.h"

namespace plimsoll::testing::appprof_traces_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kFirst = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kSecond = "0af7651916cd43dd8448eb211c80319c";
constexpr const char* kUnsampled = "11111111111111111111111111111111";

// On standard error: the word after another one; empty until it is whole.
std::string word_after(const Background& process, const std::string& name) {
  std::istringstream text(process.err());
  for (std::string word; text >> word;) {
    if (word == name && text >> word && text.peek() == '\n') {
      return word;
    }
  }
  return {};
}

// As the caller's service would send it.
void request(const std::string& address, const std::string& trace, const std::string& flags) {
  http::Client client({.base_url = address});
  const auto answer =
      client.send("GET", "/monthly", {}, {}, {{"traceparent", "00-" + trace + "-00f067aa0ba902b7-" + flags}});
  ASSERT_TRUE(answer) << answer.error().text();
  ASSERT_EQ(answer->status, 200) << answer->body;
}

class AppprofTraces : public ::testing::Test {
 protected:
  void import(const std::string& file) const {
    const Finished imported =
        run({"plimsoll", "import", "--data", data(), "--symbol-root", built_file(), file});
    ASSERT_EQ(imported.status, 0) << imported.err;
  }
  double heap_bytes_of(const std::string& trace) const {
    double sum = 0;
    for (const auto& [app, bytes] : self_of(top({"--data", data(), "--event", "heap-inuse-bytes", "--where",
                                                 "label:trace_id=" + trace, "--by", "app"}))) {
      sum += bytes;
    }
    return sum;
  }
  std::string data() const { return folder_ / "data"; }

  TemporaryFolder folder_;
};

TEST_F(AppprofTraces, SamplesAndSpansOfARequestHaveItsTraceId) {
  const std::string spans = folder_ / "spans.json";
  const Background server({"appprof_traced_server", "127.0.0.1:0", "127.0.0.1:0", spans});
  ASSERT_TRUE(eventually([&] { return !word_after(server, "serving").empty(); })) << server.err();
  const std::string address = "127.0.0.1:" + word_after(server, "serving");
  ASSERT_NO_FATAL_FAILURE(request(address, kFirst, "01"));
  ASSERT_NO_FATAL_FAILURE(request(address, kSecond, "01"));
  ASSERT_NO_FATAL_FAILURE(request(address, kUnsampled, "00"));
  const auto heap =
      http::Client({.base_url = word_after(server, "profiles")}).send("GET", "/debug/pprof/heap");
  ASSERT_TRUE(heap && heap->ok());
  const std::string profile = folder_ / "heap.pb.gz";
  std::ofstream(profile, std::ios::binary) << heap->body;
  ASSERT_NO_FATAL_FAILURE(import(profile));
  ASSERT_NO_FATAL_FAILURE(import(spans));
  const Finished shown = run({"plimsoll", "trace", "show", kFirst, "--data", data()});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("reports GET /monthly on reports-"), HasSubstr("  reports make report on"),
                    HasSubstr(std::string("--where label:trace_id=") + kFirst)));
  // Each keeps 16 MiB, of which a sample is taken every 512 KiB.
  EXPECT_GT(heap_bytes_of(kFirst), 0);
  EXPECT_GT(heap_bytes_of(kSecond), 0);
  EXPECT_EQ(heap_bytes_of(kUnsampled), 0);
  EXPECT_EQ(run({"plimsoll", "trace", "show", kUnsampled, "--data", data()}).status, 1);
}

}  // namespace
}  // namespace plimsoll::testing::appprof_traces_test
