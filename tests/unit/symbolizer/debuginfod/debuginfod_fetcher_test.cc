// What is fetched from debuginfod servers, and what servers that misbehave cost.
#include "symbolizer/debuginfod/debuginfod_fetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>

#include "base/hex.h"
#include "http/client.h"
#include "symbolizer/repository/repository_files.h"
#include "tests/temporary_directory.h"
#include "tests/unit/elf/part_of.h"
#include "tests/unit/symbolizer/debuginfod/fake_debuginfod.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"

namespace plimsoll::symbolizer::debuginfod_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kFirst = "the first build";
const std::string kSecond = "the second build";

std::string debuginfo_path(const std::string& build_id) {
  return "/buildid/" + to_hex(build_id) + "/debuginfo";
}
std::string executable_path(const std::string& build_id) {
  return "/buildid/" + to_hex(build_id) + "/executable";
}
std::string debug_image(const std::string& build_id) {
  return image_of({.build_id = build_id, .kind = BinaryKind::kDebug});
}

// Has the debug file of every build, and nothing else.
void answer_with_debug_file(const std::string& path, int socket) {
  for (const std::string& build_id : {kFirst, kSecond}) {
    if (path == debuginfo_path(build_id)) {
      return FakeDebuginfod::answer(socket, 200, debug_image(build_id));
    }
  }
  FakeDebuginfod::answer(socket, 404, "not found");
}
void answer_not_found(const std::string& /*path*/, int socket) {
  FakeDebuginfod::answer(socket, 404, "not found");
}
// The first build's requests are answered by `odd`, those of others as they should be.
FakeDebuginfod::Answer odd_for_first(std::function<void(int socket)> odd) {
  return [odd = std::move(odd)](const std::string& path, int socket) {
    if (path == debuginfo_path(kFirst)) {
      odd(socket);
    } else {
      answer_with_debug_file(path, socket);
    }
  };
}

class DebuginfodFetcherTest : public ::testing::Test {
 protected:
  DebuginfodFetcher fetcher(const std::vector<std::string>& urls) {
    settings_.servers = *parse_debuginfod_servers(urls);
    settings_.monotonic_now_ns = [this] { return now_ns_; };
    DebuginfodFetcher made(settings_, *repository_);
    made.want({kFirst, kSecond});
    return made;
  }

  // No build was to be asked for: a report without a build ID.
  static FetchReport next(DebuginfodFetcher& fetcher) {
    auto fetched = fetcher.fetch_next(std::stop_token());
    EXPECT_TRUE(fetched) << fetched.error().text();
    return fetched && *fetched ? **fetched : FetchReport();
  }

  bool has_debug_file(const std::string& build_id) const {
    const auto record = repository_->find(build_id);
    return record && record->file(BinaryKind::kDebug) != nullptr;
  }
  bool has_nothing_half_fetched() const { return std::filesystem::is_empty(incoming_path(folder_.path())); }

  plimsoll::testing::TemporaryDirectory folder_;
  std::unique_ptr<BinaryRepository> repository_ =
      *BinaryRepository::open(folder_.path(), {.max_file_bytes = 4 << 20});
  DebuginfodSettings settings_{.per_build = {.bytes = 2 << 20, .time_ns = 20 * kNsPerSecond}};
  int64_t now_ns_ = 1'700'000'000 * kNsPerSecond;
};

TEST_F(DebuginfodFetcherTest, KeepsADebugFileWithItsOrigin) {
  const FakeDebuginfod server(answer_with_debug_file);
  auto fetching = fetcher({server.url() + "/"});
  const FetchReport report = next(fetching);
  EXPECT_EQ(report.build_id, kFirst);
  EXPECT_EQ(report.files, 1);
  EXPECT_THAT(report.remarks, IsEmpty());
  ASSERT_TRUE(has_debug_file(kFirst));
  EXPECT_EQ(repository_->find(kFirst)->files[0].source, "debuginfod " + server.url());
  EXPECT_EQ(next(fetching).build_id, kSecond);
  EXPECT_EQ(next(fetching).build_id, "") << "the executable is asked for once names had time to come";
  now_ns_ += kNsPerHour;
  EXPECT_EQ(next(fetching).build_id, kFirst);
  EXPECT_THAT(server.paths(),
              ElementsAre(debuginfo_path(kFirst), debuginfo_path(kSecond), executable_path(kFirst)));
}

