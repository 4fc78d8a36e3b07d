// The registry of views against what views really take and give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "query/registry/openapi.h"
#include "query/registry/reference.h"
#include "query/registry/registry_document.h"
#include "query/registry/view.h"
#include "query/snapshot/dimension.h"
#include "store/store.h"
#include "tests/places.h"
#include "tests/traces/span_fixture.h"
#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/query/registry/fleet_sources.h"

namespace plimsoll::query::registry_test {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

// Later than the fixture's profiles.
constexpr int64_t kNowNs = 1'700'000'100'000'000'000;

// Two revisions of two jobs on four machines of two platforms, at two times, with two events.
class Registry : public ::testing::Test {
 protected:
  Registry() {
    uint64_t seed = 1;
    for (const int64_t time_s : {0, 20}) {
      for (const char* machine : {"m1", "m2", "m3", "m4"}) {
        wire::RawProfile profile =
            testing::make_profile({.seed = seed++,
                                   .machine = machine,
                                   .from_ns = kProfileStartNs + time_s * 1'000'000'000,
                                   .events = {{.name = "cycles"}, {.name = "instructions"}},
                                   .stacks = "process=a main;parse;copy 40\n"
                                             "process=a main;parse 20\n"
                                             "process=b main;copy 30\n"
                                             "process=a event=instructions main;parse 50\n"
                                             "process=b event=instructions main;copy 20\n"});
        wire::Binary binary;
        binary.set_identity_kind(wire::GNU_BUILD_ID);
        binary.set_identity("\x4f\x5a");
        binary.set_path("/srv/search");
        testing::add_sample(profile, binary, wire::ELF, 0x1136, 1);
        fleet_.add(profile);
      }
    }
    // For the view of snapshots.
    fleet_.add({.seed = seed,
                .events = {{.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT}},
                .stacks = "process=a main;parse 30\n"});
    add_request();
  }

  // For the views of request traces: within the hour before kNowNs.
  void add_request() {
    const auto spans = store::open_span_sink(fleet_.ingest().directory());
    ASSERT_TRUE(spans) << spans.error().text();
    std::vector<testing::PlainSpan> requests{{.start_ns = kNowNs - 5000, .end_ns = kNowNs - 1000}};
    // As many of two versions as are compared.
    for (uint64_t i = 2; i < 42; ++i) {
      const int64_t start_ns = kNowNs - 1'000'000 + static_cast<int64_t>(i) * 1000;
      requests.push_back({.trace = {.high = 0, .low = i},
                          .start_ns = start_ns,
                          .end_ns = start_ns + 500,
                          .machine = "m" + std::to_string(i % 4),
                          .version = i < 22 ? "v1" : "v2"});
    }
    ASSERT_TRUE((*spans)->add(testing::span_set_of(requests), 1));
  }

  Result<Answer> ask(const View& view, Parameters parameters) {
    if (view.name.starts_with("calle") && parameters.empty()) {
      parameters = {{"function", "parse"}};
    }
    FleetSources sources(fleet_.path());
    return view.answer({.parameters = std::move(parameters), .now_ns = kNowNs}, sources);
  }

  Fleet fleet_;
};

std::vector<std::string> names_of(const std::vector<ParameterSpec>& specs) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : specs) {
    names.push_back(spec.name);
  }
  return names;
}

// "the parameters are a, b"
std::vector<std::string> listed_in(const std::string& hint) {
  const std::string before = "the parameters are ";
  EXPECT_TRUE(hint.starts_with(before)) << hint;
  std::vector<std::string> names;
  std::string rest = hint.substr(std::min(before.size(), hint.size()));
  while (!rest.empty()) {
    const size_t comma = rest.find(", ");
    names.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 2);
  }
  return names;
}

TEST_F(Registry, DescribesTheParametersThatEachViewTakes) {
  for (const View& view : views()) {
    if (view.answer) {
      const auto refused = ask(view, {{"0123456789", "x"}});
      ASSERT_FALSE(refused) << view.name;
      EXPECT_THAT(listed_in(refused.error().hint), UnorderedElementsAreArray(names_of(view.parameters)))
          << view.name;
    }
  }
}

