// Servers of one data directory whose file system has lost the lock: only the newest of them writes draws.db.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/directory/data_directory.h"
#include "store/draws/draw_store.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store::draw_writers_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

DrawWriter writer(uint64_t id, const std::string& host = "db1", int64_t since_ns = 0) {
  return {.id = id, .process = static_cast<int64_t>(id), .host = host, .since_ns = since_ns};
}

DrawWithMachines draw_of_one(const std::string& id, int64_t made_ns) {
  DrawWithMachines draw;
  draw.draw = {.id = id,
               .made_ns = made_ns,
               .interval_start_ns = made_ns,
               .interval_ns = 600,
               .window_start_ns = made_ns + 100,
               .window_ns = 100,
               .due_ns = made_ns + 400,
               .seed = 1,
               .policy = "one of one",
               .collects = {},
               .strata = {{"all", 1, 1, 1, 1}}};
  draw.machines = {
      {.machine_id = "m1", .stratum = 0, .inclusion_probability = 1, .window_start_ns = made_ns + 100}};
  return draw;
}

ExperimentDefinition experiment_called(const std::string& name) {
  return {.name = name,
          .feature = "label:flag=on",
          .owner = "ann",
          .parameters = {{"days", "7"}},
          .defined_ns = 1,
          .changed_ns = 1};
}

Status without_value(const auto& result) {
  return result ? Status() : propagate(result);
}

// What changes the file, of a machine of draw "d1"; `number` makes it differ from what was there.
using Change = std::function<Status(DrawStore& store, int number)>;
std::vector<std::pair<std::string, Change>> changes() {
  const auto machine = [](int number) {
    DrawnMachine changed = draw_of_one("d1", 1000).machines.front();
    changed.detail = std::to_string(number);
    changed.kinds.emplace_back().set_kind("heap");
    return changed;
  };
  return {
      {"add", [](DrawStore& store,
                 int number) { return store.add(draw_of_one("d" + std::to_string(number), number)); }},
      {"update", [machine](DrawStore& store, int number) { return store.update("d1", machine(number)); }},
      {"update_kinds",
       [machine](DrawStore& store, int number) { return store.update_kinds("d1", machine(number)); }},
      {"replace_stops",
       [](DrawStore& store, int number) {
         return store.replace_stops(std::vector<Stop>{{.reason = std::to_string(number), .by_hand = true}},
                                    number, "by ann");
       }},
      {"keep_experiment",
       [](DrawStore& store, int number) {
         return store.keep_experiment(experiment_called("e" + std::to_string(number % 8)));
       }},
      {"forget_machines", [](DrawStore& store, int /*number*/) { return store.forget_machines(0); }},
      {"seed", [](DrawStore& store, int /*number*/) { return without_value(store.seed()); }},
  };
}

class DrawWriters : public ::testing::Test {
 protected:
  DrawStore open_for(const DrawWriter& who) { return *DrawStore::open_for(path_, who); }

  // All that stands in the file, but who writes it.
  std::string content() {
    auto database = *sqlite::Database::open(path_, sqlite::OpenMode::kRead);
    std::string text;
    for (const char* query :
         {"SELECT id, made_ns FROM draw ORDER BY 1", "SELECT draw, detail FROM drawn_machine ORDER BY 1",
          "SELECT machine_id, kind FROM drawn_kind", "SELECT reason, since_ns FROM stop",
          "SELECT what, at_ns FROM stop_log", "SELECT name, owner FROM experiment ORDER BY 1",
          "SELECT value, '' FROM seed"}) {
      EXPECT_TRUE(sqlite::for_each_row(database.query(query), [&](const sqlite::Statement& row) {
        text += fmt::format("{} {}\n", row.text(0), row.text(1));
      }));
    }
    return text;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "draws.db";
};

TEST_F(DrawWriters, NothingIsWrittenOnceThereIsANewerOne) {
  constexpr int64_t kSinceNs = 1'795'600'800'123'000'000;  // 2026-11-25T10:00:00.123Z
  DrawStore old = open_for(writer(1));
  ASSERT_TRUE(old.add(draw_of_one("d1", 1000)));
  int number = 1;
  for (const auto& [name, change] : changes()) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(change(old, ++number));
  }
  ASSERT_TRUE(old.expect_newest_writer());
  DrawStore newest = open_for(writer(4711, "db2", kSinceNs));
  const std::string before = content();
  for (const auto& [name, change] : changes()) {
    SCOPED_TRACE(name);
    const Status refused = change(old, ++number);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_THAT(refused.error().text(),
                AllOf(HasSubstr("another server has taken over"), HasSubstr(path_),
                      HasSubstr("since 2026-11-25T10:00:00Z"), HasSubstr("(process 4711 on db2)")));
  }
  EXPECT_EQ(content(), before);
  ASSERT_TRUE(newest.keep_experiment(experiment_called("e0")));
  EXPECT_EQ(old.withdraw_experiment("e0").error().code, ErrorCode::kConflict);
  EXPECT_EQ(old.expect_newest_writer().error().code, ErrorCode::kConflict);
  EXPECT_TRUE(*old.draw("d1")) << "it may read";
  for (const auto& [name, change] : changes()) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(change(newest, ++number));
  }
}

