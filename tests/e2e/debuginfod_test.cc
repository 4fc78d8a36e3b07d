// Our server as a debuginfod of gdb and perf, and as a client of debuginfods that hang or send without an end.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/hex.h"
#include "base/time.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/symbol_address.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"
#include "tests/unit/symbolizer/build_id_of.h"
#include "tests/unit/symbolizer/debuginfod/fake_debuginfod.h"

namespace plimsoll::testing::debuginfod_e2e {
namespace {

using symbolizer::FakeDebuginfod;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

// A stripped program, spin, whose debug file and source are on the server alone.
class Debuggers : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.becomes_ready()) << server_.process().err();
    std::filesystem::create_directories(folder_ / "src");
    std::ofstream(folder_ / "src/spin.c") << R"(static volatile unsigned long turns;
__attribute__((noinline)) static void spin_here(void) {
  for (unsigned long i = 0; i < 1000000; ++i) {
    turns += i;
  }
}
int main(void) {
  for (int i = 0; i < 300; ++i) {
    spin_here();
  }
}
)";
    const Finished built = shell(
        fmt::format("cd '{0}/src' && gcc -O1 -g -ffile-prefix-map='{0}/src'=/build/spin -Wl,--build-id=sha1 "
                    "spin.c -o ../spin && cd .. && objcopy --only-keep-debug spin spin.debug && "
                    "strip --strip-all spin && mkdir home",
                    folder_.path()));
    ASSERT_EQ(built.status, 0) << built.err;
    const Finished added = run({"plimsoll", "binaries", "add", folder_ / "spin.debug", "--sources",
                                "/build/spin = " + (folder_ / "src"), "--server", server_.address()});
    ASSERT_EQ(added.status, 0) << added.err;
    std::filesystem::remove(folder_ / "spin.debug");
    std::filesystem::remove_all(folder_ / "src");
  }

  Finished shell(const std::string& command) const { return run({"/bin/sh", "-c", command}); }
  // With our server as the only debuginfod, and nothing of this user's.
  Finished as_client(const std::string& command) const {
    return shell(
        fmt::format("export HOME='{0}/home' DEBUGINFOD_URLS='http://{1}' DEBUGINFOD_CACHE_PATH='{0}/cache'; "
                    "cd '{0}' && {2}",
                    folder_.path(), server_.address(), command));
  }
  bool has(const std::string& program) const { return shell("command -v " + program).status == 0; }

  TemporaryFolder folder_;
  TestServer server_{folder_ / "data"};
};

TEST_F(Debuggers, GdbGetsFunctionsLinesAndSources) {
  if (shell("gdb --configuration | grep -q -e --with-debuginfod").status != 0) {
    GTEST_SKIP() << "gdb with debuginfod is missing (Debian package gdb)";
  }
  const auto ask_gdb = [this](const std::string& debuginfod) {
    return as_client("gdb -nx -batch -iex 'set debuginfod enabled " + debuginfod +
                     "' -ex 'info line spin_here' -ex 'list spin_here' spin");
  };
  const Finished alone = ask_gdb("off");
  EXPECT_THAT(alone.out + alone.err, Not(HasSubstr("spin.c"))) << "the program is stripped";
  const Finished asked = ask_gdb("on");
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("Line 3 of \"spin.c\" starts at address")) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("turns += i;")) << "of a source file that the server alone has";
}

// Debian's perf 6.1 is built without debuginfod. It reads what debuginfod-find has fetched from its cache of build IDs.
TEST_F(Debuggers, PerfNamesFunctionsByAFileThatWasFetched) {
  if (!has("perf") || !has("debuginfod-find")) {
    GTEST_SKIP() << "perf or debuginfod-find is missing (Debian packages linux-perf and debuginfod)";
  }
  const Finished recorded =
      as_client("perf record --quiet --no-buildid-cache -e cpu-clock:u -F 499 -o perf.data ./spin");
  if (recorded.status != 0) {
    GTEST_SKIP() << "perf cannot record here: " << recorded.err;
  }
  const std::string report =
      "perf --buildid-dir '" + (folder_ / "build-ids") + "' report -i perf.data --stdio --sort dso,symbol";
  const Finished before = as_client(report);
  EXPECT_THAT(before.out, HasSubstr("spin")) << before.err;
  EXPECT_THAT(before.out, Not(HasSubstr("spin_here"))) << "the program is stripped";
  const std::string hex = to_hex(symbolizer::build_id_of(folder_ / "spin"));
  const Finished cached = as_client("found=$(debuginfod-find debuginfo " + hex + ") && perf --buildid-dir '" +
                                    (folder_ / "build-ids") + "' buildid-cache --add \"$found\"");
  ASSERT_EQ(cached.status, 0) << cached.err;
  EXPECT_THAT(as_client(report).out, HasSubstr("spin_here"));
}

const std::string kStripped = built_file("split.so");
const std::string kDebugFile = built_file("split.debug");
const std::string kEndlessBuildId = "a build without an end";

