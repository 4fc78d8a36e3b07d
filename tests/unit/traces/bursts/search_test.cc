// Searches of bursts: stories, and what limits do.
#include "traces/bursts/search/search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/traces/bursts/written_burst.h"

namespace plimsoll::traces::search_test {
namespace {

Burst story(const std::string& text) {
  return written_burst(text, 0, 1'000'000);
}

BurstRecording recording_of(Burst burst) {
  BurstRecording recording;
  recording.machine = "a";
  recording.config_bits = 0x7F00;
  recording.threads = {{0, 0, "idle"}, {11, 11, "holder"}, {12, 12, "waiter"}, {13, 13, "disk"}};
  recording.bursts.push_back(std::move(burst));
  return recording;
}

// "KIND BEGIN-END" of each answer, and behind it its evidence.
std::string found(const BurstRecording& recording, const std::string& text, const SpanSet* set = nullptr) {
  const auto query = parse_search(text);
  if (!query) {
    return query.error().text();
  }
  std::optional<SearchSpans> spans;
  if (set != nullptr) {
    spans.emplace(*set);
  }
  const SearchScene scene =
      make_scene({{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}},
                 spans ? &*spans : nullptr, query->kinds);
  std::string lines;
  for (const SearchAnswer& answer : search_scene(scene, *query).answers) {
    const SearchItem& item = scene.of(query->set.kind)[answer.item];
    lines += fmt::format("{} {}-{}", name_of(query->set.kind), item.begin_ns, item.end_ns);
    for (const Evidence& one : answer.evidence) {
      const SearchItem& part = scene.of(one.clause->set.kind)[one.item];
      lines += fmt::format(", {} {} {}-{}", name_of(one.clause->relation), name_of(one.clause->set.kind),
                           part.begin_ns, part.end_ns);
    }
    lines += "\n";
  }
  return lines;
}

// Request 7 gets a lock and then waits for the disk; request 8 waits for the lock meanwhile.
const char* const kHolderWaits =
    "100 mark 1 1 7\n"
    "150 mark 1 5 77\n"
    "200 mark 2 1 8\n"
    "300 mark 2 4 77\n"
    "310 switch 2 S 0\n"
    "320 switch 1 S 0\n"
    "500 wake 3 1\n"
    "510 switch 0 Y 1\n"
    "600 wake 1 2\n"
    "610 switch 1 S 2\n"
    "620 mark 2 5 77\n"
    "700 mark 2 2 8\n";

TEST(Search, FindsALockThatIsHeldByARequestThatWaits) {
  const BurstRecording recording = recording_of(story(kHolderWaits));
  EXPECT_EQ(found(recording, "lock_wait{lock = 77}"), "lock_wait 300-620\n");
  EXPECT_EQ(found(recording, "lock_hold{lock = 77}"), "lock_hold 150-600\n");
  EXPECT_EQ(found(recording, "lock_hold{request = 7} overlapping own blocked{thread = outer.thread}"),
            "lock_hold 150-600, overlapping blocked 320-500\n");
  // While request 8 waited, another thread held the lock.
  EXPECT_EQ(found(recording,
                  "lock_wait{request = 8} overlapping lock_hold{lock = outer.lock, thread != outer.thread}"),
            "lock_wait 300-620, overlapping lock_hold 150-600\n");
  EXPECT_EQ(found(recording,
                  "lock_wait{request = 8} overlapping lock_hold{lock = outer.lock, thread = outer.thread}"),
            "");
  EXPECT_EQ(found(recording, "blocked{name = waiter, waker = 11}"), "blocked 310-600\n");
}

// Thread 1 reads and sends for request 7. Interrupts come upon thread 2. One read is not done within the burst.
TEST(Search, FindsWhatWaitsForADisk) {
  const BurstRecording recording =
      recording_of(story("100 mark 1 1 7\n"
                         "200 issue 1 4096 55\n"
                         "210 switch 1 S 2\n"
                         "250 done 2 512 54\n"
                         "400 done 2 4096 55\n"
                         "410 interrupt 2 1\n"
                         "420 switch 2 R 1\n"
                         "500 sent 1 1500\n"
                         "520 received 1 60\n"
                         "600 mark 1 2 7\n"
                         "700 issue 1 512 60\n"));
  EXPECT_EQ(found(recording, "disk"), "disk 200-400\n");
  EXPECT_EQ(found(recording, "disk{bytes = 4096, thread = 11, request = 7}"), "disk 200-400\n");
  EXPECT_EQ(found(recording, "disk{bytes < 4096}"), "");
  EXPECT_EQ(found(recording, "blocked{thread = 11} overlapping disk{thread = outer.thread}"),
            "blocked 210-410, overlapping disk 200-400\n");
  EXPECT_EQ(found(recording, "packet_sent{bytes >= 1500, request = 7}"), "packet_sent 500-500\n");
  EXPECT_EQ(found(recording, "packet_received"), "packet_received 520-520\n");
  EXPECT_EQ(found(recording, "packet_received{request = 7}"), "") << "a packet says of no request";
}

TEST(Search, FindsSamplesByFunctionAndStack) {
  BurstRecording recording =
      recording_of(story("100 mark 1 1 7\n"
                         "200 sample 1 2\n"
                         "300 sample 1 1\n"
                         "400 sample 1 0\n"
                         "500 mark 1 2 7\n"
                         "600 sample 1 2\n"));
  recording.stacks = {
      .binaries = {{"/bin/job", ""}},
      .frames = {{0x10, 0, BurstAddressKind::kElf, "main"}, {0x20, 0, BurstAddressKind::kElf, ""}},
      .nodes = {{0, 0}, {1, 1}}};
  EXPECT_EQ(found(recording, "sample{function = \"job+0x20\", request = 7}"), "sample 200-200\n");
  EXPECT_EQ(found(recording, "sample{function = main}"), "sample 300-300\n");
  EXPECT_EQ(found(recording, "sample{stack = \"job+0x20;main\"}"), "sample 200-200\nsample 600-600\n");
  EXPECT_EQ(found(recording, "sample{function != main, thread = 11}"), "sample 200-200\nsample 600-600\n")
      << "one without a stack has no function";
  EXPECT_EQ(found(recording, "request with >= 2 own sample{stack ~ main}"),
            "request 100-500, with sample 200-200, with sample 300-300\n");
  const auto query = parse_search("sample");
  const SearchScene scene = make_scene(
      {{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}}, nullptr, query->kinds);
  EXPECT_EQ(describe(scene, ItemKind::kSample, scene.of(ItemKind::kSample).front()),
            "machine a thread 11 (holder) request 0000000000000007 function job+0x20");
}

TEST(Search, FindsWhatApplicationsTell) {
  // Request 7 by its marks, of which the second RPC does not tell.
  BurstRecording recording = recording_of(story("100 mark 1 1 7\n600 mark 1 2 7\n"));
  recording.texts = {"", "Store.Read", "store", "rows"};
  recording.details = {{.request = 9, .call = 1, .text = 1, .peer = 2},
                       {.request = 9, .call = 1, .text = 0, .peer = 0},
                       {.request = 0, .call = 2, .text = 1, .peer = 2},
                       {.request = 0, .call = 0, .text = 3, .peer = 0}};
  std::vector<BurstEvent>& events = recording.bursts.front().events;
  events.insert(
      events.begin() + 2,
      {{.time_ns = 200, .first = 10, .second = 0, .thread = 1, .kind = BurstEventKind::kRpcOut},
       {.time_ns = 300, .first = 2'000'000, .second = 1, .thread = 1, .kind = BurstEventKind::kRpcEnd},
       {.time_ns = 400, .first = 10, .second = 2, .thread = 1, .kind = BurstEventKind::kRpcIn},
       {.time_ns = 500, .first = 12, .second = 3, .thread = 1, .kind = BurstEventKind::kAnnotation}});
  EXPECT_EQ(found(recording, "rpc"), "rpc 200-300\nrpc 400-1000000\n");
  EXPECT_EQ(found(recording, "rpc{method ~ Read, peer = store, bytes > 1MB, request = 9}"), "rpc 200-300\n");
  EXPECT_EQ(found(recording, "rpc{bytes >= 0}"), "rpc 200-300\n") << "the other has no answer";
  EXPECT_EQ(found(recording, "rpc{service = store, operation = \"Store.Read\"}"), "rpc 200-300\n");
  EXPECT_EQ(found(recording, "rpc{caller = store, request = 7, span_kind = server}"), "rpc 400-1000000\n");
  EXPECT_EQ(found(recording, "rpc{other = store}"), "");
  EXPECT_EQ(found(recording, "annotation{text = rows, number > 10, thread = 11, request = 7}"),
            "annotation 500-500\n");
  EXPECT_EQ(found(recording, "span"), "");
}

// As threads do: from the burst's begin where a request began before it, and until any thread stops it.
TEST(Search, LockWaitsAndPhasesHaveTheRequestOfTheirThread) {
  const BurstRecording recording =
      recording_of(story("100 mark 2 4 77\n"
                         "150 mark 2 6 1\n"
                         "200 mark 2 5 77\n"
                         "250 mark 2 2 8\n"
                         "300 mark 1 1 7\n"
                         "310 mark 2 3 7\n"
                         "400 mark 1 2 7\n"
                         "450 mark 2 4 78\n"
                         "500 mark 2 5 78\n"));
  EXPECT_EQ(found(recording, "lock_wait{request = 8}"), "lock_wait 100-200\n");
  EXPECT_EQ(found(recording, "phase{request = 8}"), "phase 150-250\n");
  EXPECT_EQ(found(recording, "lock_wait{request = 7}"), "");
  EXPECT_EQ(found(recording, "lock_wait"), "lock_wait 100-200\nlock_wait 450-500\n");
}

// Some CPUs record before others do, and some after.
TEST(Search, LockWaitsAndPhasesKeepWithinTheBurst) {
  const BurstRecording recording =
      recording_of(story("-20 mark 2 4 77\n"
                         "-10 mark 2 5 77\n"
                         "200 mark 1 6 1\n"
                         "300 mark 1 4 78\n"
                         "1000100 mark 1 5 78\n"
                         "1000200 mark 1 6 0\n"
                         "1000300 mark 2 4 79\n"));
  EXPECT_EQ(found(recording, "lock_wait"), "lock_wait 300-1000000\n");
  EXPECT_EQ(found(recording, "phase"), "phase 200-1000000\n");
}

TEST(Search, CountsTimesOfRequests) {
  const BurstRecording recording = recording_of(story(kHolderWaits));
  EXPECT_EQ(found(recording, "request{whole = yes, request = 8}"), "request 200-700\n");
  EXPECT_EQ(found(recording, "request{whole = yes, cpu_share < 50%}"), "request 200-700\n");
  EXPECT_EQ(found(recording, "request{whole = yes, blocked < 290ns}"), "");
}

// An index block that is read again and again: by spans, which have the sizes.
TEST(Search, FindsTheSameBlockReadAgainAndAgain) {
  SpanSet spans({.max_spans = 1000, .max_names = 100, .keeps_attributes = true, .attributes = {}});
  const auto add = [&](SpanId id, int64_t start_ns, int64_t end_ns, std::string_view block,
                       std::string_view bytes) {
    const std::array<Attribute, 2> attributes{{{"block", block}, {"bytes", bytes}}};
    ASSERT_TRUE(spans.add({.trace = {.high = 1, .low = 7},
                           .id = id,
                           .parent = 1,
                           .start_ns = start_ns,
                           .end_ns = end_ns,
                           .service = "front",
                           .operation = "Read",
                           .machine = "a",
                           .kind = SpanKind::kClient,
                           .attributes = attributes}));
    ASSERT_TRUE(spans.add({.trace = {.high = 1, .low = 7},
                           .id = id + 100,
                           .parent = id,
                           .start_ns = start_ns + 1,
                           .end_ns = end_ns - 1,
                           .service = "store",
                           .operation = "Read",
                           .machine = "b",
                           .kind = SpanKind::kServer}));
  };
  add(2, 200, 210, "index", "2000000");
  add(3, 212, 222, "index", "2000000");
  add(4, 225, 235, "data", "2000000");
  add(5, 236, 246, "index", "2000000");
  add(6, 300, 310, "index", "100");
  const BurstRecording recording = recording_of(story("100 mark 1 1 7\n900 mark 1 2 7\n"));
  EXPECT_EQ(
      found(recording, "request with >= 3 own rpc{service = store, bytes > 1MB} each within 5ns", &spans),
      "request 100-900, with rpc 200-210, with rpc 212-222, with rpc 225-235\n");
  EXPECT_EQ(found(recording, "request with >= 3 own rpc{bytes > 1MB} same block each within 20ns", &spans),
            "request 100-900, with rpc 200-210, with rpc 212-222, with rpc 236-246\n");
  EXPECT_EQ(found(recording, "request with >= 3 own rpc{bytes > 1MB} same block each within 5ns", &spans),
            "");
  EXPECT_EQ(found(recording, "request with >= 5 own rpc", &spans).substr(0, 15), "request 100-900");
  EXPECT_EQ(found(recording, "rpc{caller = front, block = data}", &spans), "rpc 225-235\n");
  EXPECT_EQ(found(recording, "span{service = store, span_kind = server} during rpc{block = data}", &spans),
            "span 226-234, during rpc 225-235\n");
}

// Under whichever of the names they stand: the client has the size of its reply under a later one than the server does.
TEST(Search, TakesTheBytesOfTheClientFirst) {
  SpanSet spans({.max_spans = 1000, .max_names = 100, .keeps_attributes = true, .attributes = {}});
  const auto add = [&](SpanId id, SpanId parent, SpanKind kind, int64_t start_ns,
                       std::span<const Attribute> attributes) {
    const bool is_client = kind == SpanKind::kClient;
    ASSERT_TRUE(spans.add({.trace = {.high = 1, .low = 7},
                           .id = id,
                           .parent = parent,
                           .start_ns = start_ns,
                           .end_ns = start_ns + (is_client ? 10 : 8),
                           .service = is_client ? "front" : "store",
                           .operation = "Read",
                           .machine = is_client ? "a" : "b",
                           .kind = kind,
                           .attributes = attributes}));
  };
  const Attribute of_client{"response.size", "100"};
  const Attribute of_server{"bytes", "2000000"};
  add(2, 1, SpanKind::kClient, 200, std::span(&of_client, 1));
  add(102, 2, SpanKind::kServer, 201, std::span(&of_server, 1));
  add(3, 1, SpanKind::kClient, 300, {});
  add(103, 3, SpanKind::kServer, 301, std::span(&of_server, 1));
  const BurstRecording recording = recording_of(story("100 mark 1 1 7\n900 mark 1 2 7\n"));
  EXPECT_EQ(found(recording, "rpc{bytes = 100}", &spans), "rpc 200-210\n");
  EXPECT_EQ(found(recording, "rpc{bytes > 1MB}", &spans), "rpc 300-310\n") << "the client has none";
}

// Without a server's span, by what the client says.
TEST(Search, KnowsTheServiceOfACallByItsClient) {
  SpanSet spans({.max_spans = 1000, .max_names = 100, .keeps_attributes = true, .attributes = {}});
  const std::array<Attribute, 2> attributes{{{"rpc.service", "shop.Cart"}, {"peer.service", "cart"}}};
  ASSERT_TRUE(spans.add({.trace = {.high = 1, .low = 7},
                         .id = 2,
                         .parent = 1,
                         .start_ns = 200,
                         .end_ns = 210,
                         .service = "front",
                         .operation = "Get",
                         .machine = "a",
                         .kind = SpanKind::kClient,
                         .attributes = attributes}));
  const BurstRecording recording = recording_of(story("100 mark 1 1 7\n"));
  EXPECT_EQ(found(recording, "rpc{service = cart, rpc.service = shop.Cart}", &spans), "rpc 200-210\n");
}

// Client's and server's halves are one call, also where they share their ID, and where readers know no kinds.
TEST(Search, PutsTheHalvesOfACallTogether) {
  SpanSet set;
  const auto add = [&](SpanId id, SpanId parent, SpanKind kind, std::string_view service,
                       bool is_shared = false) {
    ASSERT_TRUE(set.add({.trace = {.high = 1, .low = 7},
                         .id = id,
                         .parent = parent,
                         .start_ns = 100 + static_cast<int64_t>(id),
                         .end_ns = 200 + static_cast<int64_t>(id),
                         .service = service,
                         .operation = "Get",
                         .kind = kind,
                         .is_shared = is_shared}));
  };
  add(1, 0, SpanKind::kServer, "front");
  add(2, 1, SpanKind::kClient, "front");
  add(2, 1, SpanKind::kServer, "shared", true);
  add(3, 1, SpanKind::kClient, "front");
  add(4, 3, SpanKind::kServer, "child");
  add(5, 1, SpanKind::kUnspecified, "without-kind");
  add(6, 1, SpanKind::kInternal, "front");
  add(3, 1, SpanKind::kClient, "front");
  const SearchSpans spans(set);
  EXPECT_EQ(spans.by_start().size(), 7U);
  std::vector<std::string> calls;
  for (const uint32_t rpc : spans.rpcs_by_start()) {
    const RpcHalves& halves = spans.rpcs()[rpc];
    calls.push_back(fmt::format("{}{}", halves.client == kNoSpan ? "" : "client ",
                                set.names().services.name(spans.span(halves.server).service)));
  }
  EXPECT_THAT(calls, ::testing::ElementsAre("client shared", "client child", "without-kind"));
}

// Spans arrive in any order, and some never do.
TEST(Search, PutsCallsTogetherWhoseSpansCameLateOrNever) {
  SpanSet set;
  const auto add = [&](SpanId id, SpanId parent, SpanKind kind, std::string_view service, int64_t start_ns,
                       bool is_shared = false) {
    ASSERT_TRUE(set.add({.trace = {.high = 1, .low = 7},
                         .id = id,
                         .parent = parent,
                         .start_ns = start_ns,
                         .end_ns = start_ns + 10,
                         .service = service,
                         .operation = "Get",
                         .kind = kind,
                         .is_shared = is_shared}));
  };
  add(1, 0, SpanKind::kServer, "front", 100);
  // Tried again: the second attempt's span came first.
  add(4, 2, SpanKind::kServer, "second", 130);
  add(3, 2, SpanKind::kServer, "first", 120);
  add(2, 1, SpanKind::kClient, "front", 110);
  // Shares its ID with a client's half that is not there.
  add(5, 1, SpanKind::kServer, "alone", 140, true);
  const SearchSpans spans(set);
  std::vector<std::string> calls;
  for (const uint32_t rpc : spans.rpcs_by_start()) {
    const RpcHalves& halves = spans.rpcs()[rpc];
    calls.push_back(fmt::format("{} to {}", set.names().services.name(spans.span(halves.caller).service),
                                set.names().services.name(spans.span(halves.server).service)));
  }
  EXPECT_THAT(calls, ::testing::ElementsAre("front to first", "front to alone"));
}

TEST(Search, SaysWhereItsStepsAreNotEnough) {
  const BurstRecording recording = recording_of(story(kHolderWaits));
  const auto query = parse_search("running with = 0 wake");
  ASSERT_TRUE(query);
  const SearchScene scene = make_scene(
      {{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}}, nullptr, query->kinds);
  const SceneAnswers answers = search_scene(scene, *query, {.max_steps = 1});
  EXPECT_TRUE(answers.is_cut);
  EXPECT_TRUE(answers.answers.empty());
  EXPECT_FALSE(search_scene(scene, *query).is_cut);
}

// What is shown of answers takes steps, too, of the same budget.
TEST(Search, EvidenceTakesStepsOfTheSameBudget) {
  const BurstRecording recording = recording_of(story(kHolderWaits));
  const auto query = parse_search("running with wake");
  ASSERT_TRUE(query);
  const SearchScene scene = make_scene(
      {{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}}, nullptr, query->kinds);
  const SceneAnswers none = search_scene(scene, *query, {.max_answers = 0});
  const SceneAnswers all = search_scene(scene, *query);
  ASSERT_FALSE(all.answers.empty());
  EXPECT_GT(all.steps, none.steps);
  EXPECT_FALSE(all.is_evidence_cut);
  const SceneAnswers cut = search_scene(scene, *query, {.max_steps = none.steps + 1});
  EXPECT_FALSE(cut.is_cut);
  EXPECT_TRUE(cut.is_evidence_cut);
  EXPECT_EQ(cut.found, all.found);
}

TEST(Search, CountsAnswersBeyondTheLimit) {
  const BurstRecording recording = recording_of(story(kHolderWaits));
  const auto query = parse_search("wake");
  ASSERT_TRUE(query);
  const SearchScene scene = make_scene(
      {{.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0}}, nullptr, query->kinds);
  const SceneAnswers answers = search_scene(scene, *query, {.max_answers = 1});
  EXPECT_EQ(answers.found, 2U);
  EXPECT_EQ(answers.answers.size(), 1U);
}

}  // namespace
}  // namespace plimsoll::traces::search_test
