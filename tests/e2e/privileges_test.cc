// plimsolld with each of the sixteen sets of its four capabilities: what it says is missing, and what still works. Needs root,
// to become an ordinary user who holds exactly those.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bitset>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/program.h"
#include "tests/e2e/tracing_files.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Nobody's, in the tests alone: no other program of this user takes from what it may lock.
constexpr const char* kUser = "61001";
constexpr uid_t kUserId = 61001;

enum : size_t { kPerfmon, kPtrace, kReadSearch, kSyslog };
constexpr std::array<const char*, 4> kNames{"perfmon", "sys_ptrace", "dac_read_search", "syslog"};
using Held = std::bitset<4>;

// The command as an ordinary user with these capabilities and no others.
std::vector<std::string> as_user_with(const Held& held, std::vector<std::string> command) {
  std::string capabilities = "-all";
  for (size_t i = 0; i < kNames.size(); ++i) {
    capabilities += held[i] ? std::string(",+") + kNames[i] : "";
  }
  command[0] = program(command[0]);
  command.insert(command.begin(), {"/usr/bin/setpriv", "--reuid", kUser, "--regid", kUser, "--clear-groups",
                                   "--inh-caps", capabilities, "--ambient-caps", capabilities});
  return command;
}

// A line of `probe` that goes with a capability.
struct Rule {
  size_t capability;
  const char* subject;
  const char* missing_ability;
  const char* missing_detail;
};

constexpr std::array<Rule, 8> kProbeRules{{
    {kPerfmon, "CAP_PERFMON", "no", "missing: nothing can be sampled"},
    {kPerfmon, "event cpu-clock", "no", "needs CAP_PERFMON"},
    {kPtrace, "CAP_SYS_PTRACE", "no", "missing: code of other users' processes is unresolved"},
    {kPtrace, "process binaries", "partly", "missing for the others: CAP_SYS_PTRACE"},
    {kReadSearch, "CAP_DAC_READ_SEARCH", "no", "missing: there are no tracepoints, and code of binaries"},
    {kReadSearch, "tracepoints", "no", "tracepoints require CAP_DAC_READ_SEARCH"},
    {kSyslog, "CAP_SYSLOG", "no", "missing: kernel code is unresolved"},
    {kSyslog, "kernel symbols", "no", "CAP_SYSLOG permits reading them"},
}};

// What --once says on standard output.
struct Note {
  size_t capability;
  const char* text;
};

constexpr std::array<Note, 3> kNotes{{
    {kPtrace, "note: CAP_SYS_PTRACE is missing: code of other users' processes is unresolved"},
    {kReadSearch, "note: CAP_DAC_READ_SEARCH is missing: there are no tracepoints, and code of binaries"},
    {kSyslog, "note: kernel code is unresolved: the addresses in /proc/kallsyms are hidden"},
}};

struct Finding {
  std::string ability;
  std::string detail;
};

// The line of a subject in the table of `probe`: "SUBJECT  ABILITY  DETAIL", padded with spaces.
Finding finding_in(const std::string& table, const std::string& subject) {
  Finding finding;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(subject + "  ")) {
      std::istringstream rest(line.substr(subject.size()));
      rest >> finding.ability;
      std::getline(rest, finding.detail);
    }
  }
  return finding;
}

int paranoia() {
  const std::string text = read_file("/proc/sys/kernel/perf_event_paranoid", 64).value_or("0");
  int level = 0;
  std::from_chars(text.data(), text.data() + text.size(), level);
  return level;
}

class Privileges : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || ::access("/usr/bin/setpriv", X_OK) != 0) {
      GTEST_SKIP() << "only root, with setpriv of util-linux, can become a user with chosen capabilities";
    }
    if (paranoia() < 2) {
      GTEST_SKIP() << "kernel.perf_event_paranoid is below 2: any user may do what capabilities permit";
    }
    if (const std::string why = why_no_tracepoints(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    ASSERT_EQ(::chown(folder_.path().c_str(), kUserId, kUserId), 0);
  }

  wire::RawProfile profile() const {
    const auto content = read_file(folder_ / "profile", 1 << 30);
    const auto decoded = wire::decode(as_bytes(content.value_or("")));
    EXPECT_TRUE(decoded) << decoded.error().text();
    return decoded.value_or(wire::RawProfile());
  }

  const TemporaryFolder folder_;
};

class Subsets : public Privileges, public ::testing::WithParamInterface<unsigned> {
 protected:
  const Held held_{GetParam()};
};

