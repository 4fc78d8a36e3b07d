// Events of application profiles: in every view under their names, in their units; and those that were renamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "proto/event_names.h"
#include "query/snapshot/event_pair.h"
#include "sqlite/database.h"
#include "tests/unit/query/registry/fleet_sources.h"

namespace plimsoll::query::application_events_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<plimsoll::testing::EventSpec> kEvents{
    {.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT},
    {.name = "heap-inuse-objects", .unit = wire::COUNT, .kind = wire::SNAPSHOT},
    {.name = "alloc-bytes", .unit = wire::BYTES},
    {.name = "alloc-objects", .unit = wire::COUNT},
    {.name = "lock-wait-ns", .unit = wire::NANOSECONDS},
    {.name = "lock-contentions", .unit = wire::COUNT},
    {.name = "app-cpu-ns", .unit = wire::NANOSECONDS},
    {.name = "wall-ns", .unit = wire::NANOSECONDS}};

// 8 KiB or 8192 ns in main;serve, and 2 of what is counted.
void add_all_events(Fleet& fleet) {
  std::string stacks;
  for (const auto& event : kEvents) {
    stacks += "event=" + event.name + (event.unit == wire::COUNT ? " main;serve 2\n" : " main;serve 8192\n");
  }
  for (const std::string machine : {"m1", "m2"}) {
    fleet.add({.seed = machine == "m1" ? 1U : 2U,
               .machine = machine,
               .events = kEvents,
               .job = "search",
               .stacks = stacks});
  }
}

Result<Table> ask(const std::string& view, const Fleet& fleet, const Parameters& parameters) {
  FleetSources sources(fleet.path());
  auto answer = find_view(view)->answer({.parameters = parameters, .now_ns = kProfileStartNs}, sources);
  return answer ? Result<Table>(std::get<Table>(*std::move(answer))) : propagate(answer);
}

std::set<std::string> units_of(const Table& table) {
  std::set<std::string> units;
  for (const TableColumn& column : table.columns) {
    units.insert(column.unit);
  }
  return units;
}

TEST(ApplicationEvents, EveryViewHasThemInTheirUnits) {
  Fleet fleet;
  add_all_events(fleet);
  const std::map<std::string, Parameters> views{
      {"top", {}},
      {"callers", {{"function", "serve"}}},
      {"callees", {{"function", "main"}}},
      {"shared", {{"max_share", "100%"}}},
      {"series", {{"measure", "rate"}}},
      {"diff", {{"measure", "rate"}, {"base_where", "machine=m1"}, {"new_where", "machine=m2"}}},
  };
  for (const auto& event : kEvents) {
    const std::string unit = event.unit == wire::BYTES         ? "bytes"
                             : event.unit == wire::NANOSECONDS ? "ns"
                                                               : "count";
    for (const auto& [view, needed] : views) {
      SCOPED_TRACE(view + " of " + event.name);
      Parameters parameters = needed;
      parameters.emplace_back("event", event.name);
      const auto table = ask(view, fleet, parameters);
      ASSERT_TRUE(table) << table.error().text();
      EXPECT_EQ(table->event, event.name);
      EXPECT_EQ(table->rows.empty(), view == "shared") << "one job shares nothing";
      // What is in use does not come at a rate.
      const bool is_rate = (view == "series" || view == "diff") && event.kind != wire::SNAPSHOT;
      EXPECT_THAT(units_of(*table), Contains(::testing::StartsWith(is_rate ? unit + "/" : unit)));
    }
  }
}

