// What becomes of profiles for which there is no memory, or that end the process that builds rows of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "tests/unit/store/ingest_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::make_profile;
using plimsoll::testing::profile_id;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Of nine million rows, for which 288 MB are set aside.
wire::RawProfile large_profile(uint64_t seed) {
  wire::RawProfile profile = make_profile({.seed = seed, .stacks = "main 1\n"});
  wire::SampleTable& table = *profile.mutable_samples(0);
  constexpr int kRowsOfLarge = 9'000'000;
  table.mutable_thread()->Resize(kRowsOfLarge, table.thread(0));
  table.mutable_stack()->Resize(kRowsOfLarge, table.stack(0));
  table.mutable_hits()->Resize(kRowsOfLarge, 1);
  profile.mutable_events(0)->set_hits(kRowsOfLarge);
  return profile;
}

TEST_F(IngestTest, LargeProfilesWaitForEachOthersMemoryAndSmallOnesDoNot) {
  const auto ingest = open();
  const std::string first = wire::encode(large_profile(1));
  const std::string second = wire::encode(large_profile(2));
  bool is_decoded = false;
  const auto accepted = ingest->accept(as_bytes(first), {}, [&](const wire::RawProfile&) -> Status {
    is_decoded = true;
    const auto refused = ingest->accept(as_bytes(second), {});
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().text();
    EXPECT_TRUE(accept(*ingest, make_profile({.seed = 3})));
    return {};
  });
  EXPECT_TRUE(accepted) << accepted.error().text();
  EXPECT_TRUE(is_decoded);
  EXPECT_TRUE(ingest->accept(as_bytes(second), {})) << "the first has given its memory back";
}

// With 24 MiB of names, in one piece.
void add_large_kernel(wire::RawProfile& profile) {
  wire::Binary kernel;
  kernel.set_identity_kind(wire::GNU_BUILD_ID);
  kernel.set_identity("kernel");
  kernel.set_path("[kernel]");
  plimsoll::testing::add_sample(profile, kernel, wire::KERNEL, 0x1000, 1);
  wire::KernelImage& image = *profile.mutable_kernel_symbols()->add_images();
  image.set_binary(static_cast<uint32_t>(profile.binaries_size() - 1));
  std::string names;
  for (int i = 0; i < 6'000; ++i) {
    image.add_offset_delta(0x100);
    names += std::string(4'000, 'x') + '\0';
  }
  image.set_names(names);
}

TEST_F(IngestTest, ALargeProfileThatThereIsNoMemoryForIsSetAsideAndTheOthersAreBuilt) {
  const auto ingest = open();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    auto profile = make_profile({.seed = seed});
    if (seed == 2) {
      add_large_kernel(profile);
    }
    ASSERT_TRUE(accept(*ingest, profile));
  }
  int builds_of_second = 0;
  ingest->on_building([&](const ArchivedProfile& profile) {
    if (profile.id == profile_id(2)) {
      ++builds_of_second;
      throw std::bad_alloc();
    }
  });
  uint64_t built = 0;
  uint64_t set_aside = 0;
  int failures = 0;
  for (int i = 0; i < 10; ++i) {
    const auto report = ingest->build_pending();
    failures += report ? 0 : 1;
    built += report ? report->profiles : 0;
    set_aside += report ? report->unbuildable : 0;
  }
  EXPECT_EQ(built, 2);
  EXPECT_EQ(set_aside, 1);
  EXPECT_EQ(failures, 2);
  EXPECT_EQ(builds_of_second, 2);
  EXPECT_EQ(number("SELECT count(*) FROM unbuildable WHERE reason LIKE '%failed twice%bad_alloc%'"), 1);
}

TEST_F(IngestTest, ASmallProfileIsBuiltOnceOthersHaveGivenTheirMemoryBack) {
  const auto ingest = open();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = seed})));
  }
  bool has_memory = false;
  ingest->on_building([&](const ArchivedProfile& profile) {
    if (!has_memory && profile.id == profile_id(2)) {
      throw std::bad_alloc();
    }
  });
  uint64_t built = 0;
  for (int i = 0; i < 5; ++i) {
    const auto report = ingest->build_pending();
    built += report ? report->profiles : 0;
  }
  EXPECT_EQ(built, 1) << "the first";
  has_memory = true;
  for (int i = 0; i < 3; ++i) {
    built += ingest->build_pending()->profiles;
  }
  EXPECT_EQ(built, 3);
  EXPECT_EQ(number("SELECT count(*) FROM unbuildable"), 0);
}

