#include "formats/drop_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace plimsoll::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Stacks of functions, outermost first: ";" to a call, ">" to one that was inlined.
ApplicationProfile profile_with(const std::vector<std::string>& stacks, std::string drop,
                                std::string keep = "") {
  ApplicationProfile profile;
  profile.types = {{"samples", "count"}};
  profile.drop_frames = std::move(drop);
  profile.keep_frames = std::move(keep);
  const auto function = [&](const std::string& name) {
    profile.texts.push_back(name);
    profile.functions.push_back({static_cast<uint32_t>(profile.texts.size() - 1), 0});
    return static_cast<uint32_t>(profile.functions.size() - 1);
  };
  for (const std::string& stack : stacks) {
    std::vector<uint32_t> leaf_first;
    std::istringstream calls(stack);
    for (std::string call; std::getline(calls, call, ';');) {
      Location location{.first_frame = static_cast<uint32_t>(profile.frames.size())};
      std::vector<Frame> outermost_first;
      for (size_t from = 0; from <= call.size();) {
        const size_t to = std::min(call.find('>', from), call.size());
        outermost_first.push_back({.function = function(call.substr(from, to - from))});
        from = to + 1;
      }
      profile.frames.insert(profile.frames.end(), outermost_first.rbegin(), outermost_first.rend());
      location.frame_count = static_cast<uint32_t>(outermost_first.size());
      profile.locations.push_back(location);
      leaf_first.insert(leaf_first.begin(), static_cast<uint32_t>(profile.locations.size() - 1));
    }
    constexpr int64_t kOne = 1;
    profile.samples.add(leaf_first, std::span(&kOne, 1));
  }
  return profile;
}

// The other way round.
std::vector<std::string> stacks_of(const ApplicationProfile& profile) {
  std::vector<std::string> stacks;
  for (size_t sample = 0; sample < profile.samples.size(); ++sample) {
    std::string text;
    for (const uint32_t location_index : profile.samples.stack(sample)) {
      const Location& location = profile.locations[location_index];
      std::string call;
      for (uint32_t i = 0; i < location.frame_count; ++i) {
        const Frame& frame = profile.frames[location.first_frame + i];
        const std::string& name = profile.texts[profile.functions[frame.function].name];
        call = call.empty() ? name : name + ">" + call;
      }
      text = text.empty() ? call : call + ";" + text;
    }
    stacks.push_back(text);
  }
  return stacks;
}

std::vector<std::string> dropped(const std::vector<std::string>& stacks, const std::string& drop,
                                 const std::string& keep = "") {
  ApplicationProfile profile = profile_with(stacks, drop, keep);
  drop_frames(profile);
  EXPECT_THAT(profile.remarks, ::testing::IsEmpty());
  return stacks_of(profile);
}

TEST(DropFrames, LeavesOutTheOutermostMatchAndWhatItCalls) {
  EXPECT_THAT(dropped({"main;make;operator new;tcmalloc::refill", "main;work", "main;malloc;make;free"},
                      "operator new|malloc|free|tcmalloc::.*"),
              ElementsAre("main;make", "main;work", "main"));
}

TEST(DropFrames, KeepsExceptions) {
  EXPECT_THAT(dropped({"main;keep_alloc;malloc", "main;drop_alloc;malloc"}, ".*alloc", "keep_.*"),
              ElementsAre("main;keep_alloc", "main"));
}

TEST(DropFrames, MatchesWholeNamesWithoutParameters) {
  EXPECT_THAT(
      dropped({"main;a::alloc(unsigned long)", "main;a::allocate", "main;(anonymous namespace)::alloc(int)"},
              "a::alloc|\\(anonymous namespace\\)::alloc"),
      ElementsAre("main", "main;a::allocate", "main"));
}

TEST(DropFrames, TakesInlinedCallsOffTheirCaller) {
  EXPECT_THAT(dropped({"main;make>operator new;brk", "main;operator new>fast;brk"}, "operator new"),
              ElementsAre("main;make", "main"));
}

TEST(DropFrames, LeavesProgramsThatAreNothingElse) {
  EXPECT_THAT(dropped({"malloc;malloc", "malloc;main;malloc"}, "malloc"),
              ElementsAre("malloc;malloc", "malloc;main"));
}

TEST(DropFrames, WithoutAnExpressionChangesNothing) {
  EXPECT_THAT(dropped({"main;malloc"}, ""), ElementsAre("main;malloc"));
}

// The rest of the profile is as good as ever.
TEST(DropFrames, WhatIsNoExpressionOrTooLargeIsSaidAndNotApplied) {
  struct Case {
    std::string drop, keep;
    const char* says;
  };
  for (const auto& [drop, keep, says] :
       {Case{"malloc", "(", "keep_frames is not applied: not a regular expression"},
        Case{"[", "", "drop_frames is not applied: not a regular expression"},
        Case{"(malloc.?){900}", "", "drop_frames is not applied: it is too large"},
        Case{std::string(3000, 'm'), "", "drop_frames is not applied: it is too long"}}) {
    ApplicationProfile profile = profile_with({"main;malloc"}, drop, keep);
    drop_frames(profile);
    EXPECT_THAT(profile.remarks, ElementsAre(HasSubstr(says)));
    EXPECT_THAT(stacks_of(profile), ElementsAre("main;malloc"));
  }
}

}  // namespace
}  // namespace plimsoll::formats