// What is asked of a view to see all its columns.
std::vector<Parameters> questions_to(const View& view) {
  static const std::map<std::string, std::vector<Parameters>> kQuestions{
      {"top", {{}, {{"ratio", "ipc"}}, {{"compare_event", "instructions"}, {"event", "cycles"}}}},
      {"diff",
       {{{"base_where", "machine in m1,m2"}, {"new_where", "machine in m3,m4"}},
        {{"base_where", "machine in m1,m2"}, {"new_where", "machine in m3,m4"}, {"measure", "rate"}}}},
      {"compare", {{{"base_where", "machine in m1,m2"}, {"new_where", "machine in m3,m4"}}}},
      {"series", {{}, {{"measure", "rate"}}}},
      {"shared", {{{"max_share", "100%"}}, {{"max_share", "100%"}, {"part", "total"}}}},
      {"machines", {{}, {{"by", "instance"}}}},
      {"placement", {{}, {{"by", "platform"}}, {{"by", "move"}}, {{"by", "summary"}}}},
      {"experiment/plan", {{{"control", "machine in m1,m2"}}}},
      {"experiment/curve", {{{"control", "machine in m1,m2"}}}},
      {"experiment/progress", {{{"control", "machine in m1,m2"}, {"test", "machine in m3,m4"}}}},
      {"experiment/result",
       {{{"control", "machine in m1,m2"}, {"test", "machine in m3,m4"}, {"until", "2023-11-14T22:14:30Z"}}}},
      {"status", {{}, {{"by", "work"}}, {{"by", "question"}}, {{"by", "overhead"}}, {{"by", "symbolizer"}}}},
      {"store", {{}, {{"by", "limit"}}}},
      {"fdo-counts", {{{"build_id", "4f5a"}}}},
      {"diagnosis", {{}, {{"by", "category"}, {"every", "1h"}}}},
      {"trace", {{{"id", "1"}}}},
      {"findings", {{}, {{"by", "category"}}}},
  };
  const auto questions = kQuestions.find(view.name);
  return questions == kQuestions.end() ? std::vector<Parameters>{{}} : questions->second;
}

// Whether `column` is one of those that `spec` stands for.
bool matches(const ColumnSpec& spec, const std::string& column) {
  if (spec.name == "{dimension}") {
    return std::ranges::find(dimensions(), column, &Dimension::name) != dimensions().end();
  }
  std::string pattern = spec.name;
  for (const char* event : {"cycles", "instructions"}) {
    const size_t place = pattern.find("{event}");
    if (place == std::string::npos) {
      return pattern == column;
    }
    std::string filled = spec.name;
    for (size_t at = filled.find("{event}"); at != std::string::npos; at = filled.find("{event}")) {
      // Of a ratio "OTHER/FIRST".
      const bool is_first =
          filled.find("{event}", at + 1) == std::string::npos && spec.name.find('/') != std::string::npos;
      filled.replace(at, 7, is_first ? "cycles" : event);
    }
    if (filled == column) {
      return true;
    }
  }
  return false;
}

TEST_F(Registry, DescribesTheColumnsOfEachTable) {
  for (const View& view : views()) {
    if (!view.answer || view.answer_kind != AnswerKind::kTable) {
      continue;
    }
    std::set<std::string> seen;
    for (const Parameters& question : questions_to(view)) {
      const auto answer = ask(view, question);
      ASSERT_TRUE(answer) << view.name << ": " << answer.error().text();
      for (const TableColumn& column : std::get<Table>(*answer).columns) {
        const auto spec = std::ranges::find_if(
            view.columns, [&](const ColumnSpec& known) { return matches(known, column.name); });
        EXPECT_NE(spec, view.columns.end()) << view.name << " has no description of " << column.name;
        if (spec != view.columns.end() && !spec->unit.starts_with('{')) {
          EXPECT_EQ(spec->unit, column.unit) << view.name << ": " << column.name;
        }
        seen.insert(spec == view.columns.end() ? "" : spec->name);
      }
    }
    for (const ColumnSpec& spec : view.columns) {
      // Those of one draw are compared by DrawsViewTest.
      const bool is_of_one_draw = spec.meaning.starts_with("With DRAW");
      EXPECT_TRUE(seen.contains(spec.name) || is_of_one_draw) << view.name << " has no column " << spec.name;
    }
  }
}

