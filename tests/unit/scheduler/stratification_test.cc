#include "scheduler/draws/stratification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::scheduler {
namespace {

using ::testing::HasSubstr;

wire::Machine machine() {
  wire::Machine machine;
  machine.set_platform("AMD Zen 3");
  machine.set_datacenter("eu-1");
  machine.set_kernel_release("6.1.0");
  return machine;
}

TEST(Stratification, NamesTheAttributesInTheirOrder) {
  EXPECT_EQ(Stratification::make({"platform", "datacenter"})->stratum_of(machine()),
            "platform=AMD Zen 3, datacenter=eu-1");
  EXPECT_EQ(Stratification::make({"kernel", "cluster"})->stratum_of(machine()), "kernel=6.1.0, cluster=?");
  EXPECT_EQ(Stratification::make({})->stratum_of(machine()), "");
}

TEST(Stratification, KnowsEveryAttribute) {
  for (const std::string_view name : stratum_attributes()) {
    EXPECT_TRUE(Stratification::make({std::string(name)})) << name;
  }
}

TEST(Stratification, RefusesWhatIsNoAttributeOrThereTwice) {
  const auto misspelt = Stratification::make({"platfrom"});
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().field, "strata");
  EXPECT_THAT(misspelt.error().text(), HasSubstr("did you mean platform?"));
  EXPECT_THAT(Stratification::make({"colour"}).error().text(), HasSubstr("they can by platform, datacenter"));
  EXPECT_THAT(Stratification::make({"os", "os"}).error().text(), HasSubstr("os is listed twice"));
}

}  // namespace
}  // namespace plimsoll::scheduler
