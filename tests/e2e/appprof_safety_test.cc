// What the library of appprof/ must not change: how a program crashes, what another library in LD_PRELOAD sees, and how a program
// runs that has another allocator or is static. Needs no privileges beyond one's own processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <thread>

#include "http/client.h"
#include "tests/e2e/program.h"
#include "tests/eventually.h"
#include "tests/places.h"

namespace plimsoll::testing::appprof_safety_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTcmalloc = ":libtcmalloc.so.4";

// Where Debian's libjemalloc2 has it.
std::string jemalloc() {
  for (const char* path :
       {"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/lib/aarch64-linux-gnu/libjemalloc.so.2"}) {
    if (::access(path, R_OK) == 0) {
      return path;
    }
  }
  return {};
}

struct Answer {
  int status = 0;  // 0: none came
  std::string body;
};

// The program that ends at SIGUSR1 (tests/workloads/appprof_endings.cc), until it has ended.
class Ending {
 public:
  Ending(const std::string& name, const std::string& how, const std::string& preload = {})
      : process_(command(name, how, preload)) {
    EXPECT_TRUE(eventually([&] { return process_.out().find("ready\n") != std::string::npos; }))
        << process_.err();
  }

  // Empty where it announces nothing.
  std::string announcement() const {
    return run({"/bin/sh", "-c", "cat " + folder_.path() + "/*.json 2>/dev/null"}).out;
  }

  Answer get(const std::string& path) const {
    const std::string json = announcement();
    const size_t begin = json.find("http://");
    if (begin == std::string::npos) {
      return {};
    }
    const std::string url = json.substr(begin, json.find('"', begin) - begin);
    const auto response = http::Client({.base_url = url}).send("GET", path);
    return response ? Answer{static_cast<int>(response->status), response->body} : Answer{};
  }

