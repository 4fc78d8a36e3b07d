// What the scenarios of crashes have in common: their profiles, the answers that these give, and what is checked. For crash_*scenarios.cc only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/profile.pb.h"
#include "store/ingest.h"
#include "tests/store/crash_scenarios.h"

namespace plimsoll::testing {

constexpr int64_t kMinuteNs = 60 * int64_t{1'000'000'000};
constexpr int64_t kDayNs = 24 * 60 * kMinuteNs;
constexpr int64_t kStartNs = 1'700'000'000'000'000'000;

// When the window of a profile begins.
int64_t start_of(uint64_t profile);

// Profiles 1 to `last`.
Profiles up_to(uint64_t last);

// Nothing where a question about the directory is answered with these profiles, each once.
std::string wrong_answer(const std::string& data_dir, const Profiles& expected);
// Nothing where `store check` finds none.
std::string damage_in(const std::string& data_dir);

store::IngestOptions options_of(uint64_t profiles_per_block);
// `unknown` gets the profile, if the store had not known it.
Status accept(store::Ingest& ingest, uint64_t profile, Profiles* unknown = nullptr);
Status build(store::Ingest& ingest);
Status build_all(store::Ingest& ingest);

// Ends the test program where preparing failed.
void must(const Status& status);
// Profiles 1 to `last`, each a segment.
void fill(const std::string& data_dir, uint64_t last, uint64_t per_block);

using OpenIngest = std::unique_ptr<store::Ingest>;

// Nothing where it failed each time.
OpenIngest open(const std::string& data_dir, uint64_t per_block, Witness& witness);
void accept_and_acknowledge(store::Ingest& ingest, uint64_t profile, Witness& witness);

// That all profiles are there once when they are sent again, whatever was going on.
class WholeScenario : public Scenario {
 public:
  WholeScenario(std::string name, uint64_t per_block, uint64_t last)
      : Scenario(std::move(name)), per_block_(per_block), last_(last) {}

  std::string check(const std::string& folder, const Profiles& acknowledged) const override;

 protected:
  // Before the answer is compared.
  virtual std::string finish(const std::string& /*folder*/, store::Ingest& /*ingest*/) const { return ""; }

  uint64_t per_block_;
  uint64_t last_;
};

// Of those who write, and of those who mend, convert and copy.
void add_writing_scenarios(std::vector<std::unique_ptr<Scenario>>& all);
void add_care_scenarios(std::vector<std::unique_ptr<Scenario>>& all);

}  // namespace plimsoll::testing