TEST(ApplicationEvents, RatiosAreInTheUnitOfWhatIsCounted) {
  Fleet fleet;
  add_all_events(fleet);
  for (const auto& [name, unit, shown] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"bytes-per-object", "bytes", "4 KiB"},
           {"bytes-per-allocation", "bytes", "4 KiB"},
           {"wait-per-contention", "ns", "4.096 us"},
           {"app-cpu-ns/wall-ns", "", "1"}}) {
    SCOPED_TRACE(name);
    const auto table = ask("top", fleet, {{"ratio", name}});
    ASSERT_TRUE(table) << table.error().text();
    const TableColumn& ratio = table->columns[column_of(*table, "ratio")];
    EXPECT_EQ(ratio.unit, unit.empty() ? "app-cpu-ns/wall-ns" : unit);
    EXPECT_THAT(to_text(*table), HasSubstr(shown));
  }
  const auto compared =
      ask("compare", fleet,
          {{"ratio", "wait-per-contention"}, {"base_where", "machine=m1"}, {"new_where", "machine=m2"}});
  ASSERT_TRUE(compared) << compared.error().text();
  EXPECT_EQ(compared->columns[column_of(*compared, "base_ratio")].unit, "ns");
  const auto beside =
      ask("top", fleet, {{"event", "heap-inuse-objects"}, {"compare_event", "heap-inuse-bytes"}});
  ASSERT_TRUE(beside) << beside.error().text();
  EXPECT_EQ(beside->columns[column_of(*beside, "heap-inuse-bytes/heap-inuse-objects")].unit, "bytes");
}

TEST(ApplicationEvents, ADaemonOfBeforeSendsThemUnderTheirOldNames) {
  Fleet fleet;
  fleet.add({.events = {{.name = "heap-alloc-bytes", .unit = wire::BYTES},
                        {.name = "heap-alloc-objects"},
                        {.name = "cpu", .unit = wire::NANOSECONDS},
                        {.name = "wall", .unit = wire::NANOSECONDS}},
             .stacks = "main;serve 10\nevent=heap-alloc-objects main;serve 2\n"
                       "event=cpu main;serve 3\nevent=wall main;serve 4\n"});
  EXPECT_EQ(brief(fleet.top({{"event", "alloc-bytes"}})), "serve 10 10\nmain 0 10\n");
  EXPECT_EQ(brief(fleet.top({{"event", "alloc-objects"}})), "serve 2 2\nmain 0 2\n");
  EXPECT_EQ(brief(fleet.top({{"event", "app-cpu-ns"}})), "serve 3 3\nmain 0 3\n");
  EXPECT_EQ(brief(fleet.top({{"event", "wall-ns"}})), "serve 4 4\nmain 0 4\n");
  const auto by_old_name = fleet.top({{"event", "heap-alloc-bytes"}});
  EXPECT_EQ(brief(by_old_name), "serve 10 10\nmain 0 10\n");
  EXPECT_EQ(by_old_name->event, "alloc-bytes");
  EXPECT_THAT(by_old_name->notes, Contains(HasSubstr("heap-alloc-bytes is called alloc-bytes")));
}

// Rows of a version before: of an event that the block calls so afterwards, which ingest would call by its current name.
void add_of_before(Fleet& fleet, const std::string& former) {
  fleet.add({.seed = 1,
             .machine = "m1",
             .events = {{.name = "of-before", .scale = 2, .unit = wire::NANOSECONDS}},
             .stacks = "main 5\n"});
  const auto renamed =
      fleet.ingest().write_catalogue(fleet.ingest().blocks()->back(), [&](sqlite::Database& catalogue) {
        return catalogue.execute("UPDATE event SET name = ? WHERE name = 'of-before'",
                                 std::string_view(former));
      });
  ASSERT_TRUE(renamed) << renamed.error().text();
}

TEST(ApplicationEvents, RowsOfBeforeCountWithThoseOfAfter) {
  Fleet fleet;
  add_of_before(fleet, "cpu");
  EXPECT_EQ(brief(fleet.top({{"event", "app-cpu-ns"}})), "main 10 10\n") << "of one name";
  fleet.add({.seed = 2,
             .machine = "m2",
             .events = {{.name = "app-cpu-ns", .scale = 3, .unit = wire::NANOSECONDS}},
             .stacks = "main 7\n"});
  const auto both = fleet.top({{"event", "app-cpu-ns"}});
  EXPECT_EQ(brief(both), "main 31 31\n");
  EXPECT_THAT(both->notes, Not(Contains(HasSubstr("called"))));
  const auto by_former_name = fleet.top({{"event", "cpu"}});
  EXPECT_EQ(brief(by_former_name), "main 31 31\n");
  EXPECT_THAT(by_former_name->notes, Contains(HasSubstr("cpu is called app-cpu-ns")));
  EXPECT_EQ(brief(fleet.top({{"event", "app-cpu-ns"}, {"where", "machine=m1"}})), "main 10 10\n");
}