TEST_F(DebuginfodFetcherTest, AsksTheNextServerAndRemembersWhatNoneHas) {
  const FakeDebuginfod first(answer_not_found);
  const FakeDebuginfod second(answer_not_found);
  auto fetching = fetcher({first.url(), second.url()});
  fetching.want({kFirst});
  EXPECT_EQ(next(fetching).files, 0);
  EXPECT_THAT(first.paths(), ElementsAre(debuginfo_path(kFirst), executable_path(kFirst)));
  EXPECT_EQ(second.paths(), first.paths());
  now_ns_ += settings_.retry_ns - 1;
  EXPECT_EQ(next(fetching).build_id, "");
  now_ns_ += 1;
  EXPECT_EQ(next(fetching).build_id, kFirst);
  EXPECT_THAT(first.paths(), SizeIs(4));
}

TEST_F(DebuginfodFetcherTest, KeepsNoFileOfAnotherBuildAndNoGarbage) {
  const std::vector<std::pair<std::string, std::string>> bodies{
      {debug_image(kSecond), "not " + to_hex(kFirst)},
      {"<html>Please sign in</html>", "not kept"},
      {debug_image(kFirst).substr(0, 500), "not kept"},
      {"", "not kept"}};
  for (const auto& [body, expected] : bodies) {
    const FakeDebuginfod server(
        odd_for_first([&body](int socket) { FakeDebuginfod::answer(socket, 200, body); }));
    auto fetching = fetcher({server.url()});
    const FetchReport report = next(fetching);
    EXPECT_EQ(report.files, 0);
    EXPECT_THAT(report.remarks, ElementsAre(HasSubstr(expected)));
    EXPECT_FALSE(repository_->find(kFirst));
    EXPECT_EQ(next(fetching).build_id, kSecond) << "the server is asked for others";
    EXPECT_TRUE(has_nothing_half_fetched());
  }
}

TEST_F(DebuginfodFetcherTest, AServerThatHangsCostsOneBuildItsTime) {
  settings_.per_build.time_ns = kNsPerSecond / 5;
  const FakeDebuginfod hanging([](const std::string& /*path*/, int socket) { FakeDebuginfod::hang(socket); });
  auto fetching = fetcher({hanging.url()});
  EXPECT_THAT(next(fetching).remarks, SizeIs(1));
  EXPECT_EQ(next(fetching).build_id, "") << "the server rests";
  EXPECT_THAT(hanging.paths(), ElementsAre(debuginfo_path(kFirst)));
  now_ns_ += 60 * kNsPerSecond;
  EXPECT_EQ(next(fetching).build_id, kSecond);
  now_ns_ += 60 * kNsPerSecond;
  EXPECT_EQ(next(fetching).build_id, "") << "it rests for longer";
  EXPECT_TRUE(has_nothing_half_fetched());
}

