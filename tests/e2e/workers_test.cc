// Symbolizer workers on machines of their own: tables that they make give old rows names, and a worker that dies loses nothing. Needs the
// privileges to make network namespaces. PLIMSOLL_TEST_WORKER_BUILDS: how many builds they name (60).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/secured_settings.h"
#include "tests/e2e/symbol_address.h"
#include "tests/e2e/test_network.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kWorkers = 3;
constexpr uint64_t kMaxFileBytes = 64 << 20;

int builds_to_name() {
  const char* const text = std::getenv("PLIMSOLL_TEST_WORKER_BUILDS");
  return text == nullptr ? 60 : std::atoi(text);
}

std::string content_of(const std::string& path) {
  const auto content = read_file(path, kMaxFileBytes);
  EXPECT_TRUE(content) << content.error().text();
  return content.value_or("");
}

// The same code under build IDs that differ.
struct Build {
  std::string build_id;
  std::string content;
};

std::vector<Build> make_builds(int count) {
  const std::string whole = content_of(built_file("inline_gcc5.so"));
  const std::string build_id(elf::ElfFile::parse(as_bytes(whole))->build_id());
  std::vector<Build> builds;
  for (int i = 0; i < count; ++i) {
    Build build{.build_id = build_id, .content = whole};
    build.build_id.back() = static_cast<char>(i);
    build.build_id[build_id.size() - 2] = static_cast<char>(i >> 8);
    build.build_id.front() = static_cast<char>(~build_id.front());
    build.content.replace(whole.find(build_id), build_id.size(), build.build_id);
    builds.push_back(std::move(build));
  }
  return builds;
}

// The symbol tables of a data directory, by file name.
std::map<std::string, std::string> tables_in(const std::string& data_dir) {
  std::map<std::string, std::string> tables;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir + "/symtab")) {
    if (entry.path().extension() == ".symtab") {
      tables[entry.path().filename().string()] = content_of(entry.path().string());
    }
  }
  return tables;
}

// When rows were written.
std::map<std::string, std::string> row_files(const std::string& data_dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir + "/blocks")) {
    struct stat info{};
    if (entry.path().extension() == ".rows" && ::stat(entry.path().c_str(), &info) == 0) {
      files[entry.path().string()] =
          fmt::format("{} {}.{:09}", info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    }
  }
  return files;
}

class Workers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!network_.is_made()) {
      GTEST_SKIP() << "this user may not make network namespaces";
    }
    std::filesystem::create_directory(folder_ / "builds");
    const std::vector<Build> builds = make_builds(builds_);
    const uint64_t hidden =
        address_of_symbol(built_file("inline_gcc5.so"), "_ZN7fixture12_GLOBAL__N_16hiddenEi");
    wire::RawProfile profile =
        make_profile({.from_ns = wall_now_ns() - 60 * kNsPerSecond, .stacks = "main 1\n"});
    for (size_t i = 0; i < builds.size(); ++i) {
      std::ofstream(folder_ / fmt::format("builds/lib{}.so", i)) << builds[i].content;
      wire::Binary binary;
      binary.set_identity_kind(wire::GNU_BUILD_ID);
      binary.set_identity(builds[i].build_id);
      binary.set_path(fmt::format("/nowhere/lib{}.so", i));
      add_sample(profile, binary, wire::ELF, hidden, 10);
    }
    std::ofstream(folder_ / "profile") << wire::encode(profile);
    // Rows are there, without names, before any of the binaries is.
    import_profile(data_dir_);
  }
  void TearDown() override {
    for (auto& [number, worker] : workers_) {
      // Before it has begun, the signal would end it as it ends any program.
      EXPECT_TRUE(eventually([&] {
        return worker->err().find("making symbol tables for") != std::string::npos;
      })) << worker->err();
      worker->kill(SIGTERM);
      EXPECT_EQ(worker->wait().status, 0) << worker->err();
    }
    workers_.clear();
    if (server_ != nullptr) {
      server_->kill(SIGTERM);
      EXPECT_EQ(server_->wait().status, 0);
    }
  }

  void import_profile(const std::string& data_dir) const {
    const Finished imported = run({"plimsoll", "import", "--data", data_dir, folder_ / "profile"});
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  // The server leaves to its workers all that it may.
  void start_server() {
    std::ofstream(folder_ / "server.toml")
        << settings_.config() << "[symbols]\nretry = \"1s\"\nworker_lease = \"2s\"\nworker_grace = \"1h\"\n";
    server_ = std::make_unique<Background>(network_.running(
        0, {"plimsoll", "server", "--data", data_dir_, "--config", folder_ / "server.toml", "--listen",
            network_.address(0) + ":7070", "--fleet-listen", network_.address(0) + ":7071"}));
    ASSERT_TRUE(
        eventually([&] { return plimsoll({"machines"}, "read").status == 0; }, std::chrono::milliseconds(50)))
        << server_->err();
  }
  void start_worker(int number) {
    const std::string config = folder_ / fmt::format("worker{}.toml", number);
    std::ofstream(config) << fmt::format(
        "[symbolizer]\nserver = \"https://{}:7070\"\nserver_ca = \"{}\"\ntoken_file = \"{}\"\nname = "
        "\"w{}\"\n"
        "folder = \"{}\"\nparallel = 2\n",
        network_.address(0), settings_.ca(), settings_.token_file("symbolizer"), number,
        folder_ / fmt::format("worker{}", number));
    workers_.insert_or_assign(
        number, std::make_unique<Background>(network_.running(
                    number, {"plimsoll", "server", "--role", "symbolizer", "--config", config})));
  }

  Finished plimsoll(std::vector<std::string> arguments, const std::string& role) const {
    arguments.insert(arguments.begin(), "plimsoll");
    for (const std::vector<std::string>& further :
         {std::vector<std::string>{"--server", "https://" + network_.address(0) + ":7070"},
          settings_.flags(role)}) {
      arguments.insert(arguments.end(), further.begin(), further.end());
    }
    return run(network_.running(0, arguments));
  }
  std::vector<Row> workers() const {
    const Finished asked = plimsoll({"status", "--by", "symbolizer", "--json"}, "read");
    const auto table = query::from_json(asked.out);
    return asked.status == 0 && table ? rows_of(*table) : std::vector<Row>();
  }
  // Builds whose code has no names; all of them where there is no answer.
  int unnamed() const {
    const Finished top = plimsoll({"top", "--limit", "1000", "--csv"}, "read");
    int count = top.status == 0 ? 0 : builds_;
    for (size_t at = top.out.find("[no symbol in lib"); at != std::string::npos;
         at = top.out.find("[no symbol in lib", at + 1)) {
      ++count;
    }
    return count;
  }

  // What a server without workers makes of the same files.
  std::map<std::string, std::string> tables_made_alone() const {
    const std::string alone = folder_ / "alone";
    import_profile(alone);
    EXPECT_EQ(run({"plimsoll", "binaries", "add", "--data", alone, folder_ / "builds"}).status, 0);
    EXPECT_EQ(run({"plimsoll", "import", "--data", alone}).status, 0);
    return tables_in(alone);
  }

  // Ends a worker as a failing machine does, and starts another in its place.
  void kill_worker(int number) {
    workers_.at(number)->kill(SIGKILL);
    workers_.at(number)->wait();
    start_worker(number);
  }

  const int builds_ = builds_to_name();
  TemporaryFolder folder_;
  std::string data_dir_ = folder_ / "data";
  TestNetwork network_{kWorkers};
  SecuredSettings settings_{"extendedKeyUsage=serverAuth\nsubjectAltName=IP:" + network_.address(0)};
  std::unique_ptr<Background> server_;
  std::map<int, std::unique_ptr<Background>> workers_;
};

