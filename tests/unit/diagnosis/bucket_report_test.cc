// From spans to a report: the case of SDiag's paper, critical paths, and which versions are compared.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/byte_reader.h"
#include "diagnosis/buckets/regressions.h"
#include "formats/traces/read_spans.h"
#include "tests/traces/span_text.h"
#include "tests/traces/versioned_disks.h"

namespace plimsoll::diagnosis {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

traces::SpanSet spans_in(const std::string& table) {
  traces::SpanSet spans({.keeps_attributes = true});
  const auto read = formats::read_spans(as_bytes(table), spans);
  EXPECT_TRUE(read) << read.error().text();
  return spans;
}

// "BUCKET: PATH: KIND" a regression.
std::string regressions_in(const VersionedDisksOptions& disks, const RequestTableOptions& options = {}) {
  const traces::SpanSet spans = spans_in(versioned_disks_table(disks));
  const traces::Assembly assembly = traces::assemble(spans);
  const auto report = find_regressions(spans, assembly, options);
  if (!report) {
    return report.error().text();
  }
  std::string text;
  for (const Regression& regression : report->regressions) {
    const Bottleneck& bottleneck = regression.comparison.bottleneck;
    text += (text.empty() ? "" : "; ") + describe(regression.bucket.terms, report->table.requests) + ": " +
            (bottleneck.kind == Bottleneck::Kind::kNone
                 ? ""
                 : path_text(report->forest, bottleneck.method.path, spans.names()) + ": ") +
            name_of(bottleneck.kind);
  }
  return text;
}

TEST(BucketReport, FindsDisksThatAreCreatedOneAfterAnother) {
  constexpr int kTrials = 20;
  int exact = 0;
  std::string others;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    const std::string found = regressions_in({.seed = 300 + seed});
    const bool is_exact =
        found == "hw=c7: api create_vm > disk create_all > disk create: sequential where it was parallel";
    exact += is_exact ? 1 : 0;
    others += is_exact ? "" : "\n  " + found;
  }
  std::cout << exact << " of " << kTrials << " with bucket, path and kind" << others << "\n";
  EXPECT_GE(exact, 19) << others;
}

TEST(BucketReport, FindsNothingWhereVersionsAreAlike) {
  constexpr int kTrials = 40;
  int accused = 0;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    accused += regressions_in({.seed = 400 + seed, .is_sequential = false}).empty() ? 0 : 1;
  }
  std::cout << accused << " of " << kTrials << " accused\n";
  EXPECT_LE(accused, 2);
}

TEST(BucketReport, TellsWhatEachCallAdds) {
  const traces::SpanSet spans = spans_in(versioned_disks_table({}));
  const traces::Assembly assembly = traces::assemble(spans);
  const auto report = find_regressions(spans, assembly);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_EQ(report->regressions.size(), 1);
  const Regression& regression = report->regressions.front();
  const Bottleneck& bottleneck = regression.comparison.bottleneck;
  EXPECT_NEAR(bottleneck.at_once.base, 2.6, 0.3);
  EXPECT_NEAR(bottleneck.at_once.current, 1, 0.01);
  EXPECT_LT(bottleneck.at_once.high, 0);
  // Calls take as long as before.
  EXPECT_NEAR(bottleneck.method.current_self_ms, bottleneck.method.base_self_ms, 2);
  const ValueChange& median = regression.comparison.percentiles_ms[0];
  EXPECT_GT(median.low, 20);
  EXPECT_LE(median.low, median.difference());
  EXPECT_GE(median.high, median.difference());
  // Parts of the critical path add up to the requests; self times do where nothing runs at once.
  for (const BucketForest* forest : {&regression.base_forest, &regression.current_forest}) {
    ASSERT_FALSE(forest->calls.empty());
    EXPECT_NEAR(forest->mean_ms, forest->calls.front().mean_ms, 0.01);
  }
  EXPECT_NEAR(regression.current_forest.self_sum_ms, regression.current_forest.mean_ms, 0.01);
  EXPECT_GT(regression.base_forest.self_sum_ms, 1.5 * regression.base_forest.mean_ms);
  // hw with workload, both sides of each.
  EXPECT_EQ(report->buckets.size(), 1) << "no attribute is called host.type: workload alone";
}

