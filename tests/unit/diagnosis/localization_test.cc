// Small systems with one fault each: what is found, of which kind, and that nothing is claimed without a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "base/stop_scope.h"
#include "diagnosis/clouddiag/clouddiag.h"
#include "diagnosis/clouddiag/pca_peer.h"
#include "diagnosis/localization/diagnosis.h"
#include "diagnosis/localization/exceedances.h"
#include "diagnosis/localization/gap_coverage.h"

namespace plimsoll::diagnosis {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Times of one request in ms, which a fault changes before the spans are made.
struct Times {
  double web = 5, web_to_cart = 2, cart = 10, cart_to_db = 1, db = 4, web_to_ads = 2, ads = 3;
  bool calls_ads = true;
  int replica = 0;  // of cart
};

// web calls cart, which calls db, and then ads; cart has four replicas.
class Shop {
 public:
  using Fault = std::function<void(Times&)>;

  void add(size_t requests, Side side, const Fault& fault = {}) {
    for (size_t i = 0; i < requests; ++i) {
      Times times;
      times.replica = static_cast<int>(random_() % 4);
      for (double* ms : {&times.web, &times.web_to_cart, &times.cart, &times.cart_to_db, &times.db,
                         &times.web_to_ads, &times.ads}) {
        *ms *= noise_(random_);
      }
      if (fault) {
        fault(times);
      }
      add_request(times);
      sides_.push_back(side);
    }
  }

  Diagnosis diagnose(const DiagnosisOptions& options = {}) const {
    const traces::Assembly assembly = traces::assemble(spans_);
    return diagnosis::diagnose(Requests(spans_, assembly), sides_, options);
  }

  // How many windows of so many requests, one after the other, something is claimed of, with all other requests as the reference.
  size_t claimed_windows(size_t length) const {
    const traces::Assembly assembly = traces::assemble(spans_);
    const Requests requests(spans_, assembly);
    size_t claimed = 0;
    for (size_t begin = 0; begin + length <= sides_.size(); begin += length) {
      Sides sides(sides_.size(), Side::kReference);
      std::fill_n(sides.begin() + static_cast<ptrdiff_t>(begin), length, Side::kWindow);
      claimed += diagnosis::diagnose(requests, sides).stands_out() ? 1 : 0;
    }
    return claimed;
  }

  std::string text(const Finding& finding) const {
    const traces::Names& names = spans_.names();
    return std::string(names.services.name(finding.service)) + "/" +
           std::string(names.operations.name(finding.operation)) + "@" +
           std::string(names.replicas.name(finding.replica)) + " " + name_of(finding.kind);
  }
  // The first finding; "nothing" where none is claimed.
  std::string answer() const {
    const Diagnosis diagnosis = diagnose();
    return diagnosis.stands_out() ? text(diagnosis.findings.front()) : "nothing";
  }

 private:
  void span(uint64_t id, uint64_t parent, const char* service, const char* operation,
            const std::string& replica, double from_ms, double to_ms) {
    const auto ns = [this](double ms) { return now_ns_ + static_cast<int64_t>(ms * 1e6); };
    ASSERT_TRUE(spans_.add({.trace = {0, trace_},
                            .id = id,
                            .parent = parent,
                            .start_ns = ns(from_ms),
                            .end_ns = ns(to_ms),
                            .service = service,
                            .operation = operation,
                            .replica = replica,
                            .machine = "host-of-" + replica}));
  }

  void add_request(const Times& times) {
    ++trace_;
    now_ns_ += 1'000'000'000;
    const double cart_ms = times.cart + times.cart_to_db + times.db;
    const double to_cart_ms = times.web_to_cart + cart_ms;
    const double to_ads_ms = times.calls_ads ? times.web_to_ads + times.ads : 0;
    const double end_ms = times.web + to_cart_ms + to_ads_ms;
    const std::string cart = "cart-" + std::to_string(times.replica);
    span(1, 0, "web", "get", "web-0", 0, end_ms);
    const double at_ms = times.web / 2;
    span(2, 1, "web", "cart.Get", "web-0", at_ms, at_ms + to_cart_ms);
    const double cart_at_ms = at_ms + times.web_to_cart / 2;
    span(3, 2, "cart", "Get", cart, cart_at_ms, cart_at_ms + cart_ms);
    const double db_at_ms = cart_at_ms + times.cart / 2;
    span(4, 3, "cart", "db.Query", cart, db_at_ms, db_at_ms + times.cart_to_db + times.db);
    span(5, 4, "db", "Query", "db-0", db_at_ms + times.cart_to_db / 2,
         db_at_ms + times.cart_to_db / 2 + times.db);
    if (times.calls_ads) {
      const double ads_at_ms = at_ms + to_cart_ms;
      span(6, 1, "web", "ads.Get", "web-0", ads_at_ms, ads_at_ms + to_ads_ms);
      span(7, 6, "ads", "Get", "ads-0", ads_at_ms + times.web_to_ads / 2,
           ads_at_ms + times.web_to_ads / 2 + times.ads);
    }
  }

