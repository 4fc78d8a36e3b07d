// How many events of a burst are searched in a second, beside SQLite that is asked the same.
#include "traces/bursts/search/search.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bench/bursts/made_burst.h"
#include "bench/bursts/parts.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "sqlite/database.h"

namespace plimsoll::bench {
namespace {

constexpr size_t kEvents = 2'000'000;
constexpr size_t kQuickEvents = 200'000;

traces::SearchScene scene_of(const traces::BurstRecording& recording, const traces::SearchQuery& query) {
  return traces::make_scene({{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}},
                            nullptr, query.kinds);
}

// Tables as a reader of traces would make them, with the index that the question needs.
Status load(sqlite::Database& database, const traces::SearchScene& scene,
            const traces::BurstRecording& recording) {
  auto done = database.run(
      "BEGIN; CREATE TABLE requests (id INTEGER, begin INTEGER, finish INTEGER, is_whole INTEGER);"
      "CREATE TABLE blocked (request INTEGER, begin INTEGER, finish INTEGER, thread INTEGER)");
  for (const traces::SearchItem& item : scene.of(traces::ItemKind::kRequest)) {
    if (done) {
      done =
          database.execute("INSERT INTO requests VALUES (?, ?, ?, ?)", static_cast<int64_t>(item.request),
                           item.begin_ns, item.end_ns, int64_t{scene.requests[item.detail].is_whole ? 1 : 0});
    }
  }
  for (const traces::SearchItem& item : scene.of(traces::ItemKind::kBlocked)) {
    if (done) {
      done = database.execute("INSERT INTO blocked VALUES (?, ?, ?, ?)", static_cast<int64_t>(item.request),
                              item.begin_ns, item.end_ns, int64_t{recording.threads[item.thread].tid});
    }
  }
  return done ? database.run("CREATE INDEX by_request ON blocked (request, begin); COMMIT") : done;
}

Result<int64_t> ask(sqlite::Database& database) {
  return database.integer(
      "SELECT count(*) FROM (SELECT r.rowid FROM requests r JOIN blocked b ON b.request = r.id AND b.begin "
      ">= r.begin "
      "AND b.finish <= r.finish WHERE r.is_whole = 1 AND r.finish - r.begin > 200000 AND b.finish - b.begin "
      "> 20000 "
      "AND b.thread > 100 GROUP BY r.rowid HAVING count(*) >= 5)",
      0);
}

double per_second(size_t events, int64_t ns) {
  return static_cast<double>(events) * 1e9 / static_cast<double>(ns > 0 ? ns : 1);
}

}  // namespace

Status measure_search(const Flags& flags, Report& report) {
  const traces::BurstRecording recording = made_burst(flags.quick ? kQuickEvents : kEvents);
  const size_t events = recording.bursts.front().events.size();
  const auto query = traces::parse_search(kMadeBurstSearch);
  if (!query) {
    return propagate(query);
  }
  constexpr int kSearchRounds = 3;
  std::vector<double> whole;
  std::vector<double> alone;
  traces::SceneAnswers answers;
  for (int round = 0; round < kSearchRounds; ++round) {
    const int64_t start_ns = thread_cpu_ns();
    const traces::SearchScene scene = scene_of(recording, *query);
    const int64_t made_ns = thread_cpu_ns();
    answers = traces::search_scene(scene, *query);
    const int64_t end_ns = thread_cpu_ns();
    whole.push_back(per_second(events, end_ns - start_ns));
    alone.push_back(per_second(events, end_ns - made_ns));
  }
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  auto database = sqlite::Database::open(*folder / "burst.db", sqlite::OpenMode::kReadWrite);
  if (!database) {
    return propagate(database);
  }
  const traces::SearchScene scene = scene_of(recording, *query);
  const int64_t load_ns = thread_cpu_ns();
  if (auto loaded = load(*database, scene, recording); !loaded) {
    return loaded;
  }
  const int64_t ask_ns = thread_cpu_ns();
  const auto found = ask(*database);
  const int64_t end_ns = thread_cpu_ns();
  if (!found) {
    return propagate(found);
  }
  if (static_cast<uint64_t>(*found) != answers.found || answers.is_cut) {
    return fail(ErrorCode::kConflict, "the search found {} requests, SQLite {}", answers.found, *found);
  }
  constexpr double kGoal = 3e6;
  report.add(
      {.name = "bursts-searched-events-per-second",
       .value = median(whole),
       .unit = "events/s",
       .better = Better::kHigher,
       .peer = "SQLite, loaded and asked",
       .peer_value = per_second(events, end_ns - load_ns),
       .goal = kGoal,
       .note = fmt::format("{} requests found; SQLite gets intervals that are made already", answers.found)});
  report.add({.name = "bursts-search-alone-events-per-second",
              .value = median(alone),
              .unit = "events/s",
              .better = Better::kHigher,
              .peer = "SQLite, asked",
              .peer_value = per_second(events, end_ns - ask_ns)});
  return {};
}

}  // namespace plimsoll::bench
