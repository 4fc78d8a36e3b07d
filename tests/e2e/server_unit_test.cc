// What the server calls and writes while it serves, beside what its unit (scripts/plimsoll-server.service) permits: a filter that is too
// narrow shows at a customer's otherwise.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/hex.h"
#include "elf/elf_file.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/secured_settings.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

using Names = std::set<std::string>;

Names words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

// The values of a key in the unit, in the order of its lines.
std::vector<std::string> unit_lines(const std::string& key) {
  std::ifstream unit(source_file("scripts/plimsoll-server.service"));
  std::vector<std::string> values;
  for (std::string line; std::getline(unit, line);) {
    if (line.starts_with(key + "=")) {
      values.push_back(line.substr(key.size() + 1));
    }
  }
  return values;
}

// The calls of a group ("@file-system"), those of the groups in it too; of anything else itself.
Names calls_of(const std::string& name) {
  if (!name.starts_with('@')) {
    return {name};
  }
  const Finished listed = run({"/usr/bin/systemd-analyze", "syscall-filter", "--no-pager", name});
  EXPECT_EQ(listed.status, 0) << listed.err;
  Names calls;
  std::istringstream lines(listed.out);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& call : line.find('#') == std::string::npos ? words_of(line) : Names()) {
      if (call != name) {
        calls.merge(calls_of(call));
      }
    }
  }
  return calls;
}

// As systemd.exec(5) says of SystemCallFilter=: the first line begins a list of what is permitted, to which @default belongs; later ones
// add to it, or take from it.
Names permitted_calls() {
  Names permitted = calls_of("@default");
  for (const std::string& line : unit_lines("SystemCallFilter")) {
    const bool takes_away = line.starts_with('~');
    for (const std::string& name : words_of(takes_away ? line.substr(1) : line)) {
      for (const std::string& call : calls_of(name)) {
        if (takes_away) {
          permitted.erase(call);
        } else {
          permitted.insert(call);
        }
      }
    }
  }
  return permitted;
}

struct Traced {
  Names calls;
  Names written;           // paths of files that were opened for writing, made, renamed or removed
  Names address_families;  // of sockets
  Names refused_by_unit;   // whole lines that other keys of the unit forbid
};

// Of a line of `strace -f -y`: `1234 openat(AT_FDCWD</>, "/tmp/x", O_RDWR) = 3`.
void add_line(const std::string& line, Traced& traced) {
  static const std::regex kCall(R"(^\d+ +(\w+)\((.*)$)");
  static const std::regex kPath(R"re((?:<([^>]*)>, )?"([^"]*)")re");
  static const Names kChanging = {"creat",  "mkdir",    "mkdirat", "rename",  "renameat",  "renameat2",
                                  "unlink", "unlinkat", "rmdir",   "symlink", "symlinkat", "link",
                                  "linkat", "truncate", "chmod",   "fchmodat"};
  std::smatch call;
  if (!std::regex_search(line, call, kCall)) {
    return;  // the rest of a call, a signal, an end
  }
  const std::string name = call[1];
  const std::string arguments = call[2];
  traced.calls.insert(name);
  const bool opens = name == "open" || name == "openat";
  const bool writes = arguments.find("O_WRONLY") != std::string::npos ||
                      arguments.find("O_RDWR") != std::string::npos ||
                      arguments.find("O_CREAT") != std::string::npos;
  if (kChanging.contains(name) || (opens && writes)) {
    for (std::sregex_iterator path(arguments.begin(), arguments.end(), kPath), end; path != end; ++path) {
      traced.written.insert(
          (std::filesystem::path((*path)[1].str()) / (*path)[2].str()).lexically_normal().string());
    }
  }
  if (name == "socket" || name == "socketpair") {
    traced.address_families.insert(arguments.substr(0, arguments.find(',')));
  }
  const bool is_writable_code =
      (name == "mmap" && arguments.find("PROT_WRITE|PROT_EXEC") != std::string::npos) ||
      (name == "mprotect" && arguments.find("PROT_EXEC") != std::string::npos);
  if (is_writable_code || arguments.find("CLONE_NEW") != std::string::npos ||
      arguments.find("S_ISUID") != std::string::npos || arguments.find("SCHED_FIFO") != std::string::npos) {
    traced.refused_by_unit.insert(line);
  }
}

Traced read_trace(const std::string& path) {
  Traced traced;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    add_line(line, traced);
  }
  return traced;
}

// A profile with a sample in main() of a program that has symbols.
wire::RawProfile profile_of(const std::string& binary) {
  const std::string content = *read_file(binary, uint64_t{1} << 30);
  const auto elf = elf::ElfFile::parse(as_bytes(content));
  uint64_t main_address = 0;
  elf->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
    main_address = symbol.name == "main" ? symbol.address : main_address;
  });
  wire::Binary made;
  made.set_identity_kind(wire::GNU_BUILD_ID);
  made.set_identity(std::string(elf->build_id()));
  made.set_path(binary);
  wire::RawProfile profile = make_profile({.stacks = "read 1\n"});
  add_sample(profile, made, wire::ELF, main_address, 5);
  return profile;
}