TEST_F(DrawWriters, AllConnectionsOfOneServerWrite) {
  DrawStore drawer = open_for(writer(1));
  DrawStore breaker = open_for(writer(1));
  EXPECT_TRUE(drawer.add(draw_of_one("d1", 1000)));
  EXPECT_TRUE(breaker.replace_stops({}, 1, "ann resumed everything"));
  EXPECT_TRUE(drawer.add(draw_of_one("d2", 1000)));
}

TEST_F(DrawWriters, AnOldServerThatOpensTheFileAgainDoesNotTakeItBack) {
  open_for(writer(1));
  DrawStore newest = open_for(writer(2));
  EXPECT_FALSE(open_for(writer(1)).add(draw_of_one("d1", 1000)));
  EXPECT_TRUE(newest.add(draw_of_one("d1", 1000)));
}

TEST_F(DrawWriters, AFileOfAnOlderVersionHasNone) {
  ASSERT_TRUE(open_for(writer(1)).add(draw_of_one("d1", 1000)));
  ASSERT_TRUE(sqlite::Database::open(path_, sqlite::OpenMode::kReadWrite)->run("DROP TABLE writer"));
  DrawStore reader = *DrawStore::open(path_, sqlite::OpenMode::kRead);
  EXPECT_TRUE(reader.expect_newest_writer());
  EXPECT_EQ(*reader.count(), 1);
  EXPECT_TRUE(*reader.draw("d1"));
  EXPECT_TRUE(open_for(writer(2)).add(draw_of_one("d2", 1000)));
}