TEST_P(Subsets, AreWhatProbeTells) {
  const Finished probe = run(as_user_with(held_, {"plimsolld", "probe"}));
  ASSERT_EQ(probe.status, 0) << probe.err;
  for (const Rule& rule : kProbeRules) {
    const Finding finding = finding_in(probe.out, rule.subject);
    if (held_[rule.capability]) {
      EXPECT_THAT(finding.detail, Not(HasSubstr(rule.missing_detail))) << rule.subject;
      EXPECT_THAT(finding.ability, AnyOf("yes", "partly")) << rule.subject << ": " << finding.detail;
    } else {
      EXPECT_EQ(finding.ability, rule.missing_ability) << rule.subject;
      EXPECT_THAT(finding.detail, HasSubstr(rule.missing_detail)) << rule.subject;
    }
  }
}

TEST_P(Subsets, AreWhatAProfileTells) {
  // A program of root's that others may not read.
  const std::string secret = folder_ / "secret_split";
  std::filesystem::copy_file(program("known_split"), secret);
  ASSERT_EQ(::chmod(secret.c_str(), 0700), 0);
  const Background load({secret, "30", "work"});
  const Finished once = run(
      as_user_with(held_, {"plimsolld", "--once", "0.5", "--rate", "500", "--output", folder_ / "profile"}));
  if (!held_[kPerfmon]) {
    EXPECT_EQ(once.status, 1);
    EXPECT_THAT(once.err,
                HasSubstr("sampling a whole machine needs CAP_PERFMON (kernel.perf_event_paranoid"));
    return;
  }
  ASSERT_EQ(once.status, 0) << once.err;
  for (const Note& note : kNotes) {
    EXPECT_EQ(once.out.find(note.text) == std::string::npos, held_[note.capability]) << once.out;
  }
  const wire::RawProfile profile = this->profile();
  EXPECT_EQ(profile.has_kernel_symbols(), held_[kSyslog]);
  const bool is_known = std::ranges::any_of(profile.binaries(), [&](const wire::Binary& binary) {
    return binary.path() == secret && binary.identity_kind() == wire::GNU_BUILD_ID;
  });
  // Kernels from 6.14 on tell CAP_PERFMON the mappings as well.
  const bool tells_mappings = held_[kPtrace] || !held_[kReadSearch];
  if (tells_mappings) {
    EXPECT_EQ(is_known, held_[kReadSearch]);
  }
}

INSTANTIATE_TEST_SUITE_P(OfFour, Subsets, ::testing::Range(0U, 16U), [](const auto& test) {
  std::string name;
  for (size_t i = 0; i < kNames.size(); ++i) {
    name += Held(test.param)[i] ? std::string("_") + kNames[i] : "";
  }
  return name.empty() ? "none" : name.substr(1);
});

// Started by root, who becomes somebody else.
TEST_F(Privileges, OfRootAreKeptByTheUserItBecomes) {
  const Background load({"known_split", "30", "work"});
  const Finished once =
      run({"plimsolld", "--user", kUser, "--once", "2", "--rate", "500", "--output", folder_ / "profile"});
  ASSERT_EQ(once.status, 0) << once.err;
  struct stat attributes{};
  ASSERT_EQ(::stat((folder_ / "profile").c_str(), &attributes), 0);
  EXPECT_EQ(attributes.st_uid, kUserId);
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder_ / "data", "--symbol-root", built_file(),
                 folder_ / "profile"})
                .status,
            0);
  const Finished top = run({"plimsoll", "top", "--data", folder_ / "data", "--where", "app=known_split"});
  EXPECT_THAT(top.out, HasSubstr("seventy_percent")) << top.err;
}

TEST_F(Privileges, NobodyBecomesAUserThatDoesNotExist) {
  const Finished once =
      run({"plimsolld", "--user", "no-such-user", "--once", "1", "--output", folder_ / "f"});
  EXPECT_EQ(once.status, 2);
  EXPECT_THAT(once.err, HasSubstr("no such user: no-such-user"));
}

TEST_F(Privileges, OfWritingAreLeftToFileModes) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  const Finished once = run({"plimsolld", "--once", "1", "--output", folder_ / "profile"});
  EXPECT_EQ(once.status, 1);
  EXPECT_THAT(once.err, HasSubstr("or give --user OWNER"));
}

// Who may lock little memory gets smaller sample buffers, and is told.
TEST_F(Privileges, ThatLimitMemoryMakeBuffersSmaller) {
  auto command =
      as_user_with(Held("1111"), {"plimsolld", "--once", "0.5", "--rate", "2000", "--output", folder_ / "f"});
  command.insert(command.begin(), {"/usr/bin/prlimit", "--memlock=0"});
  const Finished once = run(command);
  ASSERT_EQ(once.status, 0) << once.err;
  EXPECT_THAT(once.out, HasSubstr("the limit of locked memory is reached; raise it (LimitMEMLOCK="));
}

}  // namespace
}  // namespace plimsoll::testing
