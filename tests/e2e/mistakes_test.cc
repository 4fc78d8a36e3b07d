// docs/mistakes.md: every command that it shows is run, and must print what it shows, all of it.
//
// With UPDATE_DOCS=1 the test writes what is printed into the document instead.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/shown_commands.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

constexpr int64_t kStartNs = 1'795'600'800'000'000'000;  // 2026-11-25T10:00:00Z
constexpr int64_t kMinuteNs = 60'000'000'000;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// What differs from run to run and from machine to machine, as the document has it.
std::string normalized(std::string text) {
  const std::vector<std::pair<std::regex, std::string>> varying{
      {std::regex("after [0-9]+ ms"), "after 0 ms"},
      {std::regex("process [0-9]+"), "process 4711"},
      {std::regex("OpenSSL/[0-9.]+"), "OpenSSL/3"},
      {std::regex("opening event [a-z-]+ on"), "opening event cycles on"},
      {std::regex("there are [^;]*; a virtual"), "there are software, tracepoint; a virtual"},
      {std::regex("perf_event_paranoid (is )?-?[0-9]+"), "perf_event_paranoid $012"}};
  for (const auto& [pattern, with] : varying) {
    text = std::regex_replace(text, pattern, with);
  }
  return text;
}

// As a user without privileges, as most are that try plimsolld.
const std::vector<std::string> kUnprivileged{"/usr/bin/setpriv",   "--reuid=65534",   "--regid=65534",
                                             "--clear-groups",     "--inh-caps=-all", "--ambient-caps=-all",
                                             "--bounding-set=-all"};

// A folder with what readers have: profiles of two jobs on four machines, and servers at the addresses of the document.
class Mistakes : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);  // users without privileges write into it
    import_profiles();
    write("notes.txt", "Buy milk.\n");
    std::filesystem::create_directory(folder_ / "photos");
    write("photos/holiday.jpg", "JFIF");
    write("token", "plimsoll-of-another-server");
    write("server.toml", "[server]\ndata = \"new\"\ndata_dir = \"new\"\n");
    write("unit.toml", "[server]\ndata = \"new\"\n\n[fleet]\nheartbeat = \"5 minutes\"\n");
    ASSERT_EQ(::chmod((folder_ / "token").c_str(), 0600), 0);
    ASSERT_TRUE(server_.becomes_ready()) << server_.process().err();
    ASSERT_TRUE(secured_.becomes_ready()) << secured_.process().err();
  }

  void import_profiles() const {
    std::vector<std::string> import{"plimsoll", "import", "--data", folder_ / "profiles"};
    const std::vector<std::pair<std::string, std::string>> events_of{{"search", "cycles"},
                                                                     {"batch", "cpu-clock"}};
    for (size_t machine = 0; machine < 4; ++machine) {
      const auto& [job, event] = events_of[machine % 2];
      import.push_back(folder_ / fmt::format("m{}.profile", machine));
      std::ofstream(import.back(), std::ios::binary)
          << wire::encode(make_profile({.seed = machine + 1,
                                        .machine = fmt::format("m{}", machine),
                                        .from_ns = kStartNs,
                                        .length_ns = kMinuteNs,
                                        .events = {{.name = event, .scale = 1e7}},
                                        .job = job,
                                        .stacks = "main;serve;memcpy 300\nmain;serve;rank 500\n"}));
    }
    const Finished imported = run(import);
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  // The table of a configuration with a new token, which no reader has.
  static std::string access_config() {
    const std::string printed = run({"plimsoll", "token", "--name", "alice", "--role", "read"}).out;
    return printed.substr(printed.find('\n') + 1);
  }

  Shown run_shown(std::string command) const {
    // The document's addresses are the usual ones, which others may have.
    const std::vector<std::pair<std::string, std::string>> addresses{
        {"127.0.0.1:7070", server_.address()},
        {"127.0.0.1:7071", server_.fleet_address()},
        {"127.0.0.1:8070", secured_.address()},
        {"127.0.0.1:9070", nowhere_}};
    Shown shown{command, {}};
    for (const auto& [document, real] : addresses) {
      replace_all(command, document, real);
    }
    command = "timeout 60 " + command;  // a server that starts after all
    const bool drops_privileges = shown.command.starts_with("plimsolld") && ::geteuid() == 0;
    const Finished finished =
        run_as_shown(command, folder_.path(), drops_privileges ? kUnprivileged : std::vector<std::string>());
    EXPECT_LE(finished.status, 2) << command << " crashed\n" << finished.err;
    std::string printed = finished.out + finished.err;
    for (const auto& [document, real] : addresses) {
      replace_all(printed, real, document);
      replace_all(printed, "port " + real.substr(real.rfind(':') + 1),
                  "port " + document.substr(document.rfind(':') + 1));
    }
    // Of a server that speaks no TLS: whether its answer is seen before the connection ends is up to the machine.
    replace_all(printed, "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to 127.0.0.1:7070 ",
                "OpenSSL/3: error:0A00010B:SSL routines::wrong version number");
    shown.lines = lines_of(normalized(std::move(printed)));
    return shown;
  }

  TemporaryFolder folder_;
  std::string nowhere_ = free_address();
  TestServer server_{folder_ / "served"};
  TestServer secured_{folder_ / "secured", access_config()};
};

TEST_F(Mistakes, PrintWhatTheirDocumentShows) {
  const std::string document = read_document("docs/mistakes.md");
  std::vector<Shown> real;
  const std::vector<Shown> all = shown_in(document);
  EXPECT_GE(all.size(), 20U) << "a command for each mistake";
  const bool updates = std::getenv("UPDATE_DOCS") != nullptr;
  for (const Shown& shown : all) {
    real.push_back(run_shown(shown.command));
    EXPECT_TRUE(updates || shown.lines == real.back().lines)
        << "docs/mistakes.md shows another output of\n$ " << shown.command << "\n"
        << fmt::format("{}", fmt::join(real.back().lines, "\n"));
  }
  if (updates) {
    std::ofstream(source_file("docs/mistakes.md")) << with_output(document, real);
  }
}

}  // namespace
}  // namespace plimsoll::testing