TEST_F(Registry, DefaultsAreWhatViewsDoByThemselves) {
  for (const View& view : views()) {
    // The store says how much of the disk is free, which others use meanwhile.
    if (!view.answer || view.answer_kind == AnswerKind::kSql || view.name == "store") {
      continue;
    }
    Parameters plain = questions_to(view).front();
    if (view.name.starts_with("calle")) {
      plain = {{"function", "parse"}};
    }
    Parameters spelled = plain;
    for (const ParameterSpec& spec : view.parameters) {
      const bool is_given =
          std::ranges::any_of(plain, [&](const auto& parameter) { return parameter.first == spec.name; });
      if (!spec.default_value.empty() && !is_given && view.name != "draws") {
        spelled.emplace_back(spec.name, spec.default_value);
      }
    }
    const auto by_itself = ask(view, plain);
    const auto with_defaults = ask(view, spelled);
    ASSERT_TRUE(by_itself) << view.name << ": " << by_itself.error().text();
    ASSERT_TRUE(with_defaults) << view.name << ": " << with_defaults.error().text();
    EXPECT_EQ(body_of(*by_itself), body_of(*with_defaults)) << view.name;
  }
}

TEST_F(Registry, AnswersComeBackFromTheirBodies) {
  for (const char* name : {"top", "flame", "export/pprof"}) {
    const View& view = *find_view(name);
    const auto answer = ask(view, {});
    ASSERT_TRUE(answer) << name;
    const auto back = answer_from(view, body_of(*answer));
    ASSERT_TRUE(back) << name << back.error().text();
    EXPECT_EQ(body_of(*back), body_of(*answer)) << name;
  }
}

TEST_F(Registry, AFlameComesBackFromItsColumns) {
  const View& view = *find_view("flame");
  const auto answer = ask(view, {{"form", "columns"}});
  ASSERT_TRUE(answer) << answer.error().text();
  const auto back = answer_from(view, body_of(*answer));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(body_of(*back), body_of(*answer));
}

// What a terminal of 110 columns shows of `view`.
std::string lines_at_110(const View& view, Answer answer) {
  auto& table = std::get<Table>(answer);
  prioritize(view, table);
  table.notes.clear();
  table.event.clear();
  return to_text(table, {.width = 110});
}

TEST_F(Registry, ANarrowDiffKeepsTheChangeAndWhetherItIsMoreThanChance) {
  const View& diff = *find_view("diff");
  const auto answer = ask(diff, questions_to(diff).front());
  ASSERT_TRUE(answer) << answer.error().text();
  // Four machines are too few for a probability.
  Table judged = std::get<Table>(*answer);
  // A long name takes the room of a column.
  std::erase_if(judged.rows, [&](const auto& row) {
    return row[column_of(judged, "function")] == Value("[no symbol in search]");
  });
  for (auto& row : judged.rows) {
    row[column_of(judged, "self_p")] = 0.01;
    row[column_of(judged, "total_p")] = 0.5;
  }
  const std::string text = lines_at_110(diff, judged);
  EXPECT_THAT(text, HasSubstr("self_share_change"));
  EXPECT_THAT(text, HasSubstr("self_p"));
  EXPECT_THAT(text, HasSubstr("self_verdict"));
  EXPECT_THAT(text, HasSubstr("total_share_change"));
  EXPECT_THAT(text, HasSubstr("hidden columns (terminal too narrow): base_self_share, new_self_share, "
                              "base_total_share, new_total_share; --csv and --json have all columns\n"));
}

TEST_F(Registry, AColumnThatAViewDoesNotDescribeKeepsItsPriority) {
  Table table{
      .event = "", .notes = {}, .columns = {{"job", ""}, {"no such column", ""}}, .rows = {}, .coverage = {}};
  prioritize(*find_view("machines"), table);
  EXPECT_EQ(table.columns[0].priority, kAlwaysShown);
  EXPECT_EQ(table.columns[1].priority, kUsualPriority);
}

TEST_F(Registry, TheRatioOfTwoEventsIsWhatStaysOfThem) {
  Table table{.event = "",
              .notes = {},
              .columns = {{"function", ""},
                          {"cycles", "count"},
                          {"cycles_share", "share"},
                          {"instructions/cycles", "instructions/cycles"}},
              .rows = {},
              .coverage = {}};
  prioritize(*find_view("top"), table);
  EXPECT_EQ(table.columns[0].priority, kAlwaysShown);
  EXPECT_EQ(table.columns[1].priority, kUsualPriority);
  EXPECT_EQ(table.columns[2].priority, kDetail);
  EXPECT_EQ(table.columns[3].priority, kAlwaysShown);
}