TEST_F(Workers, NameAllBuildsWhileOneOfThemDiesAgainAndAgain) {
  ASSERT_NO_FATAL_FAILURE(start_server());
  for (int number = 1; number <= kWorkers; ++number) {
    start_worker(number);
  }
  ASSERT_TRUE(eventually([&] { return workers().size() == kWorkers; }, std::chrono::milliseconds(200)))
      << workers_.at(1)->err();
  EXPECT_EQ(unnamed(), builds_);
  const auto rows_before = row_files(data_dir_);
  const Finished added = plimsoll({"binaries", "add", folder_ / "builds"}, "binaries");
  ASSERT_EQ(added.status, 0) << added.err;
  // Each second one of them, in turn. Of 60 builds none is leased as often as makes the server read it itself
  // (LeaseLimits::max_leases_of_build), should a worker die with the same one each time; of more that is unlikely.
  const int max_deaths = builds_ / 6;
  int deaths = 0;
  auto next_death = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually(
      [&] {
        if (deaths < max_deaths && std::chrono::steady_clock::now() >= next_death) {
          kill_worker(1 + deaths % kWorkers);
          ++deaths;
          next_death = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        }
        return unnamed() == 0;
      },
      std::chrono::milliseconds(200), std::chrono::minutes(7)))
      << unnamed() << " builds have no names\n"
      << server_->err();
  EXPECT_GT(deaths, 0);
  EXPECT_EQ(row_files(data_dir_), rows_before) << "no row is rewritten";
  double tables = 0;
  for (const Row& worker : workers()) {
    tables += number(worker.at("tables"));
    EXPECT_EQ(number(worker.at("refused")), 0) << text(worker.at("newest_failure"));
  }
  std::printf("workers: %d builds named, %d deaths\n", builds_, deaths);
  EXPECT_GE(tables, builds_) << "the server has made none itself";
  const auto made = tables_in(data_dir_);
  EXPECT_EQ(made.size(), builds_);
  EXPECT_EQ(made, tables_made_alone());
}

TEST_F(Workers, AreRefusedWithoutATokenOfTheirRole) {
  ASSERT_NO_FATAL_FAILURE(start_server());
  for (const std::string role : {"read", "binaries", "enrol"}) {
    const std::string config = folder_ / (role + ".toml");
    std::ofstream(config) << fmt::format(
        "[symbolizer]\nserver = \"https://{}:7070\"\nserver_ca = \"{}\"\ntoken_file = \"{}\"\nfolder = "
        "\"{}\"\n"
        "listen = \"127.0.0.1:0\"\n",
        network_.address(0), settings_.ca(), settings_.token_file(role), folder_ / role);
    const Background worker(
        network_.running(0, {"plimsoll", "server", "--role", "symbolizer", "--config", config}));
    EXPECT_TRUE(eventually([&] { return worker.err().find("may not POST") != std::string::npos; }))
        << role << ": " << worker.err();
  }
  EXPECT_TRUE(workers().empty());
}

TEST(WorkersConfiguration, IsRefusedWhereItNamesNoServer) {
  const Finished refused = run({"plimsoll", "server", "--role", "symbolizer"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("(field: symbolizer.server)"));
}

}  // namespace
}  // namespace plimsoll::testing