TEST_F(DebuginfodFetcherTest, AServerThatHangsInTheMiddleOfAFileDelaysNoOtherServerForLong) {
  settings_.per_build.time_ns = kNsPerSecond / 5;
  const FakeDebuginfod hanging([](const std::string& /*path*/, int socket) {
    FakeDebuginfod::send_all(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n\177ELF");
    FakeDebuginfod::hang(socket);
  });
  const FakeDebuginfod sound(answer_with_debug_file);
  auto fetching = fetcher({hanging.url(), sound.url()});
  EXPECT_EQ(next(fetching).files, 0) << "its time is spent";
  EXPECT_EQ(next(fetching).files, 1);
  EXPECT_TRUE(has_debug_file(kSecond));
  EXPECT_FALSE(has_debug_file(kFirst));
  now_ns_ += kNsPerHour;
  settings_.per_build.time_ns = 20 * kNsPerSecond;
  auto later = fetcher({sound.url()});
  EXPECT_EQ(next(later).files, 1);
  EXPECT_TRUE(has_debug_file(kFirst));
}

TEST_F(DebuginfodFetcherTest, AFileThatCannotArriveInTimeIsNotBegunAgainSoon) {
  settings_.per_build.time_ns = kNsPerSecond / 5;
  const FakeDebuginfod slow(odd_for_first([](int socket) {
    FakeDebuginfod::send_all(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n\177ELF");
    FakeDebuginfod::hang(socket);
  }));
  auto fetching = fetcher({slow.url()});
  fetching.want({kFirst});
  EXPECT_THAT(next(fetching).remarks, SizeIs(1));
  now_ns_ += 10 * 60 * kNsPerSecond;
  EXPECT_EQ(next(fetching).build_id, kFirst) << "its executable may be smaller";
  EXPECT_THAT(slow.paths(), ElementsAre(debuginfo_path(kFirst), executable_path(kFirst)));
  now_ns_ += 10 * 60 * kNsPerSecond;
  EXPECT_EQ(next(fetching).build_id, "");
  now_ns_ += settings_.retry_ns;
  EXPECT_EQ(next(fetching).build_id, kFirst);
  EXPECT_EQ(slow.paths().back(), debuginfo_path(kFirst));
}

TEST_F(DebuginfodFetcherTest, AFileWithoutAnEndCostsOneBuildItsBytes) {
  const FakeDebuginfod server(odd_for_first([](int socket) { FakeDebuginfod::send_without_end(socket); }));
  auto fetching = fetcher({server.url()});
  const FetchReport report = next(fetching);
  EXPECT_EQ(report.files, 0);
  EXPECT_LE(report.bytes, settings_.per_build.bytes);
  EXPECT_THAT(report.remarks, ElementsAre(HasSubstr("larger than")));
  EXPECT_TRUE(has_nothing_half_fetched());
  EXPECT_EQ(next(fetching).build_id, kSecond);
  EXPECT_TRUE(has_debug_file(kSecond));
}

TEST_F(DebuginfodFetcherTest, ARefusalOrRedirectWithoutAnEndIsNotReadForLong) {
  settings_.per_build.bytes = uint64_t{1} << 40;
  for (const int status : {302, 404}) {
    const FakeDebuginfod server(odd_for_first([status](int socket) {
      FakeDebuginfod::send_without_end(socket, status, "Location: /elsewhere\r\n");
    }));
    auto fetching = fetcher({server.url()});
    const FetchReport report = next(fetching);
    EXPECT_EQ(report.files, 0);
    EXPECT_THAT(report.remarks, ElementsAre(HasSubstr("larger than " +
                                                      std::to_string(http::kMaxBytesBesideSink) + " bytes")));
    EXPECT_GE(report.bytes, http::kMaxBytesBesideSink) << "they count";
    EXPECT_LE(report.bytes, 2 * http::kMaxBytesBesideSink);
    EXPECT_THAT(server.paths(), ElementsAre(debuginfo_path(kFirst), executable_path(kFirst)));
    EXPECT_EQ(next(fetching).build_id, kSecond);
  }
}

TEST_F(DebuginfodFetcherTest, LeavesAServerAloneThatIsOverloaded) {
  const FakeDebuginfod server([](const std::string& /*path*/, int socket) {
    FakeDebuginfod::answer(socket, 503, "", "Retry-After: 600\r\n");
  });
  auto fetching = fetcher({server.url()});
  EXPECT_THAT(next(fetching).remarks, ElementsAre(HasSubstr("status 503")));
  now_ns_ += 599 * kNsPerSecond;
  EXPECT_EQ(next(fetching).build_id, "");
  now_ns_ += kNsPerSecond;
  EXPECT_NE(next(fetching).build_id, "");
}

TEST_F(DebuginfodFetcherTest, FollowsRedirectsToNamedServersAlone) {
  const FakeDebuginfod stranger(answer_with_debug_file);
  const FakeDebuginfod named(answer_with_debug_file);
  const FakeDebuginfod redirecting([&](const std::string& path, int socket) {
    const std::string& target = path == debuginfo_path(kFirst) ? stranger.url() : named.url();
    FakeDebuginfod::answer(socket, 302, "", "Location: " + target + path + "\r\n");
  });
  auto fetching = fetcher({redirecting.url(), named.url()});
  fetching.want({kSecond});
  EXPECT_EQ(next(fetching).files, 1);
  EXPECT_EQ(repository_->find(kSecond)->files[0].source, "debuginfod " + named.url());
  auto alone = fetcher({redirecting.url()});
  EXPECT_THAT(next(alone).remarks,
              ElementsAre(HasSubstr("redirects to a host"), HasSubstr("redirects to a host")));
  EXPECT_THAT(stranger.paths(), IsEmpty());
}

TEST_F(DebuginfodFetcherTest, APathInARedirectIsOneOfTheServerThatAnswers) {
  const FakeDebuginfod named([](const std::string& path, int socket) {
    if (path == "/stored/here") {
      return FakeDebuginfod::answer(socket, 200, debug_image(kFirst));
    }
    FakeDebuginfod::answer(socket, 302, "", "Location: /stored/here\r\n");
  });
  const FakeDebuginfod redirecting([&](const std::string& path, int socket) {
    FakeDebuginfod::answer(socket, 302, "", "Location: " + named.url() + path + "\r\n");
  });
  auto fetching = fetcher({redirecting.url(), named.url()});
  EXPECT_EQ(next(fetching).files, 1);
  EXPECT_THAT(redirecting.paths(), ElementsAre(debuginfo_path(kFirst)));
  EXPECT_THAT(named.paths(), ElementsAre(debuginfo_path(kFirst), "/stored/here"));
  EXPECT_EQ(repository_->find(kFirst)->files[0].source, "debuginfod " + named.url());
}

TEST_F(DebuginfodFetcherTest, ARedirectInACircleEnds) {
  const FakeDebuginfod circling([](const std::string& path, int socket) {
    FakeDebuginfod::answer(socket, 307, "", "Location: " + path + "\r\n");
  });
  auto fetching = fetcher({circling.url()});
  EXPECT_THAT(next(fetching).remarks,
              ElementsAre(HasSubstr("more than 3 times"), HasSubstr("more than 3 times")));
}

TEST_F(DebuginfodFetcherTest, WhatWasStoppedIsAskedForAgain) {
  std::stop_source stop;
  std::atomic<bool> hangs = true;
  const FakeDebuginfod server([&](const std::string& path, int socket) {
    if (hangs.exchange(false)) {
      stop.request_stop();
      FakeDebuginfod::hang(socket);
    } else {
      answer_with_debug_file(path, socket);
    }
  });
  auto fetching = fetcher({server.url()});
  EXPECT_TRUE(fetching.fetch_next(stop.get_token()));
  EXPECT_FALSE(has_debug_file(kFirst));
  EXPECT_FALSE(*fetching.fetch_next(stop.get_token()));
  EXPECT_EQ(next(fetching).build_id, kFirst);
  EXPECT_TRUE(has_debug_file(kFirst));
}

TEST_F(DebuginfodFetcherTest, AFullDiskIsAnErrorAndTheBuildIsAskedForAgainAfterTheOthers) {
  const FakeDebuginfod server(answer_with_debug_file);
  bool is_full = true;
  settings_.check_room = [&is_full](uint64_t /*bytes*/) {
    return is_full ? fail(ErrorCode::kUnavailable, "the disk is full") : Status();
  };
  auto fetching = fetcher({server.url()});
  const auto failed = fetching.fetch_next(std::stop_token());
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().text(), HasSubstr("the disk is full"));
  is_full = false;
  EXPECT_EQ(next(fetching).build_id, kSecond) << "its file may fit";
  EXPECT_TRUE(has_debug_file(kSecond));
  EXPECT_EQ(next(fetching).build_id, "");
  now_ns_ += 10 * 60 * kNsPerSecond;
  EXPECT_EQ(next(fetching).build_id, kFirst);
  EXPECT_TRUE(has_debug_file(kFirst));
}

TEST_F(DebuginfodFetcherTest, WhatTheRepositoryHasIsNotAskedFor) {
  for (const BinaryKind kind : {BinaryKind::kDebug, BinaryKind::kExecutable}) {
    auto staged = repository_->stage();
    ASSERT_TRUE(staged && staged->write(as_bytes(image_of({.build_id = kFirst, .kind = kind}))));
    ASSERT_TRUE(repository_->add(*std::move(staged), {.now_ns = now_ns_}));
  }
  const FakeDebuginfod server(answer_with_debug_file);
  auto fetching = fetcher({server.url()});
  EXPECT_EQ(next(fetching).build_id, kSecond);
}

TEST_F(DebuginfodFetcherTest, APartOfAStrippedFileTakesThePlaceOfNoDebugFile) {
  const std::string stripped = image_of({.build_id = kFirst, .quality = store::SymbolQuality::kDynsym});
  const std::string part = *elf::part_of(stripped, elf::BinaryPart::kDebugSections);
  auto staged = repository_->stage();
  ASSERT_TRUE(staged && staged->write(as_bytes(part)));
  ASSERT_TRUE(repository_->add(*std::move(staged), {.now_ns = now_ns_}));
  const FakeDebuginfod server(answer_with_debug_file);
  auto fetching = fetcher({server.url()});
  EXPECT_EQ(next(fetching).build_id, kFirst);
  const auto record = repository_->find(kFirst);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->quality(), store::SymbolQuality::kFull);
  EXPECT_FALSE(record->files.at(0).is_part);
}