TEST_F(DrawWriters, AThousandAreRemembered) {
  open_for(writer(1));
  auto database = *sqlite::Database::open(path_, sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(
      database.run("INSERT INTO writer VALUES (4000, 2, 2, '', 0), (4001, 3, 3, '', 0), "
                   "(4999, 4, 4, '', 0)"));
  open_for(writer(5));
  std::vector<int64_t> numbers;
  ASSERT_TRUE(sqlite::for_each_row(database.query("SELECT number FROM writer ORDER BY number"),
                                   [&](const sqlite::Statement& row) { numbers.push_back(row.integer(0)); }));
  EXPECT_THAT(numbers, ElementsAre(4001, 4999, 5000));
}

// A server as it runs somewhere: its clock is wrong by hours, and it may be paused at any moment, and go on later.
struct SimulatedWriter {
  DrawWriter who;  // id 0: it does not run
  std::vector<DrawStore> connections = {};
  int64_t clock_ns = 0;
  bool is_paused = false;

  void end() {
    connections.clear();
    who = {};
    is_paused = false;
  }
};

TEST_F(DrawWriters, OfManyThatTakeOverFromEachOtherOnlyTheNewestEverWrites) {
  constexpr int kServers = 5;
  constexpr int kSteps = 2000;
  std::mt19937_64 random(20261201);
  const auto one_in = [&](uint64_t n) { return random() % n == 0; };
  const auto kinds = changes();
  std::vector<SimulatedWriter> servers(kServers);
  uint64_t newest = 0;
  uint64_t next_id = 1;
  std::set<std::string> added{"d1"};
  ASSERT_TRUE(DrawStore::open(path_, sqlite::OpenMode::kReadWrite)->add(draw_of_one("d1", 1000)));
  int refused_changes = 0;
  int kept_changes = 0;
  for (int step = 2; step < kSteps + 2; ++step) {
    SCOPED_TRACE(step);
    SimulatedWriter& server = servers[random() % kServers];
    if (server.who.id == 0 || one_in(40)) {
      // It starts, or starts again, since it believes that nobody holds the lock.
      server.end();
      server.clock_ns = static_cast<int64_t>(random() % 48) * kNsPerHour;
      server.who = writer(next_id++, "host" + std::to_string(&server - servers.data()), server.clock_ns);
      server.connections.push_back(open_for(server.who));
      newest = server.who.id;
    } else if (one_in(4)) {
      server.is_paused = !server.is_paused;
    } else if (server.is_paused) {
      continue;
    } else if (server.connections.size() < 4 && one_in(4)) {
      server.connections.push_back(open_for(server.who));
    } else {
      const auto& [name, change] = kinds[one_in(2) ? 0 : random() % kinds.size()];
      SCOPED_TRACE(name);
      DrawStore& store = server.connections[random() % server.connections.size()];
      const std::string before = server.who.id == newest ? std::string() : content();
      const Status changed = change(store, step);
      ASSERT_EQ(changed.has_value(), server.who.id == newest)
          << (changed ? "an old server wrote" : changed.error().text());
      if (changed) {
        ++kept_changes;
        if (name == "add") {
          added.insert("d" + std::to_string(step));
        }
      } else {
        ++refused_changes;
        ASSERT_EQ(changed.error().code, ErrorCode::kConflict);
        ASSERT_EQ(content(), before);
        // Most end then. One that does not notice changes nothing either.
        if (one_in(2)) {
          server.end();
        }
      }
    }
  }
  std::set<std::string> found;
  const auto draws = DrawStore::open(path_, sqlite::OpenMode::kRead)->newest(kSteps);
  ASSERT_TRUE(draws) << draws.error().text();
  for (const DrawWithMachines& draw : *draws) {
    found.insert(draw.draw.id);
  }
  EXPECT_EQ(found, added);
  EXPECT_GT(refused_changes, kSteps / 20);
  EXPECT_GT(kept_changes, kSteps / 20);
}

class WritersOfADirectory : public ::testing::Test {
 protected:
  // As a file system does that loses locks.
  void lose_lock() const { std::filesystem::remove(data_dir_ + "/lock"); }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string data_dir_ = folder_ / "data";
};

TEST_F(WritersOfADirectory, AreNumberedByTheirOpenings) {
  const auto first = DataDirectory::open_for_writing(data_dir_);
  ASSERT_TRUE(first) << first.error().text();
  DrawStore drawer = *first->open_draws();
  DrawStore breaker = *first->open_draws();
  EXPECT_TRUE(drawer.add(draw_of_one("d1", 1000)));
  EXPECT_TRUE(breaker.replace_stops({}, 1, "ann resumed everything"));
  lose_lock();
  const auto second = DataDirectory::open_for_writing(data_dir_);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_TRUE(drawer.add(draw_of_one("d2", 1000))) << "the second has not begun to draw";
  DrawStore drawer_of_second = *second->open_draws();
  EXPECT_EQ(drawer.add(draw_of_one("d3", 1000)).error().code, ErrorCode::kConflict);
  EXPECT_EQ(breaker.replace_stops({}, 1, "").error().code, ErrorCode::kConflict);
  EXPECT_EQ(first->open_draws()->add(draw_of_one("d3", 1000)).error().code, ErrorCode::kConflict);
  EXPECT_TRUE(drawer_of_second.add(draw_of_one("d3", 1000)));
}

TEST_F(WritersOfADirectory, ALockedDirectorySaysByWhom) {
  EXPECT_NE(DataDirectory::expect_unlocked(data_dir_).error().code, ErrorCode::kConflict) << "there is none";
  EXPECT_FALSE(std::filesystem::exists(data_dir_));
  {
    const auto directory = DataDirectory::open_for_writing(data_dir_);
    const Status locked = DataDirectory::expect_unlocked(data_dir_);
    ASSERT_FALSE(locked);
    EXPECT_EQ(locked.error().code, ErrorCode::kConflict);
    EXPECT_EQ(locked.error().message,
              fmt::format("{} is being written by process {}", data_dir_, ::getpid()));
  }
  EXPECT_TRUE(DataDirectory::expect_unlocked(data_dir_));
}

}  // namespace
}  // namespace plimsoll::store::draw_writers_test