// Blocks know the events of those before.
TEST(ApplicationEvents, ABlockMayKnowAFormerNameWithoutRows) {
  Fleet fleet;
  fleet.add({.seed = 1, .events = {{.name = "wall-ns", .unit = wire::NANOSECONDS}}, .stacks = "main 5\n"});
  const auto added =
      fleet.ingest().write_catalogue(fleet.ingest().blocks()->back(), [](sqlite::Database& catalogue) {
        return catalogue.execute("INSERT INTO event SELECT max(id) + 1, 'wall', unit, kind FROM event");
      });
  ASSERT_TRUE(added) << added.error().text();
  const auto by_former_name = fleet.top({{"event", "wall"}});
  EXPECT_EQ(brief(by_former_name), "main 5 5\n");
  EXPECT_THAT(by_former_name->notes, Contains(HasSubstr("wall is called wall-ns")));
  const auto by_name = fleet.top({{"event", "wall-ns"}});
  EXPECT_EQ(brief(by_name), "main 5 5\n");
  EXPECT_THAT(by_name->notes, Not(Contains(HasSubstr("called"))));
}

TEST(ApplicationEvents, AnEventInAnotherUnitIsAnother) {
  Fleet fleet;
  fleet.add({.seed = 1, .events = {{.name = "cpu"}}, .stacks = "main 5\n"});
  EXPECT_THAT(brief(fleet.top({{"event", "app-cpu-ns"}})), HasSubstr("no samples of event"));
  fleet.add({.seed = 2, .events = {{.name = "app-cpu-ns", .unit = wire::NANOSECONDS}}, .stacks = "main 7\n"});
  const auto own = fleet.top({{"event", "cpu"}});
  EXPECT_EQ(brief(own), "main 5 5\n");
  EXPECT_THAT(own->notes, Not(Contains(HasSubstr("called"))));
  EXPECT_EQ(brief(fleet.top({{"event", "app-cpu-ns"}})), "main 7 7\n");
}

TEST(ApplicationEvents, AProfileMayHaveBothNames) {
  Fleet fleet;
  fleet.add({.events = {{.name = "wall", .unit = wire::NANOSECONDS},
                        {.name = "wall-ns", .unit = wire::NANOSECONDS}},
             .stacks = "main 1\nevent=wall-ns main 2\n"});
  EXPECT_EQ(brief(fleet.top({{"event", "own-wall"}})), "main 1 1\n");
  EXPECT_EQ(brief(fleet.top({{"event", "wall-ns"}})), "main 2 2\n");
}

TEST(ApplicationEvents, AProfileMayHaveTheNameThatIsGivenInstead) {
  Fleet fleet;
  fleet.add({.events = {{.name = "wall", .unit = wire::NANOSECONDS},
                        {.name = "wall-ns", .unit = wire::NANOSECONDS},
                        {.name = "own-wall", .unit = wire::NANOSECONDS}},
             .stacks = "main 1\nevent=wall-ns main 2\nevent=own-wall main 4\n"});
  EXPECT_EQ(brief(fleet.top({{"event", "own-own-wall"}})), "main 1 1\n");
  EXPECT_EQ(brief(fleet.top({{"event", "wall-ns"}})), "main 2 2\n");
  EXPECT_EQ(brief(fleet.top({{"event", "own-wall"}})), "main 4 4\n");
}

TEST(ApplicationEvents, SquaresFollowTheirEvent) {
  EXPECT_EQ(wire::current_event_name("heap-alloc-bytes^2", wire::BYTES), "alloc-bytes^2");
  EXPECT_EQ(wire::current_event_name("wall^2", wire::COUNT), "wall^2");
  EXPECT_EQ(wire::current_event_name("cycles", wire::COUNT), "cycles");
}

}  // namespace
}  // namespace plimsoll::query::application_events_test