  traces::SpanSet spans_;
  Sides sides_;
  std::mt19937_64 random_{11};
  std::lognormal_distribution<double> noise_{0, 0.2};
  uint64_t trace_ = 0;
  int64_t now_ns_ = 1'700'000'000'000'000'000;
};

Shop shop_with(const Shop::Fault& fault) {
  Shop shop;
  shop.add(400, Side::kReference);
  shop.add(100, Side::kWindow, fault);
  return shop;
}

TEST(Diagnosis, OfAServiceThatIsSlowItself) {
  EXPECT_EQ(shop_with([](Times& times) { times.db += 30; }).answer(), "db/Query@db-0 slow itself");
}

TEST(Diagnosis, OfASlowNetworkToAService) {
  EXPECT_EQ(shop_with([](Times& times) { times.web_to_ads += 40; }).answer(),
            "ads/ads.Get@ads-0 slow network to it");
}

// A slow network of web would be as good an explanation of one gap; that of all its calls is a better one.
TEST(Diagnosis, OfASlowCaller) {
  EXPECT_EQ(shop_with([](Times& times) {
              times.web_to_ads += 40;
              times.web_to_cart += 40;
            }).answer(),
            "web/cart.Get@web-0 slow caller");
}

TEST(Diagnosis, OfAServiceWhoseNetworkIsSlowBothWays) {
  EXPECT_THAT(shop_with([](Times& times) {
                times.web_to_cart += 40;
                times.cart_to_db += 40;
              }).answer(),
              HasSubstr("slow network to it"));
  EXPECT_THAT(shop_with([](Times& times) {
                times.web_to_cart += 40;
                times.cart_to_db += 40;
              }).answer(),
              HasSubstr("cart/"));
}

TEST(Diagnosis, OfCallsThatAreMissing) {
  EXPECT_EQ(shop_with([](Times& times) { times.calls_ads = false; }).answer(), "web/get@ another path");
}

TEST(Diagnosis, OfOneReplicaAmongOthersNeedsNoReference) {
  Shop shop;
  shop.add(400, Side::kWindow, [](Times& times) { times.cart *= times.replica == 2 ? 5 : 1; });
  EXPECT_EQ(shop.answer(), "cart/Get@cart-2 slow itself");
  const Diagnosis diagnosis = shop.diagnose();
  EXPECT_EQ(diagnosis.slow_pairs, 1);
  EXPECT_THAT(diagnosis.findings.front().evidence, HasSubstr("calls on this replica are slow"));
}

TEST(Diagnosis, OfTheNetworkToOneReplica) {
  Shop shop;
  shop.add(400, Side::kWindow, [](Times& times) { times.web_to_cart += times.replica == 1 ? 40 : 0; });
  EXPECT_EQ(shop.answer(), "cart/cart.Get@cart-1 slow network to it");
}

// The service explains all of it, and its slow replicas the half each: they are the answer nevertheless.
TEST(Diagnosis, OfReplicasIsBeforeThatOfTheirService) {
  Shop shop;
  shop.add(400, Side::kReference);
  shop.add(240, Side::kWindow, [calls = 0](Times& times) mutable {
    const bool is_slow = (times.replica == 1 || times.replica == 2) && ++calls % 5 < 3;
    times.web_to_cart += is_slow ? 60 : 0;
    times.cart_to_db += is_slow ? 60 : 0;
  });
  const Diagnosis diagnosis = shop.diagnose();
  ASSERT_FALSE(diagnosis.findings.empty());
  EXPECT_THAT(shop.text(diagnosis.findings.front()),
              AnyOf(HasSubstr("@cart-1 slow"), HasSubstr("@cart-2 slow")));
  EXPECT_THAT(diagnosis.findings.front().evidence, HasSubstr("without requests on slow replicas 0 of"));
  for (const Finding& finding : diagnosis.findings) {
    EXPECT_FALSE(shop.text(finding).starts_with("cart/") && finding.replica == 0 && finding.is_claimed());
  }
}

TEST(Diagnosis, OfAServiceStaysWhereItsOtherReplicasAreSlow) {
  Shop shop;
  shop.add(400, Side::kReference);
  shop.add(240, Side::kWindow, [](Times& times) { times.web_to_cart += times.replica == 1 ? 80 : 60; });
  const Diagnosis diagnosis = shop.diagnose();
  EXPECT_GE(diagnosis.slow_pairs, 1);
  const auto service = std::ranges::find_if(diagnosis.findings, [&shop](const Finding& finding) {
    return shop.text(finding) == "cart/cart.Get@ slow network to it";
  });
  ASSERT_NE(service, diagnosis.findings.end());
  EXPECT_TRUE(service->is_claimed()) << service->confidence << " " << service->evidence;
}

TEST(Diagnosis, OfNothingIsNothing) {
  EXPECT_EQ(shop_with({}).answer(), "nothing");
  Shop without_reference;
  without_reference.add(400, Side::kWindow);
  EXPECT_EQ(without_reference.answer(), "nothing");
  EXPECT_EQ(Shop().answer(), "nothing");
}

// Two of four requests over the reference's upper decile come by chance in one of twenty methods.
TEST(Diagnosis, OfAFewRequestsIsRarelyClaimed) {
  Shop shop;
  shop.add(400, Side::kReference, [](Times& times) {
    for (double* ms : {&times.web, &times.web_to_cart, &times.cart, &times.cart_to_db, &times.db,
                       &times.web_to_ads, &times.ads}) {
      *ms *= 30;
    }
  });
  EXPECT_LE(shop.claimed_windows(4), 5) << "of 100";
}

TEST(Diagnosis, OfAFewRequestsThatAreAllSlow) {
  Shop shop;
  shop.add(400, Side::kReference);
  shop.add(6, Side::kWindow, [](Times& times) { times.db += 300; });
  EXPECT_EQ(shop.answer(), "db/Query@db-0 slow itself");
}

// A slowdown that the reference has now and then is no news.
TEST(Diagnosis, KnowsWhatTheReferenceDoesByItself) {
  Shop shop;
  const auto stall = [](Times& times) { times.db += 30; };
  shop.add(150, Side::kReference);
  shop.add(100, Side::kReference, stall);
  shop.add(150, Side::kReference);
  shop.add(100, Side::kWindow, stall);
  EXPECT_EQ(shop.answer(), "nothing");
}

TEST(Diagnosis, ClaimsNothingWithoutEnoughReference) {
  Shop shop;
  shop.add(30, Side::kReference);
  shop.add(100, Side::kWindow, [](Times& times) { times.db += 30; });
  const Diagnosis diagnosis = shop.diagnose();
  EXPECT_FALSE(diagnosis.stands_out());
  ASSERT_FALSE(diagnosis.findings.empty());
  EXPECT_EQ(shop.text(diagnosis.findings.front()), "db/Query@db-0 slow itself");
  ASSERT_FALSE(diagnosis.notes.empty());
  EXPECT_THAT(diagnosis.notes.front(), HasSubstr("too few"));
}

// A finding that is not claimed explains more, and does not push out what is.
TEST(Diagnosis, KeepsClaimedFindings) {
  Shop shop;
  shop.add(30, Side::kReference);
  shop.add(400, Side::kWindow, [](Times& times) {
    times.web_to_ads += 200;
    times.cart *= times.replica == 1 || times.replica == 2 ? 3 : 1;
  });
  const Diagnosis all = shop.diagnose();
  EXPECT_TRUE(all.stands_out());
  EXPECT_EQ(shop.text(all.findings.front()), "ads/ads.Get@ads-0 slow network to it");
  const Diagnosis one = shop.diagnose({.max_findings = 1});
  EXPECT_TRUE(one.stands_out());
  ASSERT_EQ(one.findings.size(), 1);
  EXPECT_THAT(shop.text(one.findings.front()), HasSubstr("cart/Get@cart-"));
}

// One call of one method each, on replica "a" for the first half of the requests, and then on "b".
size_t slow_when_replaced(double a_ms, double b_ms) {
  traces::SpanSet spans;
  constexpr uint64_t kRequests = 60;
  for (uint64_t i = 1; i <= kRequests; ++i) {
    const bool is_first = i <= kRequests / 2;
    const auto start_ns = static_cast<int64_t>(1'000'000'000 * i);
    EXPECT_TRUE(spans.add({.trace = {0, i},
                           .id = 1,
                           .start_ns = start_ns,
                           .end_ns = start_ns + static_cast<int64_t>(1e6 * (is_first ? a_ms : b_ms)),
                           .service = "s",
                           .operation = "o",
                           .replica = is_first ? "a" : "b"}));
  }
  const traces::Assembly assembly = traces::assemble(spans);
  return slow_replicas(observe(spans, assembly), Sides(kRequests, Side::kWindow)).size();
}

TEST(SlowReplicas, AreNoneAmongEqualTimes) {
  EXPECT_EQ(slow_when_replaced(1, 1), 0);
}

TEST(SlowReplicas, AreSlowerByMoreThanAClockIsOff) {
  EXPECT_EQ(slow_when_replaced(1, 1.001), 0);
  EXPECT_EQ(slow_when_replaced(1, 1.2), 1);
}

// Not all spans of a replica name its machine, and the replicas of another service have the same names.
TEST(Observations, KnowTheMachinesOfReplicas) {
  traces::SpanSet spans;
  uint64_t id = 0;
  for (const auto& [service, machine] :
       {std::pair{"web", ""}, {"web", "m1"}, {"cart", "m2"}, {"web", ""}, {"ads", ""}}) {
    ++id;
    ASSERT_TRUE(spans.add({.trace = {0, id},
                           .id = id,
                           .start_ns = 1,
                           .end_ns = 10,
                           .service = service,
                           .operation = "get",
                           .replica = "0",
                           .machine = machine}));
  }
  const Observations observed = observe(spans, traces::assemble(spans));
  std::string machines;
  for (const traces::Span& span : spans.spans()) {
    machines +=
        std::string(spans.names().machines.name(observed.machine_of(span.service, span.replica))) + " ";
  }
  EXPECT_EQ(machines, "m1 m1 m2 m1  ");
}

// Calls of methods of one service as observe() has them, without spans.
class ObservedCalls {
 public:
  explicit ObservedCalls(uint32_t methods) {
    observed_.by_feature.resize(methods);
    for (uint32_t method = 0; method < methods; ++method) {
      observed_.features.push_back({.service = 1, .operation = method + 1});
    }
  }

  void add(uint32_t method, uint32_t trace, uint32_t replica, double ms) {
    observed_.by_feature[method].push_back({static_cast<float>(ms), trace, replica});
  }
  size_t slow_replicas_among(size_t traces) {
    observed_.traces = traces;
    for (auto& calls : observed_.by_feature) {
      std::ranges::sort(calls, {}, &Observation::ms);
    }
    return slow_replicas(observed_, Sides(traces, Side::kWindow)).size();
  }

 private:
  Observations observed_;
};

// One call in twelve stalls, whichever of two replicas runs it: of 100 methods some have twice as many stalls on one as on the other.
TEST(SlowReplicas, AreNoneOfTwoThatStallAlike) {
  constexpr uint32_t kMethods = 100;
  constexpr uint32_t kRequests = 400;
  constexpr int kTrials = 50;
  int accused = 0;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    std::mt19937_64 random(500 + seed);
    std::lognormal_distribution<double> noise(0, 0.25);
    ObservedCalls calls(kMethods);
    for (uint32_t request = 0; request < kRequests; ++request) {
      const auto replica = static_cast<uint32_t>(1 + random() % 2);
      for (uint32_t method = 0; method < kMethods; ++method) {
        calls.add(method, request, replica, 5 * noise(random) * (random() % 12 == 0 ? 10 : 1));
      }
    }
    accused += calls.slow_replicas_among(kRequests) == 0 ? 0 : 1;
  }
  EXPECT_LE(accused, 2) << "of " << kTrials;
}

// One request in twenty has a basket that makes all of its 20 calls of one method slow, on whichever replica it runs.
TEST(SlowReplicas, AreNoneWhereOneRequestMakesManySlowCalls) {
  constexpr uint32_t kOthers = 30;
  constexpr uint32_t kRequests = 300;
  constexpr int kTrials = 20;
  int accused = 0;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    std::mt19937_64 random(600 + seed);
    std::lognormal_distribution<double> noise(0, 0.2);
    ObservedCalls calls(1 + kOthers);
    for (uint32_t request = 0; request < kRequests; ++request) {
      const auto replica = static_cast<uint32_t>(1 + random() % 10);
      const double basket = random() % 20 == 0 ? 8 : 1;
      for (int item = 0; item < 20; ++item) {
        calls.add(0, request, replica, 3 * basket * noise(random));
      }
      for (uint32_t method = 1; method <= kOthers; ++method) {
        calls.add(method, request, replica, 5 * noise(random));
      }
    }
    accused += calls.slow_replicas_among(kRequests) == 0 ? 0 : 1;
  }
  EXPECT_LE(accused, 1) << "of " << kTrials;
}

