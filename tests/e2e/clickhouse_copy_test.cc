// `plimsoll store copy`: answers are the same before and after, wherever the rows are, and whatever ends it on the way.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "store/blocks/block_folder.h"
#include "store/copy/epoch_parts.h"
#include "store/copy/local_parts.h"
#include "store/copy/part_copy.h"
#include "store/identity/directory_identity.h"
#include "store/ingest.h"
#include "store/rollup/roll_up.h"
#include "store/store.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/clickhouse/faulty_proxy.h"
#include "tests/e2e/program.h"
#include "tests/profile_fixture.h"
#include "tests/unit/store/shown_part.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kFromNs = 1'700'000'000'000'000'000;
constexpr int64_t kMinuteNs = int64_t{60} * 1'000'000'000;
constexpr uint64_t kProfiles = 20;
constexpr uint64_t kProfilesPerBlock = 6;

// Labels, threads, inlined functions, and addresses of a kernel, which have no names at first.
wire::RawProfile copied_profile(uint64_t seed) {
  wire::RawProfile profile =
      make_profile({.seed = seed,
                    .machine = fmt::format("m{}", seed % 3),
                    .from_ns = kFromNs + static_cast<int64_t>(seed) * kMinuteNs,
                    .events = {{.name = "cycles", .scale = 1000}, {.name = "faults"}},
                    .process = seed % 2 == 0 ? "web" : "db",
                    .job = seed % 2 == 0 ? "shop" : "store",
                    .stacks = fmt::format("main;parse;lex@lex.cc:12 {}\n"
                                          "thread=io labels=request:read main;outer>inner {}\n"
                                          "event=faults main;work_{} {}\n",
                                          1 + seed % 7, 2 + seed % 5, seed % 4, 1 + seed % 3)});
  wire::Binary kernel;
  kernel.set_identity_kind(wire::GNU_BUILD_ID);
  kernel.set_identity("kernel");
  kernel.set_path("[kernel]");
  add_sample(profile, kernel, wire::KERNEL, 0x1000 + seed % 5, 5);
  profile.mutable_kernel_symbols()->add_images()->set_binary(0);
  return profile;
}

class CopyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = ClickHouseServer::why_missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    database_ = ClickHouseServer::shared().new_database();
    password_file_ = folder_ / "password";
    const Finished written = run({"/bin/sh", "-c", "umask 077; printf '%s\\n' \"$1\" > \"$2\"", "sh",
                                  database_.password, password_file_});
    ASSERT_EQ(written.status, 0) << written.err;
    ASSERT_NO_FATAL_FAILURE(add_profiles(1, kProfiles));
    ASSERT_NO_FATAL_FAILURE(name_kernel("before"));
    const auto ingest = *store::Ingest::open(data_);
    ASSERT_EQ(store::RollUp(*ingest, {}).run_once_before(INT64_MAX)->block, 1);
  }

  std::string address(const std::string& url) const {
    return fmt::format("clickhouse://{}@{}/{}", database_.user, url.substr(std::string("http://").size()),
                       database_.database);
  }
  std::string address() const { return address(database_.base_url); }

  std::vector<std::string> copy_to(const std::string& place) const {
    std::vector<std::string> command{"plimsoll", "store", "copy", "--data", data_, "--to", place};
    if (place != "directory") {
      command.insert(command.end(), {"--password-file", password_file_});
    }
    return command;
  }
  std::string copied_to(const std::string& place) const {
    const Finished copied = run(copy_to(place));
    EXPECT_EQ(copied.status, 0) << copied.err;
    return copied.out;
  }

  // Wherever the rows are.
  void add_profiles(uint64_t first, uint64_t last) {
    const auto ingest = store::Ingest::open(data_, {.block_limits = {.max_profiles = kProfilesPerBlock}});
    ASSERT_TRUE(ingest) << ingest.error().text();
    for (uint64_t seed = first; seed <= last; ++seed) {
      ASSERT_TRUE((*ingest)->accept(as_bytes(wire::encode(copied_profile(seed))), {}));
      const auto built = (*ingest)->build_pending();
      ASSERT_TRUE(built) << built.error().text();
    }
  }

  // Gives the kernel's addresses of all blocks names with that beginning.
  void name_kernel(const std::string& prefix) {
    const auto ingest = store::Ingest::open(data_);
    ASSERT_TRUE(ingest) << ingest.error().text();
    const auto symbols = store::symbols_of(**ingest);
    const auto blocks = symbols->blocks();
    ASSERT_TRUE(blocks) << blocks.error().text();
    for (const auto& block : *blocks) {
      int64_t bound_up_to = 0;
      auto pending = block->find_pending(bound_up_to);
      ASSERT_TRUE(pending) << pending.error().text();
      for (store::PendingBinary& binary : *pending) {
        ASSERT_TRUE(block->add_locations(true, binary));
        std::vector<store::Binding> bindings;
        for (const store::PendingLocation& location : binary.locations) {
          bindings.push_back(
              {.location = location.id,
               .frames = {{.function = fmt::format("{}_{:x}", prefix, location.address), .file = "k.c"}}});
        }
        const store::NamedBinary named{.ids = binary.ids,
                                       .path = "[kernel]",
                                       .account = {.quality = store::SymbolQuality::kSymtab,
                                                   .generation = binary.generation + 1,
                                                   .reasons = "no DWARF",
                                                   .looked_at = prefix},
                                       .bindings = bindings};
        const Status bound = block->bind(std::span(&named, 1));
        ASSERT_TRUE(bound) << bound.error().text();
      }
    }
  }

  // Of all views, each below its command.
  std::string answers() const {
    const std::string middle = "2023-11-14T22:19:20Z";
    const std::vector<std::vector<std::string>> questions{
        {"top", "--by", "function", "--event", "cycles"},
        {"top", "--by", "job,thread,label:request", "--event", "cycles"},
        {"top", "--by", "file,line", "--event", "cycles", "--where", "job=shop"},
        {"top", "--by", "machine", "--event", "faults", "--since", middle},
        {"top", "--by", "instance", "--event", "cycles", "--until", middle},
        {"flame", "--event", "cycles"},
        {"callers", "lex", "--event", "cycles"},
        {"series", "--by", "job", "--event", "cycles", "--every", "1m"},
        {"diff", "--by", "function", "--event", "cycles", "--where", "job=shop", "--baseline-where",
         "job=store"},
        {"jobs"},
        {"machines"},
        {"coverage"}};
    std::string all;
    for (const std::vector<std::string>& question : questions) {
      std::vector<std::string> command{"plimsoll"};
      command.insert(command.end(), question.begin(), question.end());
      command.insert(command.end(), {"--data", data_, "--csv"});
      const Finished answered = run(command);
      all += fmt::format("{}: {}\n{}\n", fmt::join(question, " "), answered.status, answered.out);
    }
    return all;
  }

  TemporaryFolder folder_;
  const std::string data_ = folder_ / "data";
  store::clickhouse::ConnectionOptions database_;
  std::string password_file_;
};