TEST_F(IngestTest, ThoseBeforeAProfileThatMakesTroubleAreBuiltTogetherAndThenItAlone) {
  const auto ingest = open();
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = seed})));
  }
  bool has_memory = false;
  ingest->on_building([&](const ArchivedProfile& profile) {
    if (!has_memory && profile.id == profile_id(7)) {
      throw std::bad_alloc();
    }
  });
  EXPECT_FALSE(ingest->build_pending());
  has_memory = true;
  std::vector<uint64_t> batches;
  for (int i = 0; i < 5; ++i) {
    batches.push_back(ingest->build_pending()->profiles);
  }
  // Half of the seven that were tried; as many again, but for the seventh.
  EXPECT_EQ(batches, (std::vector<uint64_t>{3, 3, 1, 3, 0}));
}

TEST_F(IngestTest, ABatchThatFailsHalvesTheNextOnesUntilTheyDoNot) {
  const auto ingest = open();
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    ASSERT_TRUE(accept(*ingest, make_profile({.seed = seed})));
  }
  // No more than 64 fit into memory at once, whichever they are.
  int held = 0;
  ingest->on_building([&](const ArchivedProfile& /*profile*/) {
    if (++held > 64) {
      throw std::bad_alloc();
    }
  });
  std::vector<uint64_t> batches;  // 0: failed
  for (uint64_t built = 0; built < 300 && batches.size() < 300; built += batches.back()) {
    held = 0;
    const auto report = ingest->build_pending();
    batches.push_back(report ? report->profiles : 0);
  }
  // The 65th failed: half of that, the others before it and it alone; then an eighth more each time.
  EXPECT_THAT(batches, ElementsAre(0, 32, 32, 1, 45, 50, 56, 63, 21));
  EXPECT_EQ(number("SELECT count(*) FROM unbuildable"), 0);
}

// A process that accepts three profiles, and ends by that signal while it builds the second.
class EndedWhileBuilding : public IngestTest {
 protected:
  void end_by(int signal_number) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto ingest = open();
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        auto profile = make_profile({.seed = seed});
        if (seed == 2) {
          add_large_kernel(profile);
        }
        static_cast<void>(accept(*ingest, profile).has_value());
      }
      ingest->on_building([=](const ArchivedProfile& profile) {
        if (profile.id == profile_id(2)) {
          std::signal(signal_number, SIG_DFL);
          std::raise(signal_number);
        }
      });
      static_cast<void>(ingest->build_pending().has_value());
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal_number) << status;
  }

  // Until nothing is pending.
  static BuildReport build_all(Ingest& ingest) {
    BuildReport all;
    for (BuildReport report = build(ingest); report.profiles + report.unbuildable > 0;
         report = build(ingest)) {
      all.profiles += report.profiles;
      all.unbuildable += report.unbuildable;
    }
    return all;
  }
};

TEST_F(EndedWhileBuilding, ByWhateverCauseAProfileThatCanBeBuiltIsBuilt) {
  for (const int signal_number : {SIGKILL, SIGSEGV, SIGTERM, SIGKILL}) {
    std::filesystem::remove_all(path_);
    end_by(signal_number);
    const auto ingest = open();
    const BuildReport report = build_all(*ingest);
    EXPECT_EQ(report.profiles, 3) << signal_number;
    EXPECT_EQ(report.unbuildable, 0);
    EXPECT_EQ(number("SELECT count(*) FROM origin"), 3);
  }
}

TEST_F(EndedWhileBuilding, AProfileThatEndsAProcessByItselfIsSetAsideAndTheOthersAreBuilt) {
#ifdef PLIMSOLL_SANITIZED
  GTEST_SKIP() << "sanitizers have allocators of their own";
#endif
  end_by(SIGKILL);  // as the kernel ends a process that takes all memory
  auto ingest = Ingest::open(path_, {.trial_memory_bytes = uint64_t{1} << 20});
  ASSERT_TRUE(ingest) << ingest.error().text();
  const BuildReport report = build_all(**ingest);
  EXPECT_EQ(report.profiles, 2);
  EXPECT_EQ(report.unbuildable, 1);
  EXPECT_EQ(number("SELECT archive_sequence FROM unbuildable"), 2);
  EXPECT_THAT(text("SELECT reason FROM unbuildable"), HasSubstr("more than 1 MiB of memory"));
  ingest->reset();
  // It stays so, and is not tried again.
  EXPECT_EQ(build_all(*open()).profiles, 0);
  EXPECT_EQ(number("SELECT count(*) FROM unbuildable"), 1);
}

TEST_F(EndedWhileBuilding, TheTrialIsOfTheProfileAtWhichItEndedAlone) {
  end_by(SIGKILL);
  {
    const auto ingest = open();
    EXPECT_EQ(build_all(*ingest).profiles, 3);
  }
  // No process has ended since: what the limit is makes no difference.
  const auto ingest = Ingest::open(path_, {.trial_memory_bytes = 0});
  ASSERT_TRUE(ingest);
  ASSERT_TRUE(accept(**ingest, make_profile({.seed = 4})));
  EXPECT_EQ(build_all(**ingest).profiles, 1);
}

}  // namespace
}  // namespace plimsoll::store