TEST(Parameters, HaveTheirFlagsAndPlaceholders) {
  EXPECT_EQ(flag_of({.name = "base_where"}), "--base-where");
  EXPECT_EQ(flag_of({.name = "margins", .kind = ValueKind::kFlag, .default_value = "yes"}), "--no-margins");
  EXPECT_EQ(flag_of({.name = "verify", .kind = ValueKind::kFlag, .default_value = "no"}), "--verify");
  EXPECT_EQ(flag_of({.name = "function", .is_positional = true}), "FUNCTION");
  EXPECT_EQ(placeholder_of({.name = "part", .kind = ValueKind::kChoice, .choices = {"self", "total"}}),
            "self|total");
  EXPECT_EQ(help_of({.name = "limit", .kind = ValueKind::kCount, .help = "Rows", .default_value = "20"}),
            "Rows (default: 20)");
}

TEST(Views, AreNamedOnce) {
  std::set<std::string> names;
  for (const View& view : views()) {
    EXPECT_TRUE(names.insert(view.name).second) << view.name;
    EXPECT_EQ(find_view(view.name), &view);
  }
  EXPECT_EQ(find_view("nothing"), nullptr);
}

TEST(Views, HaveADescriptionThatCanBeRead) {
  for (const View& view : views()) {
    EXPECT_FALSE(view.summary.empty()) << view.name;
    EXPECT_FALSE(view.summary.ends_with('.')) << view.name;
    EXPECT_EQ(view.examples.empty(), view.command.empty()) << view.name;
    for (const ParameterSpec& parameter : view.parameters) {
      EXPECT_FALSE(parameter.help.empty()) << view.name << " " << parameter.name;
    }
  }
}

TEST(Views, StandInTheDocs) {
  EXPECT_EQ(read_file(source_file("docs/views.md"), 1 << 20).value_or(""), view_reference())
      << "docs/views.md is out of date: plimsoll help views > docs/views.md";
}

TEST(RegistryDocument, HasWhatThePageNeedsOfEachView) {
  const auto document = nlohmann::json::parse(registry_document());
  ASSERT_EQ(document["views"].size(), views().size());
  for (size_t i = 0; i < views().size(); ++i) {
    const View& view = views()[i];
    const auto& described = document["views"][i];
    EXPECT_EQ(described["name"], view.name);
    EXPECT_EQ(described["is_question"], view.answer != nullptr);
    ASSERT_EQ(described["parameters"].size(), view.parameters.size()) << view.name;
    for (size_t at = 0; at < view.parameters.size(); ++at) {
      EXPECT_EQ(described["parameters"][at]["flag"], flag_of(view.parameters[at])) << view.name;
    }
    EXPECT_EQ(described["columns"].size(), view.columns.size()) << view.name;
  }
  EXPECT_EQ(document["views"][0]["parameters"][0]["kind"], "event");
  EXPECT_EQ(document["dimensions"].size(), dimensions().size());
}

TEST(OpenApi, HasAnOperationForEachViewAndOrder) {
  const auto document = nlohmann::json::parse(openapi_document());
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::set<std::string> operations;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      operations.insert(method + " " + path);
      EXPECT_TRUE(operation["responses"].contains("200")) << path;
    }
  }
  std::set<std::string> expected;
  for (const View& view : views()) {
    expected.insert((view.answer ? "get /api/v1/" : "post /api/v1/") + view.name);
    for (const OrderSpec& order : view.orders) {
      std::string method = order.method;
      std::ranges::transform(method, method.begin(), [](char c) { return static_cast<char>(c | 0x20); });
      expected.insert(fmt::format("{} /api/v1/{}", method, order.path));
    }
  }
  EXPECT_EQ(operations, expected);
  const auto& define = document["paths"]["/api/v1/experiments/{name}"]["put"];
  EXPECT_EQ(define["parameters"][0]["in"], "path");
  EXPECT_TRUE(define.contains("requestBody"));
  const auto& where = document["paths"]["/api/v1/top"]["get"]["parameters"][1];
  EXPECT_EQ(where["name"], "where");
  EXPECT_EQ(where["schema"]["type"], "array");
  EXPECT_THAT(document["paths"]["/api/v1/top"]["get"]["responses"]["200"]["content"]["application/json"]
                      ["schema"]["description"]
                          .get<std::string>(),
              HasSubstr("`self_share` [share]"));
}

}  // namespace
}  // namespace plimsoll::query::registry_test
