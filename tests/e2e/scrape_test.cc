// Heap and lock profiles of real programs, scraped, imported and asked for. Needs no privileges beyond one's own processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "http/client.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kMiB = 1 << 20;

// A program that prints "port N" on standard error and answers there.
class ProfiledProgram {
 public:
  explicit ProfiledProgram(const std::vector<std::string>& argv) : process_(argv) {
    const bool is_up = eventually([this] { return process_.err().find("port ") != std::string::npos; });
    EXPECT_TRUE(is_up) << argv.back();
    std::istringstream text(process_.err());
    std::string word;
    text >> word >> port_;
  }

  const std::string& port() const { return port_; }
  std::string url(const std::string& path) const { return "http://127.0.0.1:" + port_ + path; }

  std::string get(const std::string& path) const {
    const auto response = http::Client({.base_url = url("")}).send("GET", path);
    EXPECT_TRUE(response && response->status == 200) << path;
    return response ? response->body : std::string();
  }

 private:
  Background process_;
  std::string port_;
};

// heap_server, with tcmalloc taking a sample about every so many bytes.
ProfiledProgram gperftools_program(int sample_bytes) {
  return ProfiledProgram(
      {"/usr/bin/env", "TCMALLOC_SAMPLE_PARAMETER=" + std::to_string(sample_bytes), program("heap_server")});
}

struct LockWaits {
  double ns = 0;
  double count = 0;
};

// As the program measured them.
LockWaits measured_waits(const std::string& truth) {
  std::istringstream text(truth);
  std::string word;
  LockWaits waits;
  text >> word >> waits.ns >> word >> waits.count;
  return waits;
}

class Scrape : public ::testing::Test {
 protected:
  // `plimsolld --scrape` and `plimsoll import`.
  void scrape(const std::string& url, const std::string& data_dir) const {
    const Finished scraped = run({"plimsolld", "--scrape", url, "--output", folder_ / "scraped.profile"});
    ASSERT_EQ(scraped.status, 0) << scraped.err;
    EXPECT_THAT(scraped.out, ::testing::Not(HasSubstr("note:")))
        << "its process can be told, and its mappings";
    import(folder_ / "scraped.profile", data_dir);
  }