// As a replica is that is slow in three calls of ten, beside one that is not.
TEST(SlowReplicas, AreFoundAmongTwo) {
  std::mt19937_64 random(700);
  std::lognormal_distribution<double> noise(0, 0.25);
  constexpr uint32_t kRequests = 400;
  ObservedCalls calls(1);
  for (uint32_t request = 0; request < kRequests; ++request) {
    const auto replica = static_cast<uint32_t>(1 + random() % 2);
    const bool is_slow = replica == 2 && random() % 10 < 3;
    calls.add(0, request, replica, 5 * noise(random) * (is_slow ? 5 : 1));
  }
  EXPECT_EQ(calls.slow_replicas_among(kRequests), 1);
}

// Two methods of one service, with one of another between them, call what they never did.
TEST(CallStructures, CountAServiceOnceARequest) {
  traces::SpanSet spans;
  Sides sides;
  constexpr uint64_t kReference = 120;
  constexpr uint64_t kWindow = 10;
  for (uint64_t i = 1; i <= kReference + kWindow; ++i) {
    sides.push_back(i <= kReference ? Side::kReference : Side::kWindow);
    const auto add = [&](uint64_t id, uint64_t parent, const char* service, const char* operation) {
      const auto start_ns = static_cast<int64_t>(1'000'000'000 * i + id);
      ASSERT_TRUE(spans.add({.trace = {0, i},
                             .id = id,
                             .parent = parent,
                             .start_ns = start_ns,
                             .end_ns = start_ns + 1000,
                             .service = service,
                             .operation = operation}));
    };
    add(1, 0, "web", "get");
    const char* const called = i <= kReference ? "query" : "retry";
    uint64_t id = 2;
    for (const auto& [service, operation] : {std::pair{"cart", "one"}, {"ads", "two"}, {"cart", "three"}}) {
      add(id, 1, service, operation);
      add(id + 1, id, "db", called);
      id += 2;
    }
  }
  const traces::Assembly assembly = traces::assemble(spans);
  const auto votes = CallStructures(spans, assembly).votes(sides);
  ASSERT_FALSE(votes.empty());
  for (const auto& of : votes) {
    EXPECT_LE(of.votes, kWindow) << spans.names().services.name(of.service);
  }
}

// Each request calls what no other one calls, as where names have IDs in them. Of so few requests no half of the reference knows a set of
// calls as rare, but all of it does.
TEST(CallStructures, KnowThatTheReferenceMakesRareCallsToo) {
  traces::SpanSet spans;
  Sides sides;
  constexpr uint64_t kReference = 70;
  constexpr uint64_t kWindow = 60;
  for (uint64_t i = 1; i <= kReference + kWindow; ++i) {
    sides.push_back(i <= kReference ? Side::kReference : Side::kWindow);
    const auto start_ns = static_cast<int64_t>(1'000'000'000 * i);
    const std::string called = "item-" + std::to_string(i);
    for (uint64_t id = 1; id <= 2; ++id) {
      ASSERT_TRUE(spans.add({.trace = {0, i},
                             .id = id,
                             .parent = id - 1,
                             .start_ns = start_ns + static_cast<int64_t>(id),
                             .end_ns = start_ns + 1000,
                             .service = "web",
                             .operation = id == 1 ? std::string_view("get") : called}));
    }
  }
  const traces::Assembly assembly = traces::assemble(spans);
  for (const auto& of : CallStructures(spans, assembly).votes(sides)) {
    EXPECT_LT(of.z, 2) << of.votes << " of " << of.requests;
  }
  const Diagnosis found = diagnose(Requests(spans, assembly), sides);
  EXPECT_FALSE(found.stands_out());
}

// One request in a hundred is made again. In 100 requests of the reference there is none by chance, now and then.
TEST(CallStructures, ExpectRareCallsThatAShortReferenceLacks) {
  constexpr uint64_t kReference = 100;
  constexpr uint64_t kWindow = 2000;
  constexpr int kTrials = 40;
  int claimed = 0;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    std::mt19937_64 random(800 + seed);
    traces::SpanSet spans;
    Sides sides;
    for (uint64_t i = 1; i <= kReference + kWindow; ++i) {
      sides.push_back(i <= kReference ? Side::kReference : Side::kWindow);
      const uint64_t calls = random() % 100 == 0 ? 2 : 1;
      for (uint64_t id = 1; id <= 1 + calls; ++id) {
        const auto start_ns = static_cast<int64_t>(1'000'000'000 * i + id);
        ASSERT_TRUE(spans.add({.trace = {0, i},
                               .id = id,
                               .parent = id == 1 ? 0U : 1U,
                               .start_ns = start_ns,
                               .end_ns = start_ns + 1000,
                               .service = "web",
                               .operation = id == 1   ? "get"
                                            : id == 2 ? "query"
                                                      : "retry"}));
      }
    }
    const traces::Assembly assembly = traces::assemble(spans);
    claimed += diagnose(Requests(spans, assembly), sides).stands_out() ? 1 : 0;
  }
  EXPECT_LE(claimed, 2) << "of " << kTrials;
}

// Requests with one method each have another category each kind; one has more methods than are decomposed.
TEST(CloudDiag, SkipsCategoriesThatAreTooLarge) {
  traces::SpanSet spans;
  std::vector<uint32_t> all;
  for (uint64_t i = 1; i <= 40; ++i) {
    const uint64_t methods = i % 2 == 0 ? 5000 : 1;
    for (uint64_t id = 1; id <= methods; ++id) {
      ASSERT_TRUE(spans.add({.trace = {0, i},
                             .id = id,
                             .parent = id == 1 ? 0U : 1U,
                             .start_ns = 0,
                             .end_ns = static_cast<int64_t>(1000 * i),
                             .service = "s",
                             .operation = "o" + std::to_string(id)}));
    }
    all.push_back(static_cast<uint32_t>(i - 1));
  }
  const traces::Assembly assembly = traces::assemble(spans);
  const auto found = clouddiag(spans, assembly, all, CloudDiagOptions::improved());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->anomalous_categories, 2);
  EXPECT_EQ(found->skipped_categories, 1);
  EXPECT_THAT(found->first_skipped, HasSubstr("5000"));
  EXPECT_EQ(request_matrix(spans, assembly, all, TimeOf::kSelf, 1000).error().code, ErrorCode::kTooLarge);
  const auto requests = request_matrix(spans, assembly, all, TimeOf::kSelf);
  ASSERT_TRUE(requests);
  EXPECT_EQ(pca_mann_whitney(*requests).error().code, ErrorCode::kTooLarge);
}

// As a server's answers do at their time limit.
TEST(PcaMannWhitney, EndsWithTheScopeOfItsQuestion) {
  traces::SpanSet spans;
  for (uint64_t i = 1; i <= 40; ++i) {
    ASSERT_TRUE(spans.add({.trace = {0, i},
                           .id = i,
                           .start_ns = 0,
                           .end_ns = static_cast<int64_t>(1000 * i),
                           .service = "s",
                           .operation = "o"}));
  }
  const traces::Assembly assembly = traces::assemble(spans);
  std::vector<uint32_t> all(40);
  std::iota(all.begin(), all.end(), 0U);
  const auto requests = request_matrix(spans, assembly, all, TimeOf::kInclusive);
  ASSERT_TRUE(requests);
  EXPECT_TRUE(pca_mann_whitney(*requests));
  const StopCheck stopped = []() -> Status { return fail(ErrorCode::kUnavailable, "its client is gone"); };
  const StopScope scope(stopped);
  EXPECT_EQ(pca_mann_whitney(*requests).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace plimsoll::diagnosis