std::string path_of(const std::string& build_id, const std::string& artifact) {
  return "/buildid/" + to_hex(build_id) + "/" + artifact;
}

// Answers with 404 once it is released, and until then not at all.
class HangingDebuginfod {
 public:
  HangingDebuginfod() = default;
  HangingDebuginfod(const HangingDebuginfod&) = delete;
  HangingDebuginfod& operator=(const HangingDebuginfod&) = delete;
  ~HangingDebuginfod() { release(); }

  void release() {
    is_released_ = true;
    is_released_.notify_all();
  }
  int hanging_requests() const { return hanging_requests_; }
  std::string url() const { return server_.url(); }
  std::vector<std::string> paths() const { return server_.paths(); }

 private:
  void answer(int socket) {
    ++hanging_requests_;
    is_released_.wait(false);
    --hanging_requests_;
    FakeDebuginfod::answer(socket, 404, "not found");
  }

  std::atomic<int> hanging_requests_ = 0;
  std::atomic<bool> is_released_ = false;
  FakeDebuginfod server_{[this](const std::string& /*path*/, int socket) { answer(socket); }};
};

wire::Binary binary_of(const std::string& build_id) {
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity(build_id);
  binary.set_path("/nowhere/" + to_hex(build_id).substr(0, 8) + ".so");
  return binary;
}

class BadDebuginfods : public ::testing::Test {
 protected:
  static wire::RawProfile recent_profile(uint64_t seed) {
    return make_profile({.seed = seed, .from_ns = wall_now_ns() - 60 * kNsPerSecond, .stacks = "main 1\n"});
  }
  std::map<std::string, double> functions() const { return self_of(top({"--server", server_.address()})); }
  void send(const wire::RawProfile& profile) const {
    http::Client daemon({.base_url = server_.fleet_address()});
    const auto sent =
        daemon.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
    ASSERT_TRUE(sent && sent->ok()) << (sent ? sent->body : sent.error().text());
  }
  // How often its debug file was asked for, or its executable, whichever more often. What the first leaves of the budget is the second's.
  size_t requests_of_endless() const {
    const std::vector<std::string> paths = endless_.paths();
    return static_cast<size_t>(std::max(std::ranges::count(paths, path_of(kEndlessBuildId, "debuginfo")),
                                        std::ranges::count(paths, path_of(kEndlessBuildId, "executable"))));
  }

  const std::string stripped_ = symbolizer::build_id_of(kStripped);
  TemporaryFolder folder_;
  HangingDebuginfod hanging_;
  const FakeDebuginfod endless_{[](const std::string& path, int socket) {
    if (path.starts_with(path_of(kEndlessBuildId, ""))) {
      FakeDebuginfod::send_without_end(socket);
    } else {
      FakeDebuginfod::answer(socket, 404, "not found");
    }
  }};
  // The time of a build ID is longer than the test: what hangs does so until it is released.
  TestServer server_{folder_ / "data",
                     fmt::format("[symbols]\nretry = \"1s\"\ndebuginfod = [\"{}\", \"{}\"]\n"
                                 "debuginfod_max_bytes = \"1MiB\"\ndebuginfod_max_time = \"30min\"\n",
                                 endless_.url(), hanging_.url())};
};

TEST_F(BadDebuginfods, DelayNoQueryAndCostABuildItsBudgetOnce) {
  ASSERT_TRUE(server_.becomes_ready()) << server_.process().err();
  wire::RawProfile profile = recent_profile(1);
  // The build with the most samples is asked for first.
  add_sample(profile, binary_of(kEndlessBuildId), wire::ELF, 0x1000, 1000);
  add_sample(profile, binary_of(stripped_), wire::ELF,
             address_of_symbol(built_file("inline_gcc5.so"), "plain_c"), 10);
  ASSERT_NO_FATAL_FAILURE(send(profile));
  ASSERT_TRUE(eventually([&] { return hanging_.hanging_requests() == 1; })) << server_.process().err();
  EXPECT_EQ(requests_of_endless(), 1);

  EXPECT_THAT(functions(), Contains(Key(HasSubstr("[no symbol in "))));
  const Finished added = run({"plimsoll", "binaries", "add", kDebugFile, "--server", server_.address()});
  EXPECT_EQ(added.status, 0) << added.err;
  EXPECT_TRUE(eventually([&] { return functions().contains("plain_c"); })) << server_.process().err();
  EXPECT_EQ(hanging_.hanging_requests(), 1) << "all this while";

  // A later pass asks for another build, although the endless one has more samples.
  hanging_.release();
  const std::string later = "a build that comes later";
  wire::RawProfile another = recent_profile(2);
  add_sample(another, binary_of(later), wire::ELF, 0x1000, 1);
  ASSERT_NO_FATAL_FAILURE(send(another));
  EXPECT_TRUE(eventually([&] {
    return std::ranges::count(hanging_.paths(), path_of(later, "debuginfo")) == 1;
  })) << server_.process().err();
  EXPECT_EQ(requests_of_endless(), 1);
}

}  // namespace
}  // namespace plimsoll::testing::debuginfod_e2e
