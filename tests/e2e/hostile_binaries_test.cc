// Damaged ELF files with DWARF, through the whole repository: sent to a server, kept by it, and made into symbol tables by its processes.
// PLIMSOLL_TEST_FUZZ_TABLES: how many files (200); PLIMSOLL_TEST_FUZZ_SEED: other damage.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "sqlite/database.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/symbol_address.h"
#include "tests/fuzz/damaged_elf.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"
#include "tests/unit/symbolizer/build_id_of.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kBuildsOfProfile = 500;
constexpr uint64_t kMaxFileBytes = 64 << 20;

size_t files_to_damage() {
  const char* const text = std::getenv("PLIMSOLL_TEST_FUZZ_TABLES");
  return text == nullptr ? 200 : std::strtoull(text, nullptr, 10);
}

struct Original {
  std::string build_id;
  std::string content;
};

std::vector<Original> originals() {
  std::vector<Original> read;
  for (const char* const name : {"inline_gcc5.so", "inline_gcc2_strict.so", "split.debug"}) {
    const std::string path = built_file(name);
    read.push_back({symbolizer::build_id_of(path), read_file(path, kMaxFileBytes).value()});
  }
  return read;
}

// Under a build ID of its own, which the damage may change once more.
std::string damaged(const Original& original, std::mt19937_64& random) {
  std::string image = original.content;
  std::string build_id(original.build_id.size(), '\0');
  std::ranges::generate(build_id, [&random] { return static_cast<char>(random()); });
  image.replace(image.find(original.build_id), build_id.size(), build_id);
  return random() % 2 == 0 ? fuzz::with_damaged_section(std::move(image), random)
                           : fuzz::mutated(image, random);
}

// How the process that parses may end other than by itself (symbolizer/process/child_end.cc).
bool tells_of_death(std::string_view reasons) {
  constexpr std::array<std::string_view, 8> kDeaths{
      "crashed",       "forbidden system call", "killed from outside", "did not end",
      "invalid reply", "without a reply",       "needs more CPU time", "of memory allowed"};
  return std::ranges::any_of(
      kDeaths, [&](std::string_view death) { return reasons.find(death) != std::string_view::npos; });
}

struct Searched {
  int64_t builds = 0;   // that rows have
  int64_t pending = 0;  // locations that no search was made for
  int64_t named = 0;    // builds with symbols
  std::vector<std::string> deaths;
  std::vector<std::string> silent;  // builds without symbols, and without a reason
};

Searched searched_in(const std::string& data_dir) {
  Searched searched;
  for (const auto& block : std::filesystem::directory_iterator(data_dir + "/blocks")) {
    const std::string path = block.path() / "catalogue.db";
    if (!std::filesystem::exists(path)) {
      continue;
    }
    auto catalogue = sqlite::Database::open(path, sqlite::OpenMode::kRead).value();
    searched.pending += catalogue
                            .integer(
                                "SELECT count(*) FROM location LEFT JOIN binding ON binding.location = "
                                "location.id WHERE binding.location IS NULL",
                                0)
                            .value();
    auto row =
        catalogue.query("SELECT path, quality, reasons FROM binary WHERE path LIKE '/nowhere/%'").value();
    while (row.step().value()) {
      const std::string binary(row.text(0));
      const std::string reasons(row.text(2));
      ++searched.builds;
      searched.named += row.integer(1) > 0 ? 1 : 0;
      if (tells_of_death(reasons)) {
        searched.deaths.push_back(binary + ": " + reasons);
      }
      if (row.integer(1) == 0 && reasons.empty()) {
        searched.silent.push_back(binary);
      }
    }
  }
  return searched;
}

