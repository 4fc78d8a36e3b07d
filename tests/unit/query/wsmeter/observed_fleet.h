// What WSMeter computes with, from CSV texts.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "query/wsmeter/observed/observed_fleet.h"

namespace plimsoll::query {

inline ObservedFleet observed_fleet(std::string_view performance, std::string_view jobs) {
  const auto instances = read_performance(performance);
  const auto quotas = read_job_quotas(jobs);
  EXPECT_TRUE(instances && quotas) << (instances ? quotas.error() : instances.error()).text();
  return instances && quotas ? ObservedFleet{.performance = *instances, .jobs = *quotas} : ObservedFleet{};
}

}  // namespace plimsoll::query