  // What it ends with, and what it wrote, with addresses left out. A status of -1: it hangs.
  Finished end() {
    process_.kill(SIGUSR1);
    const bool has_ended = eventually([&] {
      siginfo_t info{};
      return ::waitid(P_PID, static_cast<id_t>(process_.pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
             info.si_pid == process_.pid();
    });
    if (!has_ended) {
      return {-1, "", "hangs"};
    }
    Finished finished = process_.wait();
    finished.err = std::regex_replace(finished.err, std::regex("0x[0-9a-f]+"), "0x");
    return finished;
  }

 private:
  // The environment starts the library where it is preloaded; the linked one starts by a call.
  std::vector<std::string> command(const std::string& name, const std::string& how,
                                   const std::string& preload) const {
    std::vector<std::string> argv;
    if (!preload.empty()) {
      argv = {"/usr/bin/env",
              "LD_PRELOAD=" + preload,
              "PLIMSOLL_APPPROF_ANNOUNCE=1",
              "PLIMSOLL_APPPROF_DIR=" + folder_.path(),
              "PLIMSOLL_APPPROF_LOCK_NS=10",
              "PLIMSOLL_APPPROF_HEAP_BYTES=4096",
              "PLIMSOLL_APPPROF_REQUESTS=10000"};
    }
    argv.insert(argv.end(), {program(name), how, folder_.path()});
    return argv;
  }

  TemporaryFolder folder_;
  Background process_;
};

bool is_another_under_way(const Answer& answer) {
  return answer.status == 429 && answer.body.find("one at a time") != std::string::npos;
}

// Ends the program while `profile` is taken of it.
Finished end_while_profiled(Ending& ending, const std::string& profile) {
  std::thread asks([&] {
    while (is_another_under_way(ending.get(profile))) {  // a look below may be under way
    }
  });
  EXPECT_TRUE(eventually([&] { return is_another_under_way(ending.get("/debug/pprof/threads")); }));
  Finished finished = ending.end();
  asks.join();
  return finished;
}

struct Way {
  const char* how;
  int status;
  const char* says;  // on standard error, with glibc's allocator
};

class AppprofCrash : public ::testing::TestWithParam<Way> {
 protected:
  // Without the library, with the allocator that the library is compared with.
  static Finished as_before(const std::string& preload) {
    Finished before = Ending("appprof_endings_plain", GetParam().how, preload).end();
    EXPECT_EQ(before.status, GetParam().status) << "the program itself";
    return before;
  }

  static void expect_same(const Finished& before, const Finished& with_library) {
    EXPECT_EQ(with_library.status, before.status);
    EXPECT_EQ(with_library.err, before.err);
    EXPECT_EQ(with_library.out, before.out);
  }

  static void expect_same_however_profiled(const Finished& before, const std::string& name,
                                           const std::string& preload) {
    {
      SCOPED_TRACE("not profiled");
      Ending ending(name, GetParam().how, preload);
      EXPECT_THAT(ending.announcement(), HasSubstr("http://")) << "it serves";
      expect_same(before, ending.end());
    }
    for (const char* profile : {"/debug/pprof/wall?seconds=60", "/debug/pprof/profile?seconds=60"}) {
      SCOPED_TRACE(profile);
      Ending ending(name, GetParam().how, preload);
      expect_same(before, end_while_profiled(ending, profile));
    }
  }
};

TEST_P(AppprofCrash, IsTheSameWithTheLibraryPreloaded) {
  const Finished before = as_before("");
  EXPECT_THAT(before.err, HasSubstr(GetParam().says));
  expect_same_however_profiled(before, "appprof_endings_plain", built_file("libplimsoll_appprof.so"));
}

TEST_P(AppprofCrash, IsTheSameWithTheLibraryLinked) {
  expect_same_however_profiled(as_before("libtcmalloc.so.4"), "appprof_endings", "");
}

INSTANTIATE_TEST_SUITE_P(Ways, AppprofCrash,
                         ::testing::Values(Way{"segv", 128 + SIGSEGV, ""},
                                           Way{"segv-in-thread", 128 + SIGSEGV, ""},
                                           Way{"own-handler", 3, "the program's own handler"},
                                           Way{"bad-free", 128 + SIGABRT, "free(): invalid pointer"},
                                           Way{"exception", 128 + SIGABRT, "this is not caught"},
                                           Way{"exception-in-thread", 128 + SIGABRT, "this is not caught"},
                                           Way{"noexcept", 128 + SIGABRT, "this is not caught"},
                                           Way{"fpe-in-thread", 128 + SIGFPE, ""}),
                         [](const auto& way) {
                           return std::regex_replace(std::string(way.param.how), std::regex("-"), "_");
                         });

// What the program that counts its own calls by a library in LD_PRELOAD prints: 1,000 of each.
constexpr const char* kAllCounted = "ready\nlocks 1000 allocations 1000\n";

// Before another library that also replaces the calls that try, as tools that follow locks do: both see everything.
TEST(AppprofBesideAnotherLibrary, BothWorkWhereItComesFirst) {
  Ending ending(
      "appprof_endings_plain", "count-calls",
      built_file("libplimsoll_appprof.so") + ":" + built_file("call_counter_with_tries.so") + kTcmalloc);
  EXPECT_THAT(ending.announcement(), HasSubstr("\"problems\": []"));
  for (const char* kind :
       {"heap", "allocs", "contention", "mutex", "threads", "wall?seconds=1", "profile?seconds=1"}) {
    EXPECT_EQ(ending.get(std::string("/debug/pprof/") + kind).status, 200) << kind;
  }
  EXPECT_THAT(ending.get("/pprof/contention").body, HasSubstr(" 1 @ ")) << "the wait before it was ready";
  const Finished finished = ending.end();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, kAllCounted);
}

// Calls that arrive in the other library first: those that it makes are not the application's. And behind ours one that does not see
// locks taken by trying. Both are left alone, and the rest is served.
TEST(AppprofBesideAnotherLibrary, LocksAreRefusedWhereItWouldMissThem) {
  const std::string ours = built_file("libplimsoll_appprof.so");
  for (const auto& [preload, why] : std::vector<std::pair<std::string, std::string>>{
           {built_file("call_counter_with_tries.so") + ":" + ours,
            "another library replaces pthread_mutex_lock"},
           {built_file("call_counter.so") + ":" + ours, "another library replaces pthread_mutex_lock"},
           {ours + ":" + built_file("call_counter.so"),
            "a library loaded after this one replaces calls that lock"}}) {
    SCOPED_TRACE(preload);
    Ending ending("appprof_endings_plain", "count-calls", preload + kTcmalloc);
    EXPECT_THAT(ending.announcement(), HasSubstr(why));
    EXPECT_THAT(ending.get("/").body, HasSubstr("not available: lock waits are not seen"));
    for (const char* kind : {"contention", "mutex", "block"}) {
      const Answer refused = ending.get(std::string("/debug/pprof/") + kind);
      EXPECT_EQ(refused.status, 501) << kind;
      EXPECT_THAT(refused.body, HasSubstr(why)) << kind;
    }
    for (const char* kind : {"heap", "allocs", "threads", "wall?seconds=1", "profile?seconds=1"}) {
      EXPECT_EQ(ending.get(std::string("/debug/pprof/") + kind).status, 200) << kind;
    }
    const Finished finished = ending.end();
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    EXPECT_EQ(finished.out, kAllCounted);
  }
}

// Also where tcmalloc is loaded, and jemalloc's malloc() comes first.
TEST(AppprofBesideJemalloc, HeapKindsSayWhatIsMissingAndTheRestIsServed) {
  if (jemalloc().empty()) {
    GTEST_SKIP() << "libjemalloc.so.2 (libjemalloc2) is not installed";
  }
  const std::string ours = built_file("libplimsoll_appprof.so");
  for (const std::string& preload :
       {ours + ":" + jemalloc(), jemalloc() + ":" + ours, ours + ":" + jemalloc() + kTcmalloc}) {
    SCOPED_TRACE(preload);
    Ending ending("appprof_endings_plain", "nothing", preload);
    EXPECT_THAT(ending.announcement(), AllOf(HasSubstr("tcmalloc is not the allocator"),
                                             HasSubstr("\"contention\""), Not(HasSubstr("\"heap\""))));
    for (const char* kind : {"heap", "allocs", "growth"}) {
      const Answer refused = ending.get(std::string("/debug/pprof/") + kind);
      EXPECT_EQ(refused.status, 501) << kind;
      EXPECT_THAT(refused.body, HasSubstr("tcmalloc is not the allocator")) << kind;
    }
    for (const char* kind : {"mutex", "block", "threads", "wall?seconds=1", "profile?seconds=1"}) {
      EXPECT_EQ(ending.get(std::string("/debug/pprof/") + kind).status, 200) << kind;
    }
    EXPECT_THAT(ending.get("/pprof/contention").body, HasSubstr(" 1 @ ")) << "the wait before it was ready";
    const Finished finished = ending.end();
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
  }
}

// The loader of shared libraries takes no part: it runs as without, and serves nothing.
TEST(AppprofInAStaticProgram, PreloadedDoesNothing) {
  Ending ending("appprof_endings_static", "exception", built_file("libplimsoll_appprof.so"));
  EXPECT_EQ(ending.announcement(), "");
  const Finished finished = ending.end();
  EXPECT_EQ(finished.status, 128 + SIGABRT);
  EXPECT_THAT(finished.err, HasSubstr("this is not caught"));
}

// The static library with a C library that is static too: refused at the start, in place of locks that fail one by one.
TEST(AppprofInAStaticProgram, LinkedSaysAtTheStartThatItCannotWork) {
  const Finished finished = run({"appprof_endings_static_linked", "nothing"});
  EXPECT_EQ(finished.status, 127);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err,
              AllOf(HasSubstr("libplimsoll_appprof: this program is linked statically with the C library"),
                    HasSubstr("link the C library dynamically")));
}

}  // namespace
}  // namespace plimsoll::testing::appprof_safety_test