class HostileBinaries : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.becomes_ready()) << server_.process().err(); }

  // The build ID under which the server keeps it; empty where it refuses it, with a reason.
  std::string put(const std::string& image) {
    const auto answer = client_.send("PUT", "/api/v1/binaries/", image);
    EXPECT_TRUE(answer) << answer.error().text();
    if (!answer || !answer->ok()) {
      EXPECT_TRUE(answer && answer->status >= 400 && answer->status < 500) << (answer ? answer->body : "");
      EXPECT_TRUE(answer && !answer->body.empty());
      return {};
    }
    const auto table = query::from_json(answer->body);
    EXPECT_TRUE(table && table->rows.size() == 1) << answer->body;
    return from_hex(text(rows_of(*table).at(0).at("build_id"))).value_or("");
  }

  void send_profile(uint64_t seed, const std::vector<std::string>& build_ids) {
    wire::RawProfile profile =
        make_profile({.seed = seed, .from_ns = wall_now_ns() - 60 * kNsPerSecond, .stacks = "main 1\n"});
    for (const std::string& build_id : build_ids) {
      wire::Binary binary;
      binary.set_identity_kind(wire::GNU_BUILD_ID);
      binary.set_identity(build_id);
      binary.set_path("/nowhere/" + to_hex(build_id) + ".so");
      add_sample(profile, binary, wire::ELF, address_, 1);
    }
    http::Client daemon({.base_url = server_.fleet_address()});
    const auto sent =
        daemon.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
    ASSERT_TRUE(sent && sent->ok()) << (sent ? sent->body : sent.error().text());
  }

  // Once every address of so many builds was looked up.
  Searched searched_when(size_t builds, std::chrono::minutes guard) const {
    Searched searched;
    EXPECT_TRUE(eventually(
        [&] {
          searched = searched_in(data_dir_);
          return searched.builds == static_cast<int64_t>(builds) && searched.pending == 0;
        },
        std::chrono::milliseconds(200), guard))
        << searched.builds << " of " << builds << " builds, " << searched.pending
        << " addresses are pending\n"
        << server_.process().err();
    return searched;
  }

  const uint64_t address_ = address_of_symbol(built_file("inline_gcc5.so"), "plain_c");
  TemporaryFolder folder_;
  const std::string data_dir_ = folder_ / "data";
  TestServer server_{data_dir_, "[symbols]\nretry = \"24h\"\n"};
  http::Client client_{{.base_url = server_.address()}};
};

TEST_F(HostileBinaries, CostTheirOwnTablesAndNothingElse) {
  const size_t files = files_to_damage();
  const std::vector<Original> whole = originals();
  std::mt19937_64 random(fuzz::seed(41));
  std::vector<std::string> build_ids;
  size_t kept = 0;
  const std::chrono::minutes guard(files < 1000 ? 3 : 60);
  for (size_t i = 0; i < files; ++i) {
    std::string build_id = put(damaged(whole[random() % whole.size()], random));
    if (!build_id.empty()) {
      build_ids.push_back(std::move(build_id));
      ++kept;
    }
    if (build_ids.size() == kBuildsOfProfile || i + 1 == files) {
      ASSERT_NO_FATAL_FAILURE(send_profile(i + 1, build_ids));
      build_ids.clear();
    }
  }
  EXPECT_GT(kept, files / 4) << "half of the damage is to contents of sections";
  const Searched searched = searched_when(kept, guard);
  std::printf("hostile binaries: %zu damaged files, %zu kept, %lld with symbols, %zu deaths of processes\n",
              files, kept, static_cast<long long>(searched.named), searched.deaths.size());
  EXPECT_GT(searched.named, searched.builds / 4) << "damage to one section leaves the others";
  EXPECT_LE(searched.deaths.size(), std::max<size_t>(1, files / 1000)) << searched.deaths.front();
  EXPECT_THAT(searched.silent, IsEmpty());

  // A sound file has symbols as ever, and what is kept is what came.
  const std::string sound = read_file(built_file("inline_gcc5.so"), kMaxFileBytes).value();
  const std::string build_id = put(sound);
  ASSERT_NO_FATAL_FAILURE(send_profile(files + 1, {build_id}));
  EXPECT_EQ(searched_when(kept + 1, guard).named, searched.named + 1);
  EXPECT_TRUE(self_of(top({"--server", server_.address()})).contains("plain_c"));
  EXPECT_EQ(server_.stop().status, 0);
  const Finished verified = run({"plimsoll", "binaries", "verify", "--data", data_dir_});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr(fmt::format("of {} builds", kept + 1)));
}

}  // namespace
}  // namespace plimsoll::testing