class ServerUnit : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* const tool : {"/usr/bin/strace", "/usr/bin/systemd-analyze"}) {
      if (!std::filesystem::exists(tool)) {
        GTEST_SKIP() << tool << " is missing: run scripts/install.sh --tests";
      }
    }
    const Finished tried = run({"/usr/bin/strace", "-f", "-o", "/dev/null", "/bin/true"});
    if (tried.status != 0) {
      GTEST_SKIP() << "strace cannot trace here: " << tried.err;
    }
  }

  void write_config() const {
    std::ofstream(config_path_) << settings_.config()
                                << fmt::format("[symbols]\nroots = [\"{}\"]\n", built_file());
  }

  // The server's own process, strace's child, which has written its number into the lock.
  pid_t server() const { return std::stoi(*read_file(data_ + "/lock", 64)); }

  std::vector<std::string> asking(std::vector<std::string> argv) const {
    argv.insert(argv.end(), {"--server", people_});
    const auto flags = settings_.flags("read");
    argv.insert(argv.end(), flags.begin(), flags.end());
    return argv;
  }

  bool is_ready() const {
    http::Client client({.base_url = people_, .credentials = {.ca = settings_.ca()}});
    return eventually([&] {
      const auto response = client.send("GET", "/readyz");
      return response && response->ok();
    });
  }

  TemporaryFolder folder_;
  SecuredSettings settings_;
  std::string data_ = folder_ / "data";
  std::string trace_ = folder_ / "trace";
  std::string config_path_ = folder_ / "server.toml";
  std::string people_listen_ = free_address();
  std::string daemons_listen_ = free_address();
  std::string people_ = "https://" + people_listen_;
};

TEST_F(ServerUnit, PermitsAllThatTheServerDoes) {
  write_config();
  Background traced({"/usr/bin/strace", "-f", "-y", "-qq", "-e", "signal=none", "-o", trace_,
                     program("plimsoll"), "server", "--data", data_, "--config", config_path_, "--listen",
                     people_listen_, "--fleet-listen", daemons_listen_});
  ASSERT_TRUE(is_ready()) << traced.err();
  // Uploading, rows, symbols.
  http::Client uploader({.base_url = "https://" + daemons_listen_,
                         .credentials = {.token = settings_.token("upload"), .ca = settings_.ca()}});
  const wire::RawProfile profile = profile_of(program("known_split"));
  const auto sent =
      uploader.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
  ASSERT_TRUE(sent && sent->ok()) << (sent ? sent->body : sent.error().text());
  EXPECT_TRUE(eventually([&] {
    return run(asking({"plimsoll", "top"})).out.find("main") != std::string::npos;
  })) << run(asking({"plimsoll", "top"})).out
      << traced.err();
  // Questions of each kind: a statement that sorts much goes to temporary files.
  EXPECT_EQ(run(asking({"plimsoll", "sql",
                        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
                        "SELECT count(*) FROM (SELECT i, printf('%100d', i) AS t FROM n ORDER BY t DESC)"}))
                .status,
            0);
  EXPECT_EQ(run(asking({"plimsoll", "machines"})).status, 0);
  EXPECT_EQ(run(asking({"plimsoll", "export", "--pprof", folder_ / "out.pprof"})).status, 0);
  // Reloading, and the end.
  ASSERT_EQ(::kill(server(), SIGHUP), 0);
  EXPECT_TRUE(eventually([&] {
    return traced.err().find("reloaded tokens and certificates") != std::string::npos;
  })) << traced.err();
  ASSERT_EQ(::kill(server(), SIGTERM), 0);
  const Finished ended = traced.wait();
  ASSERT_EQ(ended.status, 0) << ended.err;

  Traced did = read_trace(trace_);
  // The trace is of what was meant: connections, SQLite's files, the process that parses.
  EXPECT_THAT(did.calls,
              IsSupersetOf({"accept4", "pwrite64", "fsync", "seccomp", "clone", "recvmsg", "wait4"}));
  EXPECT_THAT(did.written, Contains(data_ + "/blocks/000001/catalogue.db"));
  const Names permitted = permitted_calls();
  ASSERT_THAT(permitted, Not(Contains("mount"))) << "the unit was understood";
  if (::geteuid() == 0) {
    did.calls.erase(
        "fchown");  // of root alone, which the unit's user is not: SQLite gives files to whoever owns the database
  }
  Names missing;
  std::ranges::set_difference(did.calls, permitted, std::inserter(missing, missing.end()));
  EXPECT_THAT(missing, IsEmpty()) << "SystemCallFilter= lacks these";
  const std::vector<std::string> families = unit_lines("RestrictAddressFamilies");
  ASSERT_EQ(families.size(), 1);
  EXPECT_THAT(words_of(families[0]), IsSupersetOf(did.address_families));
  EXPECT_THAT(did.refused_by_unit, IsEmpty());
  // ProtectSystem=strict leaves its data (StateDirectory=) and temporary files of its own (PrivateTmp=); PrivateDevices= the null device.
  Names elsewhere;
  std::ranges::copy_if(did.written, std::inserter(elsewhere, elsewhere.end()), [&](const std::string& path) {
    const bool is_temporary = (path.starts_with("/tmp/") || path.starts_with("/var/tmp/")) &&
                              !path.starts_with(folder_.path() + "/");
    return path != data_ && !path.starts_with(data_ + "/") && !is_temporary && path != "/dev/null";
  });
  EXPECT_THAT(elsewhere, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::testing
