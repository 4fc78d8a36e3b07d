// Flames of random fleets, against trees made straight from the raw profiles, and margins of those.
#include <gtest/gtest.h>

#include <cmath>

#include "query/views/flame.h"
#include "tests/unit/query/tree_model.h"

namespace plimsoll::query {
namespace {

using model::Question;
using model::Random;
using model::Sample;
using model::Tree;

class RandomFlame : public ::testing::TestWithParam<uint64_t> {
 protected:
  RandomFlame() {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      profiles_.push_back(model::random_profile(random_, seed));
      fleet_.add(profiles_.back());
    }
    const model::ObservedTimes observed = model::observed_times(profiles_);
    for (const wire::RawProfile& profile : profiles_) {
      model::add_samples(profile, observed, samples_);
    }
  }

  Flame ask(const Parameters& parameters) const {
    const auto request = parse_flame(parameters, 0);
    EXPECT_TRUE(request) << (request ? "" : request.error().text());
    const auto snapshot = Snapshot::load(fleet_.path());
    auto answer = flame(*request, **snapshot);
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().text());
    return std::move(*flame_from_json(to_json(*answer)));
  }

  static void expect_close(std::optional<double> value, std::optional<double> expected) {
    ASSERT_EQ(value.has_value(), expected.has_value());
    if (value) {
      EXPECT_LE(std::abs(*value - *expected), 1e-9 * std::abs(*expected))
          << *value << " is not " << *expected;
    }
  }

  // Nodes are where the tree has them, with its numbers. Returns how many.
  size_t expect_nodes(const Flame& answer, const Tree& root,
                      const std::map<model::Unit, statistics::SampledMachine>& machines) {
    std::vector<const Tree*> path;
    for (const FlameNode& node : answer.nodes) {
      path.resize(node.depth);
      const Tree* place = &root;
      if (node.depth > 0) {
        const auto found = path.back()->children.find(answer.names[node.name]);
        if (found == path.back()->children.end()) {
          ADD_FAILURE() << answer.names[node.name] << " is no child there";
          return 0;
        }
        place = found->second.get();
        // Where there are very many nodes, the largest have a share.
        const bool is_cut = !answer.notes.empty() && answer.notes.back().starts_with("margins are for the");
        if (node.share || !is_cut) {
          expect_share(answer, node, model::expected_share(machines, place->total, root.total));
        }
      }
      expect_close(node.total, sum(place->total));
      expect_close(node.self, place->self);
      path.push_back(place);
    }
    return answer.nodes.size();
  }

  void expect_share(const Flame& answer, const FlameNode& node, const statistics::Estimate& expected) {
    ASSERT_TRUE(node.share) << answer.names[node.name];
    const statistics::Estimate& share = answer.shares[*node.share];
    expect_close(share.value, expected.value);
    expect_close(share.margin, expected.margin);
    expect_close(share.low, expected.low);
    expect_close(share.high, expected.high);
    EXPECT_EQ(share.margin_kind, expected.margin_kind);
    margins_ += share.margin ? 1 : 0;
  }

  Random random_{GetParam()};
  Fleet fleet_;
  std::vector<Sample> samples_;
  std::vector<wire::RawProfile> profiles_;
  size_t margins_ = 0;
};

TEST_P(RandomFlame, AgreesWithTreesOfTheRawProfiles) {
  size_t nodes = 0;
  for (int i = 0; i < 20; ++i) {
    const Question question = model::random_question(random_, samples_);
    Tree root;
    question.for_each(samples_, [&](const Sample& sample) { root.add(sample); });
    Parameters parameters{{"event", question.event}};
    question.add_filters(parameters);
    SCOPED_TRACE([&] {
      std::string text;
      for (const auto& [name, value] : parameters) {
        text += fmt::format(" {}=\"{}\"", name, value);
      }
      return text;
    }());
    const auto machines = model::sampled_machines(question, profiles_);
    const size_t whole = expect_nodes(ask(parameters), root, machines);
    EXPECT_EQ(whole, root.nodes());
    // What is cut says nothing of what is left.
    parameters.emplace_back("limit", "5");
    EXPECT_EQ(expect_nodes(ask(parameters), root, machines), std::min<size_t>(5, whole));
    nodes += whole;
  }
  EXPECT_GT(nodes, 200) << "the questions hardly select anything";
  EXPECT_GT(margins_, 20) << "hardly any node has a margin";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFlame, ::testing::Range(uint64_t{1}, uint64_t{11}));

}  // namespace
}  // namespace plimsoll::query