  static void import(const std::string& path, const std::string& data_dir) {
    const Finished imported = run({"plimsoll", "import", "--data", data_dir, "--symbol-root", built_file(),
                                   "--symbol-root", "/usr", path});
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  std::string data() const { return folder_ / "data"; }

  TemporaryFolder folder_;
};

// Sum of all stacks with this function on them.
double sum_of(const std::string& data_dir, const std::string& event, const std::string& function) {
  double sum = 0;
  for (const auto& [app, value] : self_of(
           top({"--data", data_dir, "--event", event, "--where", "function=~" + function, "--by", "app"}))) {
    sum += value;
  }
  return sum;
}

// Of the estimate of `total_bytes` in blocks of one size: each block is a sample with the probability
// p = 1 - exp(-block / period), and stands for 1/p blocks.
double standard_error_bytes(double total_bytes, double block_bytes, double period_bytes) {
  const double p = 1 - std::exp(-block_bytes / period_bytes);
  return block_bytes * std::sqrt(total_bytes / block_bytes * (1 - p)) / p;
}

TEST_F(Scrape, AllocationSitesOfAGperftoolsProgramHaveTheirBytes) {
  for (const int period : {65'536, 524'288}) {
    const ProfiledProgram heap_server = gperftools_program(period);
    const std::string data_dir = folder_ / ("data." + std::to_string(period));
    scrape(heap_server.url("/pprof/heap"), data_dir);
    const double large_error = standard_error_bytes(64 * kMiB, 65'536, period);
    const double small_error = standard_error_bytes(16 * kMiB, 1'024, period);
    // One in 3.5 million runs is off by more than five standard errors.
    EXPECT_NEAR(sum_of(data_dir, "heap-inuse-bytes", "^allocate_large_blocks"), 64 * kMiB, 5 * large_error);
    EXPECT_NEAR(sum_of(data_dir, "heap-inuse-bytes", "^allocate_small_blocks"), 16 * kMiB, 5 * small_error);
    EXPECT_NEAR(sum_of(data_dir, "heap-inuse-objects", "^allocate_large_blocks"), 1024,
                5 * large_error / 65'536);
    EXPECT_NEAR(sum_of(data_dir, "heap-inuse-objects", "^allocate_small_blocks"), 16'384,
                5 * small_error / 1'024);
  }
}

TEST_F(Scrape, LockWaitsAreThoseThatTheProgramMeasured) {
  const ProfiledProgram heap_server = gperftools_program(524'288);
  const LockWaits truth = measured_waits(heap_server.get("/truth"));
  ASSERT_EQ(truth.count, 10);
  scrape(heap_server.url("/pprof/contention"), data());
  EXPECT_EQ(sum_of(data(), "lock-contentions", "^wait_for_the_lock"), truth.count);
  EXPECT_EQ(sum_of(data(), "lock-wait-ns", "^wait_for_the_lock"), truth.ns);
}

TEST_F(Scrape, AScrapeKnowsTheWorkload) {
  const ProfiledProgram heap_server = gperftools_program(524'288);
  scrape(heap_server.url("/pprof/contention"), data());
  const query::Table table = top({"--data", data(), "--event", "lock-contentions", "--by", "app,binary",
                                  "--where", "function=~^wait_for_the_lock", "--where", "build_id!="});
  ASSERT_FALSE(table.rows.empty()) << "with the build ID of its executable";
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "heap_server");
  EXPECT_EQ(std::get<std::string>(table.rows[0][1]), "heap_server");
}

// "30117879B" by function, of `go tool pprof -top`.
std::map<std::string, double> pprof_top(const std::string& path, const std::string& home) {
  const Finished top =
      run({"/usr/bin/env", "HOME=" + home, "PPROF_TMPDIR=" + home, "go", "tool", "pprof", "-top",
           "-sample_index=inuse_space", "-unit=B", "-nodecount=100000", "-nodefraction=0", path});
  EXPECT_EQ(top.status, 0) << top.err;
  std::map<std::string, double> flat;
  std::istringstream lines(top.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string value, flat_share, sum_share, total, total_share, function;
    fields >> value >> flat_share >> sum_share >> total >> total_share;
    std::getline(fields >> std::ws, function);
    function = function.substr(0, function.find(" (inline)"));
    if (value.ends_with("B") && !function.empty()) {
      flat[function] = std::stod(value);
    } else if (value == "0" && total.ends_with("B")) {
      flat[function] = 0;
    }
  }
  return flat;
}

TEST_F(Scrape, AGoHeapHasTheTotalsThatPprofShows) {
  if (run({"/usr/bin/env", "go", "version"}).status != 0) {
    GTEST_SKIP() << "go is not installed";
  }
  const ProfiledProgram heap_go({"heap_go"});
  const std::string path = folder_ / "heap.pb.gz";
  std::ofstream(path, std::ios::binary) << heap_go.get("/debug/pprof/heap");
  import(path, data());
  const auto ours = self_of(top({"--data", data(), "--event", "heap-inuse-bytes", "--limit", "100000"}));
  const auto theirs = pprof_top(path, folder_.path());
  EXPECT_EQ(ours, theirs);
  EXPECT_GT(ours.at("main.allocateLargeBlocks"), 8 * kMiB);
  scrape(heap_go.url("/debug/pprof/heap"), data());
  const query::Table scraped = top({"--data", data(), "--event", "heap-inuse-bytes", "--where",
                                    "machine!=import", "--where", "job=heap_go", "--by", "function,file"});
  ASSERT_FALSE(scraped.rows.empty());
  EXPECT_EQ(std::get<std::string>(scraped.rows[0][0]), "main.allocateLargeBlocks");
  EXPECT_THAT(std::get<std::string>(scraped.rows[0][1]), ::testing::EndsWith("heap_go/main.go"));
}

using LabelValues = std::map<std::pair<std::string, std::string>, double>;

// "tenant", "gold": 600000000, as `go tool pprof -tags` has it.
LabelValues pprof_tags(const std::string& path, const std::string& home) {
  const Finished tags = run({"/usr/bin/env", "HOME=" + home, "PPROF_TMPDIR=" + home, "go", "tool", "pprof",
                             "-tags", "-sample_index=cpu", "-unit=ns", path});
  EXPECT_EQ(tags.status, 0) << tags.err;
  LabelValues values;
  std::istringstream lines(tags.out);
  std::string key;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string first, second, value;
    fields >> first >> second;
    if (second == "Total") {
      key = first.substr(0, first.size() - 1);
    } else if (first.ends_with("ns")) {
      fields >> std::ws;
      std::getline(fields, value);
      values[{key, value.substr(value.find(' ') == std::string::npos ? 0 : value.rfind(' ') + 1)}] =
          std::stod(first);
    }
  }
  return values;
}

// The same from a data directory.
LabelValues label_values(const std::string& data_dir) {
  LabelValues values;
  for (const std::string key : {"tenant", "request"}) {
    for (const auto& [value, ns] :
         self_of(top({"--data", data_dir, "--event", "app-cpu-ns", "--by", "label:" + key}))) {
      if (!value.empty()) {
        values[{key, value}] = ns;
      }
    }
  }
  return values;
}

TEST_F(Scrape, LabelsOfAGoProgramAreThoseThatPprofShows) {
  if (run({"/usr/bin/env", "go", "version"}).status != 0) {
    GTEST_SKIP() << "go is not installed";
  }
  const ProfiledProgram heap_go({"heap_go"});
  const std::string path = folder_ / "cpu.pb.gz";
  std::ofstream(path, std::ios::binary) << heap_go.get("/labelled");
  const LabelValues theirs = pprof_tags(path, folder_.path());
  EXPECT_GT((theirs.at({"tenant", "gold"})), (theirs.at({"tenant", "free"})));
  EXPECT_GT((theirs.at({"request", "get"})), 0);
  import(path, data());
  EXPECT_EQ(label_values(data()), theirs);
  // The same profile, through the daemon's scraper.
  ASSERT_EQ(heap_go.get("/labelled/last"), *read_file(path, 1 << 20));
  const std::string scraped = folder_ / "data-of-scrape";
  scrape(heap_go.url("/labelled/last"), scraped);
  EXPECT_EQ(label_values(scraped), theirs);
}

TEST_F(Scrape, TheDaemonSendsWhatHappenedBetweenTwoScrapes) {
  const ProfiledProgram heap_server = gperftools_program(65'536);
  const auto started = std::chrono::steady_clock::now();
  // Older than the interval: what it counted before is no news.
  ASSERT_TRUE(
      eventually([&] { return std::chrono::steady_clock::now() - started > std::chrono::seconds(2); }));
  TestServer server(data(), "[symbols]\nroots = [\"" + built_file() + "\", \"/usr\"]\n");
  ASSERT_TRUE(server.becomes_ready());
  const std::string config = folder_ / "daemon.toml";
  std::ofstream(config) << "[daemon]\nserver = \"" << server.fleet_address()
                        << "\"\n[scrape]\ninterval = \"1s\"\n"
                        << "endpoints = [\"" << heap_server.url("/pprof/contention") << "\", \""
                        << heap_server.url("/pprof/heap") << "\"]\n";
  const Background daemon({"plimsolld", "--config", config});
  const auto value = [&](const std::string& event, const std::string& function) {
    const Finished answer = run({"plimsoll", "top", "--server", server.address(), "--event", event, "--where",
                                 "function=~" + function, "--by", "app", "--json"});
    const auto table = query::from_json(answer.out);
    return answer.status == 0 && table && !table->rows.empty() ? std::get<double>(table->rows[0][1]) : 0.0;
  };
  // The heap comes after the locks: both have been scraped once.
  ASSERT_TRUE(eventually([&] { return value("heap-inuse-bytes", "^allocate_large_blocks") > 0; }))
      << daemon.err();
  const LockWaits before = measured_waits(heap_server.get("/truth"));
  const LockWaits after = measured_waits(heap_server.get("/contend"));
  ASSERT_EQ(after.count - before.count, 10);
  // A scrape in between may have seen a part of them.
  EXPECT_TRUE(eventually([&] { return value("lock-contentions", "^wait_for_the_lock") >= 10; }))
      << daemon.err();
  EXPECT_EQ(value("lock-contentions", "^wait_for_the_lock"), 10) << "without those before the first scrape";
  EXPECT_EQ(value("lock-wait-ns", "^wait_for_the_lock"), after.ns - before.ns);
  const double large_error = standard_error_bytes(64 * kMiB, 65'536, 65'536);
  EXPECT_NEAR(value("heap-inuse-bytes", "^allocate_large_blocks"), 64 * kMiB, 5 * large_error)
      << "several snapshots do not add up";
}

// Nothing of this project is in the program, and the daemon's configuration says only what it is called and where it may listen.
TEST_F(Scrape, AGoServerIsFoundByItsListeningSocket) {
  if (run({"/usr/bin/env", "go", "version"}).status != 0) {
    GTEST_SKIP() << "go is not installed";
  }
  const ProfiledProgram heap_go({"heap_go"});
  const std::string path = folder_ / "heap.pb.gz";
  std::ofstream(path, std::ios::binary) << heap_go.get("/debug/pprof/heap");
  import(path, folder_ / "imported");
  const double imported =
      self_of(top({"--data", folder_ / "imported", "--event", "heap-inuse-bytes", "--limit", "100000"}))
          .at("main.allocateLargeBlocks");
  TestServer server(data(), "");
  ASSERT_TRUE(server.becomes_ready());
  const std::string config = folder_ / "daemon.toml";
  std::ofstream(config) << "[daemon]\nserver = \"" << server.fleet_address()
                        << "\"\n[scrape]\ninterval = \"1s\"\n[[scrape.listening]]\nprogram = \"heap_go\"\n"
                        << "ports = \"" << heap_go.port() << "\"\npaths = [\"/debug/pprof/heap\"]\n";
  const Background daemon({"plimsolld", "--config", config});
  std::vector<Row> rows;
  ASSERT_TRUE(eventually(
      [&] {
        const Finished answer =
            run({"plimsoll", "top", "--server", server.address(), "--event", "heap-inuse-bytes", "--where",
                 "job=heap_go", "--by", "function,file", "--limit", "1", "--json"});
        const auto table = query::from_json(answer.out);
        rows = answer.status == 0 && table ? rows_of(*table) : std::vector<Row>();
        return !rows.empty();
      },
      std::chrono::milliseconds(100)))
      << daemon.err();
  EXPECT_EQ(text(rows[0].at("function")), "main.allocateLargeBlocks");
  EXPECT_THAT(text(rows[0].at("file")), ::testing::EndsWith("heap_go/main.go"));
  EXPECT_NEAR(number(rows[0].at("self")), imported, 1) << "the heap does not change meanwhile";
}

TEST_F(Scrape, WhatCannotBeScrapedIsSaid) {
  const std::string output = folder_ / "f";
  const auto scrape = [&](const std::string& url) {
    return run({"plimsolld", "--scrape", url, "--output", output});
  };
  const Finished beyond = scrape("http://192.0.2.1/pprof/heap");
  EXPECT_EQ(beyond.status, 1);
  EXPECT_THAT(beyond.err, HasSubstr("not on this machine's loopback"));
  EXPECT_EQ(scrape("ftp://127.0.0.1/").status, 2);
  const Finished nobody = scrape("http://" + free_address() + "/pprof/heap");
  EXPECT_EQ(nobody.status, 1);
  EXPECT_THAT(nobody.err, HasSubstr("connect"));
  const ProfiledProgram heap_server = gperftools_program(524'288);
  const Finished no_profile = scrape(heap_server.url("/truth"));
  EXPECT_EQ(no_profile.status, 1);
  EXPECT_THAT(no_profile.err, HasSubstr("format"));
}

}  // namespace
}  // namespace plimsoll::testing