TEST_F(CopyTest, AnswersAreTheSameThereAndBack) {
  const std::string before = answers();
  EXPECT_THAT(before, HasSubstr("before_1001"));
  const std::string copied = copied_to(address());
  EXPECT_THAT(copied, HasSubstr("copied 4 of 4 parts; both sides have"));
  EXPECT_THAT(copied, HasSubstr("remove them with:"));
  EXPECT_EQ(answers(), before);
  EXPECT_THAT(copied_to(address()), HasSubstr("already"));

  // Rows and names go on where the rows are now.
  add_profiles(kProfiles + 1, kProfiles + 3);
  name_kernel("after");
  const std::string later = answers();
  EXPECT_NE(later, before);
  EXPECT_THAT(later, HasSubstr("after_1001"));

  copied_to("directory");
  EXPECT_EQ(answers(), later);
  const Finished checked = run({"plimsoll", "store", "check", "--data", data_});
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  std::vector<std::string> removal = copy_to("directory");
  removal.emplace_back("--remove");
  const Finished removed = run(removal);
  EXPECT_EQ(removed.status, 0) << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("removed the old rows in clickhouse://"));
  store::clickhouse::Connection connection(database_);
  const auto tables = connection.query("SHOW TABLES");
  EXPECT_EQ(tables.value_or("?"), "");
  EXPECT_EQ(answers(), later);
  add_profiles(kProfiles + 4, kProfiles + 4);
}

TEST_F(CopyTest, RowsAreSplitOverShardsAndPutTogetherAgain) {
  const std::string before = answers();
  const store::clickhouse::ConnectionOptions second = ClickHouseServer::shared().new_database();
  const std::string shard_address =
      fmt::format("clickhouse://{}@{}/{}", second.user, second.base_url.substr(std::string("http://").size()),
                  second.database);
  std::vector<std::string> command = copy_to(address());
  command.insert(command.end(), {"--shard", shard_address});
  const Finished copied = run(command);
  EXPECT_EQ(copied.status, 0) << copied.err;
  EXPECT_EQ(store::read_identity(data_)->rows.shards, std::vector<std::string>{shard_address});
  EXPECT_EQ(answers(), before);
  add_profiles(kProfiles + 1, kProfiles + 3);
  const std::string later = answers();
  EXPECT_NE(later, before);

  std::vector<std::string> removal = copy_to("directory");
  removal.emplace_back("--remove");
  const Finished removed = run(removal);
  EXPECT_EQ(removed.status, 0) << removed.err;
  EXPECT_EQ(answers(), later);
  for (const store::clickhouse::ConnectionOptions& database : {database_, second}) {
    store::clickhouse::Connection connection(database);
    EXPECT_EQ(connection.query("SHOW TABLES").value_or("?"), "");
  }
}