// The first build's debug file, which refers to the second build.
std::string image_with_link() {
  elf::ElfImage image;
  image.segment(PT_NOTE, elf::note("GNU", NT_GNU_BUILD_ID, kFirst));
  image.loaded_section(".text", SHF_ALLOC | SHF_EXECINSTR, 0x1000, 64);
  image.section(".debug_info", SHT_PROGBITS, "units");
  image.section(".gnu_debugaltlink", SHT_PROGBITS, std::string("/nowhere/shared.dwz") + '\0' + kSecond);
  return image.bytes();
}

TEST_F(DebuginfodFetcherTest, TheFileThatDwzSplitOffIsAskedForAgainWhereAServerFailed) {
  std::atomic<bool> fails = true;
  const FakeDebuginfod server([&](const std::string& path, int socket) {
    if (path == debuginfo_path(kSecond) && fails) {
      return FakeDebuginfod::answer(socket, 503, "");
    }
    odd_for_first([](int first) { FakeDebuginfod::answer(first, 200, image_with_link()); })(path, socket);
  });
  auto fetching = fetcher({server.url()});
  fetching.want({kFirst});
  EXPECT_EQ(next(fetching).files, 1);
  EXPECT_FALSE(has_debug_file(kSecond));
  EXPECT_EQ(next(fetching).build_id, "");
  fails = false;
  now_ns_ += 10 * 60 * kNsPerSecond;
  EXPECT_EQ(next(fetching).build_id, kFirst);
  EXPECT_TRUE(has_debug_file(kSecond));
  EXPECT_THAT(server.paths(), ElementsAre(debuginfo_path(kFirst), debuginfo_path(kSecond),
                                          executable_path(kFirst), debuginfo_path(kSecond)));
  EXPECT_EQ(next(fetching).build_id, "");
}

