// A program that was profiled by the daemon, and `plimsoll fdo` on it: for tests of compiler profiles.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "elf/elf_file.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {

inline constexpr const char* kFdoCompiler = "/usr/bin/clang++-19";

// A hot loop with a common and a rare branch, whose callee is inlined. Its argument says how much it does.
inline constexpr const char* kFdoSource = R"(#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {
struct Random {
  uint64_t state = 88172645463325252U;
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};
}  // namespace

uint64_t rare_case(uint64_t value, const std::vector<uint64_t>& table) {
  uint64_t sum = 0;
  for (uint64_t entry : table) {
    sum += entry % (value | 1);
  }
  return sum;
}

__attribute__((noinline)) uint64_t hot_loop(const std::vector<uint64_t>& table, uint64_t rounds) {
  Random random;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < rounds; ++i) {
    const uint64_t value = random.next();
    if (value % 4099 == 0) {
      sum += rare_case(value, table);
    } else if (value & 64) {
      sum += table[value % table.size()];
    } else {
      sum ^= value;
    }
  }
  return sum;
}

int main(int, char** argv) {
  std::vector<uint64_t> table;
  for (uint64_t i = 0; i < 512; ++i) {
    table.push_back(i * 2654435761U);
  }
  std::printf("%llu\n", static_cast<unsigned long long>(hot_loop(table, std::strtoull(argv[1], nullptr, 10))));
}
)";

inline std::string build_id_of(const std::string& path) {
  const auto content = read_file(path, 64 << 20);
  EXPECT_TRUE(content) << path;
  return to_hex(elf::ElfFile::parse(as_bytes(*content))->build_id());
}

// The program and its profile, made once.
class ProfiledProgram {
 public:
  ProfiledProgram() {
    std::ofstream(folder_ / "app.cc") << kFdoSource;
    build("app", {"-gmlt", "-fdebug-info-for-profiling"});
    build("no_lines", {});
    const Background load({folder_ / "app", "4000000000"});
    const Finished once =
        testing::run({"plimsolld", "--once", "4", "--rate", "999", "--output", folder_ / "profile"});
    EXPECT_EQ(once.status, 0) << once.err;
    const Finished imported =
        testing::run({"plimsoll", "import", "--data", folder_ / "data", folder_ / "profile"});
    EXPECT_EQ(imported.status, 0) << imported.err;
  }

  std::string operator/(const std::string& name) const { return folder_ / name; }

  void build(const std::string& name, const std::vector<std::string>& flags,
             const std::string& source = "app.cc") const {
    std::vector<std::string> command{kFdoCompiler,     "-O2", "-Wl,--build-id=sha1",
                                     folder_ / source, "-o",  folder_ / name};
    command.insert(command.end(), flags.begin(), flags.end());
    const Finished built = testing::run(command);
    EXPECT_EQ(built.status, 0) << built.err;
  }

 private:
  TemporaryFolder folder_;
};

// A suite of such tests: `class Fdo : public FdoTest`. Where the machine may not be sampled, or clang-19 is missing, they are skipped.
class FdoTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (may_sample_machine() && std::filesystem::exists(kFdoCompiler)) {
      profiled_ = std::make_unique<ProfiledProgram>();
    }
  }
  static void TearDownTestSuite() { profiled_.reset(); }

  void SetUp() override {
    if (profiled_ == nullptr) {
      GTEST_SKIP() << "this user may not sample the machine, or clang-19 is missing";
    }
  }

  // `plimsoll fdo WORDS --data DATA`, in the folder of the program.
  static Finished fdo(std::vector<std::string> words) {
    words.insert(words.begin(), {"plimsoll", "fdo"});
    words.insert(words.end(), {"--data", *profiled_ / "data"});
    return run(words);
  }

  static std::string file(const std::string& name) { return *profiled_ / name; }

  static void shell(const std::string& command) {
    const Finished done = run({"/bin/sh", "-c", "cd " + file("") + " && " + command});
    EXPECT_EQ(done.status, 0) << command << ": " << done.err;
  }

  // The error, of a command that must leave no file behind.
  static std::string refusal(std::vector<std::string> words, const std::string& subcommand = "autofdo") {
    const std::string output = file("refused");
    words.insert(words.begin(), subcommand);
    words.insert(words.end(), {"--output", output});
    const Finished refused = fdo(std::move(words));
    EXPECT_NE(refused.status, 0) << refused.out;
    EXPECT_FALSE(std::filesystem::exists(output)) << refused.err;
    return refused.err;
  }

  // Of the suite that runs.
  static inline std::unique_ptr<ProfiledProgram> profiled_;
};

}  // namespace plimsoll::testing