TEST_F(CopyTest, OldRowsInTheDirectoryAreRemoved) {
  const std::string before = answers();
  std::vector<std::string> command = copy_to(address());
  command.emplace_back("--remove");
  const Finished copied = run(command);
  EXPECT_EQ(copied.status, 0) << copied.err;
  EXPECT_EQ(store::list_blocks(data_ + "/blocks")->size(), 1U);
  EXPECT_EQ(answers(), before);
  add_profiles(kProfiles + 1, kProfiles + 1);
}

TEST_F(CopyTest, EndedBeforeTheIdentityIsWrittenItGoesOn) {
  copied_to(address());
  const store::DirectoryIdentity elsewhere = *store::read_identity(data_);
  copied_to("directory");
  // As it is between the exchange of the folders and the identity.
  const store::CopyNote note = *store::read_copy_note(data_);
  ASSERT_TRUE(write_file_durably(data_ + "/blocks/copy", as_bytes(note.id)));
  ASSERT_TRUE(store::make_first_block(data_ + "/blocks.copied"));
  ASSERT_TRUE(store::write_identity(data_, elsewhere));
  // A server that runs in between has its rows where they were.
  add_profiles(kProfiles + 1, kProfiles + 1);
  const std::string later = answers();
  EXPECT_THAT(copied_to("directory"), HasSubstr("copied 1 of 4 parts"));
  EXPECT_EQ(answers(), later);
  EXPECT_FALSE(std::filesystem::exists(data_ + "/blocks/copy"));
  EXPECT_FALSE(std::filesystem::exists(data_ + "/blocks.copied"));
}

TEST_F(CopyTest, AFullBlockGetsNoMoreProfilesThere) {
  add_profiles(kProfiles + 1, 4 * kProfilesPerBlock);
  copied_to(address());
  add_profiles(4 * kProfilesPerBlock + 1, 4 * kProfilesPerBlock + 1);
  const auto epochs =
      store::EpochParts::open({.address = address(), .password_file = password_file_, .ca = {}},
                              store::read_identity(data_)->id, [] { return kFromNs; });
  ASSERT_TRUE(epochs) << epochs.error().text();
  EXPECT_EQ((*epochs)->read(4)->profiles.size(), kProfilesPerBlock);
  EXPECT_EQ((*epochs)->read(5)->profiles.size(), 1U);
  EXPECT_TRUE((*epochs)->read(5)->takes_more);
}

TEST_F(CopyTest, KilledAtAnyRequestItGoesOn) {
  const std::string before = answers();
  std::atomic<pid_t> running = 0;
  FaultyProxy proxy(database_.base_url, [&] {
    running.wait(0);
    ::kill(running, SIGKILL);
  });
  // Far enough apart for a few parts between them, and at different requests of a part.
  for (const uint64_t step : {0U, 43U, 86U, 129U, 172U}) {
    SCOPED_TRACE(step);
    proxy.fail_at(step);
    running = 0;
    Background copy(copy_to(address(proxy.url())));
    running = copy.pid();
    running.notify_all();
    EXPECT_EQ(copy.wait().status, 128 + SIGKILL);
    EXPECT_EQ(answers(), before) << "rows are where they were";
  }
  proxy.stop_failing();
  EXPECT_THAT(copied_to(address(proxy.url())), HasSubstr("of 4 parts"));
  EXPECT_EQ(answers(), before);
}

TEST_F(CopyTest, ARowThatCountsTwiceIsFoundAndCopiedAgain) {
  const std::string id = store::read_identity(data_)->id;
  store::LocalParts from(data_ + "/blocks", id);
  const auto to = store::EpochParts::open({.address = address(), .password_file = password_file_, .ca = {}},
                                          id, [] { return kFromNs; });
  ASSERT_TRUE(to) << to.error().text();
  store::CopyNote note = store::make_copy_note({}, {.address = address()});
  const store::KeepNote keep = [](const store::CopyNote&) -> Status { return {}; };
  const auto copied = store::copy_parts(from, **to, note, keep);
  ASSERT_TRUE(copied) << copied.error().text();
  for (int64_t part = 1; part <= 4; ++part) {
    SCOPED_TRACE(part);
    EXPECT_EQ(shown_part(**to, part), shown_part(from, part));
  }
  store::clickhouse::Connection connection(database_);
  ASSERT_TRUE(connection.query("INSERT INTO rows SELECT * FROM rows WHERE epoch = 3 LIMIT 1"));
  const auto damaged = store::verify_parts(from, **to, note, keep);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(damaged.error().message, HasSubstr("the copy of part 3"));
  EXPECT_EQ(store::copy_parts(from, **to, note, keep)->copied, 2U);
  const auto verified = store::verify_parts(from, **to, note, keep);
  EXPECT_TRUE(verified) << verified.error().text();
}

}  // namespace
}  // namespace plimsoll::testing