TEST_F(DebuginfodFetcherTest, TheFileThatDwzSplitOffIsFetchedToo) {
  const std::string with_link = image_with_link();
  const FakeDebuginfod server(
      odd_for_first([&with_link](int socket) { FakeDebuginfod::answer(socket, 200, with_link); }));
  auto fetching = fetcher({server.url()});
  fetching.want({kFirst});
  EXPECT_EQ(next(fetching).files, 2);
  EXPECT_TRUE(has_debug_file(kSecond));
}

TEST(DebuginfodServers, AreUrlsWithoutSecrets) {
  const auto servers = parse_debuginfod_servers({"https://Debuginfod.Example.org/a/B/", "http://[::1]:8002"});
  ASSERT_TRUE(servers) << servers.error().text();
  EXPECT_EQ(servers->at(0).base_url, "https://debuginfod.example.org/a/B");
  EXPECT_EQ(servers->at(0).origin, "https://debuginfod.example.org");
  EXPECT_EQ(servers->at(1).base_url, "http://[::1]:8002");
  for (const std::string wrong :
       {"", "localhost:8002", "ftp://a", "file:///etc/passwd", "http://", "http:///a", "http://user:secret@a",
        "http://a/?q=1", "http://a b", "http://a#b"}) {
    EXPECT_FALSE(parse_debuginfod_servers({wrong})) << wrong;
  }
  EXPECT_FALSE(parse_debuginfod_servers({"http://a", "http://a/"}));
}

TEST(DebuginfodServers, OtherHostsAreNoTargetsOfRedirects) {
  const auto servers = *parse_debuginfod_servers({"http://a:1/prefix", "https://b"});
  const auto target = [&](std::string_view location) {
    const auto found = permitted_redirect(location, servers[0].origin, servers);
    return found ? found->origin + " " + found->path_and_query : "";
  };
  EXPECT_EQ(target("/x?y"), "http://a:1 /x?y");
  EXPECT_EQ(target("https://B/x"), "https://b /x");
  for (const std::string_view other :
       {"", "x", "//c/x", "http://c/x", "http://a:2/x", "http://a/x", "http://b/x", "https://b@c/x",
        "https://b.c/x", "https://b", "file:///etc/passwd"}) {
    EXPECT_EQ(target(other), "") << other;
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer::debuginfod_test