TEST(BucketReport, TakesAttributesByName) {
  EXPECT_EQ(regressions_in({}, {.hardware = "hw", .workload = "size", .version = "disk:version"}),
            "hw=c7: api create_vm > disk create_all > disk create: sequential where it was parallel");
  // Without the attribute that matters what is left is slower as a whole.
  EXPECT_THAT(regressions_in({}, {.attributes = {"size"}}), HasSubstr("all requests: "));
}

TEST(BucketReport, TakesVersionsOfAServiceWithAColonInItsName) {
  std::string table = "trace_id,span_id,service,method,machine,version,start_ns,end_ns\n";
  for (int64_t row = 1; row <= 100; ++row) {
    table += fmt::format("{:x},1,unknown_service:node,get,m{},{},{},{}\n", row, row % 10,
                         row <= 50 ? "1.0" : "1.1", row * 1'000'000, row * 1'000'000 + 500);
  }
  const traces::SpanSet spans = spans_in(table);
  const auto made =
      request_table(spans, traces::assemble(spans), {.version = "unknown_service:node:version"});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->current_version(), "1.1");
}

// A row for each: a request of that version, a minute after the one before.
std::string new_version_of(const std::vector<std::string>& versions) {
  std::string table = "trace_id,span_id,service,method,machine,version,start_ns,end_ns\n";
  int64_t row = 0;
  for (const std::string& version : versions) {
    for (int request = 0; request < 25; ++request) {
      ++row;
      table += fmt::format("{:x},1,web,get,m{},{},{},{}\n", row, row % 10, version, row * 60'000'000'000,
                           row * 60'000'000'000 + 1'000'000);
    }
  }
  const traces::SpanSet spans = spans_in(table);
  const auto made = request_table(spans, traces::assemble(spans));
  return made ? made->current_version() : made.error().text();
}

TEST(BucketReport, TakesTheVersionThatCameLastForTheNewOne) {
  EXPECT_EQ(new_version_of({"2.0", "2.1"}), "2.1");
  EXPECT_EQ(new_version_of({"2.1", "2.0"}), "2.0") << "rolled back";
  EXPECT_THAT(new_version_of({"2.0"}), HasSubstr("no service of 25 requests ran two versions"));
  // Both from the start, whichever comes first.
  for (const char* first : {"v9,v10", "v10,v9"}) {
    std::string table = "trace_id,span_id,service,method,version,start_ns,end_ns\n";
    const std::string names = first;
    const size_t comma = names.find(',');
    for (int64_t row = 1; row <= 200; ++row) {
      table += fmt::format("{:x},1,web,get,{},{},{}\n", row,
                           row % 2 == 1 ? names.substr(0, comma) : names.substr(comma + 1), row * 1'000'000,
                           row * 1'000'000 + 500);
    }
    const traces::SpanSet spans = spans_in(table);
    const auto made = request_table(spans, traces::assemble(spans));
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(made->current_version(), "v10") << first;
    EXPECT_FALSE(made->has_hosts);
  }
}

// "NEW against BASE", and the notes; of so many requests of each version, one after the other, each with `spans` spans of the service.
std::string sides_of(const std::vector<std::pair<std::string, int>>& versions, int spans = 1,
                     const std::string& base = "") {
  std::string table = "trace_id,span_id,parent_id,service,method,machine,version,start_ns,end_ns\n";
  int64_t row = 0;
  for (const auto& [version, requests] : versions) {
    for (int request = 0; request < requests; ++request) {
      const int64_t start_ns = ++row * 60'000'000'000;
      for (int span = 1; span <= spans; ++span) {
        table += fmt::format("{:x},{},{},disk,get,m{},{},{},{}\n", row, span, span == 1 ? "" : "1", row % 10,
                             version, start_ns, start_ns + 1'000'000);
      }
    }
  }
  const traces::SpanSet set = spans_in(table);
  const auto made = request_table(set, traces::assemble(set), {.base = base});
  if (!made) {
    return made.error().text();
  }
  std::string text = made->current_version() + " against " + made->base_version();
  for (const std::string& note : made->notes) {
    text += "; " + note;
  }
  return text;
}

TEST(BucketReport, TurnsNoSidesWhereTheNewestVersionIsRare) {
  const std::string rare = sides_of({{"2.0", 1000}, {"2.1", 5}}, 4);
  EXPECT_THAT(rare, AllOf(HasSubstr("two versions with 20 requests each are needed"),
                          HasSubstr("disk 2.0 has 1000, 2.1 has 5"), HasSubstr("--version disk:version")));
  EXPECT_EQ(sides_of({{"1.9", 50}, {"2.0", 50}, {"2.1", 5}}),
            "2.0 against 1.9; version 2.1 has 5 requests, 20 are needed: left out");
  EXPECT_EQ(sides_of({{"1.8", 5}, {"1.9", 50}, {"2.0", 50}}), "2.0 against 1.8, 1.9");
  EXPECT_THAT(sides_of({{"1.9", 15}, {"2.0", 15}, {"2.1", 15}}), HasSubstr("disk 1.9 has 15, 2.0 has 15"));
}

TEST(BucketReport, TakesWhatIsNewerThanANamedBaseForNew) {
  EXPECT_THAT(sides_of({{"1.9", 1000}, {"2.0", 1000}, {"2.1", 5}}, 1, "2.0"),
              AllOf(HasSubstr("no version newer than 2.0 has 20 requests"), HasSubstr("--new VERSION")));
  EXPECT_EQ(sides_of({{"1.9", 50}, {"2.0", 50}, {"2.1", 50}, {"2.2", 5}}, 1, "1.9"),
            "2.1 against 1.9; version 2.2 has 5 requests, 20 are needed: left out");
  EXPECT_EQ(sides_of({{"1.8", 50}, {"1.9", 5}, {"2.0", 50}}, 1, "2.0"),
            "1.8 against 2.0; version 1.9 has 5 requests, 20 are needed: left out")
      << "the way back";
}

TEST(BucketReport, SaysThatTheDirectionFollowsFromNames) {
  std::vector<std::pair<std::string, int>> turns;
  for (int turn = 0; turn < 60; ++turn) {
    turns.emplace_back(turn % 2 == 0 ? "2.0" : "2.0-rc1", 1);
  }
  EXPECT_EQ(sides_of(turns),
            "2.0 against 2.0-rc1; versions ran at the same time from the start: 2.0 is taken for the new one "
            "because of its name (--new names another)");
}

// Replicas r0 to r9, of which every other span names the machine; one request in ten names neither.
TEST(BucketReport, KnowsHostsByMachineAndReplica) {
  std::string table = "trace_id,span_id,service,method,replica,machine,version,start_ns,end_ns\n";
  for (int64_t row = 1; row <= 400; ++row) {
    const int64_t replica = row / 2 % 10;
    const bool is_unknown = row % 10 == 3;
    table +=
        fmt::format("{:x},1,web,get,{},{},{},{},{}\n", row, is_unknown ? "" : fmt::format("r{}", replica),
                    is_unknown || row % 2 == 1 ? "" : fmt::format("m{}", replica),
                    replica < 5 ? "2.0" : "2.1", row * 1'000'000, row * 1'000'000 + 500);
  }
  const traces::SpanSet spans = spans_in(table);
  const auto made = request_table(spans, traces::assemble(spans));
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(made->has_hosts);
  EXPECT_EQ(made->requests.hosts, 10);
  EXPECT_EQ(made->requests.size(), 360);
  EXPECT_THAT(made->notes, ::testing::Contains(HasSubstr("40 requests left out")));
}

TEST(BucketReport, DescribesALaterRegressionWithoutTheOneBefore) {
  // hw=c7 is slower by far, size=3 on c6 a little.
  std::string table = "trace_id,span_id,service,method,machine,version,start_ns,end_ns,hw,size\n";
  for (int64_t row = 1; row <= 8000; ++row) {
    const int64_t host = row * 7919 % 80;
    const bool is_new = host % 2 == 1;
    const bool is_c7 = host % 8 < 6;
    const int64_t size = row / 80 % 4;
    const int64_t slower_us = !is_new ? 0 : is_c7 ? 40'000 : size == 3 ? 200 : 0;
    table += fmt::format(
        "{:x},1,web,get,m{},{},{},{},{},{}\n", row, host, is_new ? "2.1" : "2.0", row * 1'000'000'000,
        row * 1'000'000'000 + (10'000 + row * 104'729 % 1009 + slower_us) * 1000, is_c7 ? "c7" : "c6", size);
  }
  const traces::SpanSet spans = spans_in(table);
  const traces::Assembly assembly = traces::assemble(spans);
  const auto report = find_regressions(spans, assembly);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_EQ(report->regressions.size(), 2);
  const std::vector<BucketTerm>& first = report->regressions[0].bucket.terms;
  EXPECT_EQ(describe(first, report->table.requests), "hw=c7");
  EXPECT_NEAR(report->regressions[0].comparison.percentiles_ms[0].difference(), 40, 1);
  EXPECT_EQ(describe(report->regressions[1].bucket.terms, report->table.requests), "size=3");
  EXPECT_NEAR(report->regressions[1].comparison.percentiles_ms[0].difference(), 0.2, 0.15);
  EXPECT_EQ(report->regressions[1].comparison.base_requests, report->regressions[1].base_forest.requests);
}

// 14 attributes of which one follows from the version, and outcomes.
TEST(BucketReport, SearchesAttributesByNameAndNoOutcomes) {
  std::string header = "trace_id,span_id,service,method,machine,version,start_ns,end_ns,error,retry,fixed";
  for (char name = 'n'; name >= 'a'; --name) {
    header += std::string(",") + name;
  }
  std::string table = header + "\n";
  for (int64_t row = 1; row <= 200; ++row) {
    const bool is_new = row % 10 >= 5;
    table += fmt::format("{:x},1,web,get,m{},{},{},{},{},{},{}", row, row % 10, is_new ? "2.1" : "2.0",
                         row * 1'000'000, row * 1'000'000 + 500, row / 10 % 2, row / 10 % 3, is_new ? 1 : 2);
    for (int i = 0; i < 14; ++i) {
      table += fmt::format(",{}", (row / 10 + i) % 2);
    }
    table += "\n";
  }
  const traces::SpanSet spans = spans_in(table);
  const auto made = request_table(spans, traces::assemble(spans));
  ASSERT_TRUE(made) << made.error().text();
  std::string names;
  for (const BucketAttribute& attribute : made->requests.attributes) {
    names += attribute.name + " ";
  }
  EXPECT_EQ(names, "workload a b c d e f g h i j k l ");
  EXPECT_THAT(made->notes,
              ::testing::Contains(HasSubstr("2 attributes beyond the first 12 by name left out")));
}

// The attribute that stands for hardware where requests 1 to `types` of 200 have host.type, and 1 to `archs` host.arch.
std::string usual_hardware(int64_t types, int64_t archs) {
  std::string table = "trace_id,span_id,service,method,machine,version,start_ns,end_ns,host.type,host.arch\n";
  for (int64_t row = 1; row <= 200; ++row) {
    table += fmt::format("{:x},1,web,get,m{},{},{},{},{},{}\n", row, row % 10, row % 10 >= 5 ? "2.1" : "2.0",
                         row * 1'000'000, row * 1'000'000 + 500, row <= types ? "c7" : "",
                         row <= archs ? "arm64" : "");
  }
  const traces::SpanSet spans = spans_in(table);
  const auto made = request_table(spans, traces::assemble(spans));
  EXPECT_TRUE(made) << made.error().text();
  return !made || made->hardware == kNoAttribute ? "none" : made->requests.attributes[made->hardware].name;
}

TEST(BucketReport, TakesTheHardwareThatRequestsHave) {
  EXPECT_EQ(usual_hardware(200, 200), "host.type") << "the first of them";
  EXPECT_EQ(usual_hardware(100, 200), "host.type") << "half of the requests have it";
  EXPECT_EQ(usual_hardware(1, 200), "host.arch") << "one span does not decide";
  EXPECT_EQ(usual_hardware(20, 30), "host.arch") << "most have it";
  EXPECT_EQ(usual_hardware(30, 20), "host.type");
  EXPECT_EQ(usual_hardware(0, 0), "none");
}

// Neither machines nor replicas: one version after the other, and the second is slower.
TEST(BucketReport, TakesBlocksOfTimeForHosts) {
  std::string table = "trace_id,span_id,service,method,version,start_ns,end_ns\n";
  for (int64_t row = 1; row <= 2000; ++row) {
    const bool is_new = row > 1000;
    table += fmt::format("{:x},1,web,get,{},{},{}\n", row, is_new ? "2.1" : "2.0", row * 1'000'000'000,
                         row * 1'000'000'000 + (10'000 + row * 7919 % 997 + (is_new ? 2000 : 0)) * 1000);
  }
  const traces::SpanSet spans = spans_in(table);
  const auto report = find_regressions(spans, traces::assemble(spans));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_FALSE(report->table.has_hosts);
  EXPECT_EQ(report->table.requests.hosts, 64);
  EXPECT_LT(report->search.overlap, 0.05);
  ASSERT_EQ(report->regressions.size(), 1);
  EXPECT_TRUE(report->regressions.front().bucket.terms.empty());
}

TEST(BucketReport, SaysWhatIsMissing) {
  EXPECT_THAT(regressions_in({}, {.hardware = "hv"}),
              AllOf(HasSubstr("no span has the attribute hv"), HasSubstr("did you mean hw?"),
                    HasSubstr("--by-hardware")));
  EXPECT_THAT(regressions_in({}, {.version = "api:version"}),
              AllOf(HasSubstr("api:version has one value in 1500 requests"), HasSubstr("hw (2)")));
  EXPECT_THAT(regressions_in({}, {.current = "3.0"}),
              AllOf(HasSubstr("no request ran version 3.0 of disk"), HasSubstr("2.0"), HasSubstr("2.1")));
  EXPECT_THAT(regressions_in({}, {.base = "2.1", .current = "2.1"}), HasSubstr("the same version"));
  EXPECT_THAT(regressions_in({}, {.since_ns = INT64_MAX - 1}), HasSubstr("no request of 1500 began"));
}

// The bottleneck of 800 requests on 20 hosts: those of the new version, on hosts from 10, have calls as `add_calls` writes them.
template <typename AddCalls>
std::string bottleneck_of(const AddCalls& add_calls) {
  std::string table = "trace_id,span_id,parent_id,service,method,machine,version,start_ns,end_ns\n";
  for (int64_t row = 1; row <= 800; ++row) {
    add_calls(table, row, row % 20, row % 20 >= 10);
  }
  const traces::SpanSet spans = spans_in(table);
  const traces::Assembly assembly = traces::assemble(spans);
  const auto report = find_regressions(spans, assembly);
  if (!report || report->regressions.size() != 1) {
    return report ? "none" : report.error().text();
  }
  const Bottleneck& bottleneck = report->regressions.front().comparison.bottleneck;
  return bottleneck.kind == Bottleneck::Kind::kNone
             ? name_of(bottleneck.kind)
             : method_text(report->forest, bottleneck.method.path, spans.names()) + ": " +
                   name_of(bottleneck.kind);
}

std::string call(int64_t row, int id, int parent, const char* method, int64_t host, bool is_new,
                 int64_t begin_us, int64_t end_us) {
  return fmt::format("{:x},{},{},web,{},m{},{},{},{}\n", row, id, parent == 0 ? "" : std::to_string(parent),
                     method, host, is_new ? "2.1" : "2.0", row * 1'000'000'000 + begin_us * 1000,
                     row * 1'000'000'000 + end_us * 1000);
}

TEST(BucketReport, TellsCallsThatAreNewFromSlowerOnes) {
  const auto scatter_us = [](int64_t row) { return row * 7919 % 997; };
  const auto with_calls = [&](int old_calls, int new_calls, int64_t old_us, int64_t new_us) {
    return bottleneck_of([&, old_calls, new_calls, old_us, new_us](std::string& table, int64_t row,
                                                                   int64_t host, bool is_new) {
      const int calls = is_new ? new_calls : old_calls;
      const int64_t each_us = is_new ? new_us : old_us;
      table += call(row, 1, 0, "get", host, is_new, 0, 10'000 + scatter_us(row) + calls * each_us);
      for (int i = 0; i < calls; ++i) {
        table += call(row, 2 + i, 1, "query", host, is_new, 100 + i * each_us, 100 + (i + 1) * each_us);
      }
    });
  };
  EXPECT_EQ(with_calls(0, 1, 0, 5000), "web query: called more often");
  EXPECT_EQ(with_calls(1, 2, 5000, 5000), "web query: called more often");
  EXPECT_EQ(with_calls(1, 1, 5000, 9000), "web query: takes longer itself");
}

// One host of the new version waits so long in "poll" that it grew most, but not beyond its interval; "query" grew on all.
TEST(BucketReport, NamesAMethodThatGrewBeyondItsInterval) {
  EXPECT_EQ(bottleneck_of([](std::string& table, int64_t row, int64_t host, bool is_new) {
              const int64_t query_us = is_new ? 9000 : 5000;
              const int64_t poll_us = 1000 + (host == 10 ? 90'000 : 0);
              table += call(row, 1, 0, "get", host, is_new, 0, 1000 + row * 7919 % 997 + query_us + poll_us);
              table += call(row, 2, 1, "query", host, is_new, 100, 100 + query_us);
              table += call(row, 3, 1, "poll", host, is_new, 100 + query_us, 100 + query_us + poll_us);
            }),
            "web query: takes longer itself");
}

// 15 methods that take as long in both versions, but a little longer on some hosts than on others.
TEST(BucketReport, AllowsForTheLargestOfManyMethods) {
  std::mt19937_64 random(11);
  int named = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::string table = "trace_id,span_id,parent_id,service,method,machine,version,start_ns,end_ns\n";
    std::vector<int64_t> host_us(size_t{20} * 15);
    for (int64_t& us : host_us) {
      us = static_cast<int64_t>(random() % 300);
    }
    for (int64_t row = 1; row <= 200; ++row) {
      const int64_t host = row % 20;
      int64_t at_us = 10;
      std::string calls;
      for (int method = 0; method < 15; ++method) {
        const int64_t us = 1000 + host_us[static_cast<size_t>(host * 15 + method)] + row * 7919 % 97;
        calls +=
            call(row, 2 + method, 1, fmt::format("m{}", method).c_str(), host, host >= 10, at_us, at_us + us);
        at_us += us;
      }
      table += call(row, 1, 0, "get", host, host >= 10, 0, at_us + 10) + calls;
    }
    const traces::SpanSet spans = spans_in(table);
    const auto report = find_regressions(spans, traces::assemble(spans));
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_EQ(report->buckets.size(), 1);
    named += report->buckets.front().comparison.bottleneck.kind == Bottleneck::Kind::kNone ? 0 : 1;
  }
  EXPECT_LE(named, 3) << "by itself the largest of 15 is beyond 2.5 % in a third of the tries";
}

TEST(BucketReport, WantsTwoVersionsAmongThoseThatBeganRequests) {
  std::string table = "trace_id,span_id,parent_id,service,method,machine,version,start_ns,end_ns\n";
  for (int64_t row = 1; row <= 60; ++row) {
    table += call(row, 1, 0, "get", row % 10, false, 0, 100) + call(row, 2, 1, "get", row % 10, true, 10, 20);
  }
  const traces::SpanSet spans = spans_in(table);
  const auto made = request_table(spans, traces::assemble(spans));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().text(), HasSubstr("two versions"));
}

// "SERVICE OPERATION MS" a call, on the critical path of the only request.
std::string critical_path(const std::string& text) {
  const traces::SpanSet spans = traces::spans_of(text);
  const traces::Assembly assembly = traces::assemble(spans);
  const std::vector<uint32_t> all{0};
  const CallForest forest = call_forest(spans, assembly, all).value();
  std::string made;
  for (const CallTimes& times : forest.of(0)) {
    made += method_text(forest, times.path, spans.names()) +
            fmt::format(" {:g} of {:g} x{}\n", times.on_path_ms, times.total_ms, times.calls);
  }
  return made;
}

TEST(CallForest, WalksBackThroughWhatEndedLast) {
  EXPECT_EQ(critical_path(R"(
    1 1 - a/root 0 100
    1 2 1 a/early 10 40
    1 3 1 a/late 50 90
    1 4 3 a/inner 60 70)"),
            "a root 30 of 100 x1\na early 30 of 30 x1\na late 30 of 40 x1\na inner 10 of 10 x1\n");
}

TEST(CallForest, CountsOneOfCallsThatRunAtOnce) {
  EXPECT_EQ(critical_path(R"(
    1 1 - a/root 0 100
    1 2 1 a/part 10 60
    1 3 1 a/part 10 90
    1 4 1 a/part 10 50)"),
            "a root 20 of 100 x1\na part 80 of 170 x3\n");
}

// A line a path, sorted, with the kinds that a column gives.
std::string paths_of(const std::string& rows) {
  const traces::SpanSet spans =
      spans_in("trace_id,span_id,parent_id,service,method,kind,start_ns,end_ns\n" + rows);
  const traces::Assembly assembly = traces::assemble(spans);
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < assembly.traces.size(); ++i) {
    all.push_back(i);
  }
  const CallForest forest = call_forest(spans, assembly, all).value();
  std::set<std::string> lines;
  for (uint32_t path = 0; path < forest.paths.size(); ++path) {
    lines.insert(path_text(forest, path, spans.names()) + "\n");
  }
  std::string made;
  for (const std::string& line : lines) {
    made += line;
  }
  return made;
}

// 2,000 requests of one version, and 25 of the next behind them, on one host: intervals of the difference of medians have to hold 0.
TEST(BucketReport, HasIntervalsOfAVersionThatHasJustCome) {
  constexpr int kTrials = 100;
  int holding = 0;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    std::mt19937_64 random(900 + seed);
    std::lognormal_distribution<double> latency(0, 0.5);
    ComparedRequests requests;
    requests.hosts = 1;
    std::vector<uint32_t> members;
    for (uint32_t i = 0; i < 2025; ++i) {
      requests.ms.push_back(static_cast<float>(10 * latency(random)));
      requests.start_ns.push_back(int64_t{i} * 1'000'000);
      requests.host.push_back(0);
      requests.is_new.push_back(i < 2000 ? 0 : 1);
      members.push_back(i);
    }
    const BucketComparison comparison = compare_bucket(requests, members, nullptr);
    EXPECT_FALSE(comparison.is_by_hosts);
    const ValueChange& median = comparison.percentiles_ms.front();
    holding += median.low <= 0 && median.high >= 0 ? 1 : 0;
  }
  EXPECT_GE(holding, 85) << "of " << kTrials;
}

TEST(CallForest, TellsCallsOfOtherServicesByTheServiceCalled) {
  EXPECT_EQ(paths_of("1,1,,api,create,server,1000,9000\n1,2,1,api,GET,client,2000,3000\n"
                     "1,3,2,disk,list,server,2100,2900\n1,4,1,api,GET,client,4000,5000\n"
                     "1,5,4,net,list,server,4100,4900\n"),
            "api create\n"
            "api create > api GET to disk\n"
            "api create > api GET to disk > disk list\n"
            "api create > api GET to net\n"
            "api create > api GET to net > net list\n");
}

TEST(CallForest, TakesNoServerForACall) {
  EXPECT_EQ(paths_of("1,1,,api,create,,1000,9000\n1,2,1,disk,list,,2100,2900\n1,3,2,net,get,,2200,2800\n"),
            "api create\napi create > disk list\napi create > disk list > net get\n");
  EXPECT_EQ(paths_of("1,1,,api,create,,1000,9000\n1,2,1,api,list,,2000,3000\n1,3,2,disk,list,,2100,2900\n"),
            "api create\napi create > api list to disk\napi create > api list to disk > disk list\n");
}

TEST(CallForest, WaitsForNoConsumer) {
  const traces::SpanSet spans = spans_in(
      "trace_id,span_id,parent_id,service,method,kind,start_ns,end_ns\n"
      "1,1,,api,create,server,1000000,5000000\n1,2,1,mail,send,consumer,2000000,4000000\n");
  const traces::Assembly assembly = traces::assemble(spans);
  const std::vector<uint32_t> all{0};
  const CallForest forest = call_forest(spans, assembly, all).value();
  for (const CallTimes& times : forest.of(0)) {
    EXPECT_NEAR(times.on_path_ms, times.path == 0 ? 4 : 0, 1e-6);
  }
}

TEST(CallForest, KeepsWithinTheCallerWhatOutlastsIt) {
  EXPECT_EQ(critical_path(R"(
    1 1 - a/root 0 100
    1 2 1 a/outlasts 40 150
    1 3 2 a/below 120 140)"),
            "a root 40 of 100 x1\na outlasts 60 of 110 x1\na below 0 of 20 x1\n");
}

}  // namespace
}  // namespace plimsoll::diagnosis
