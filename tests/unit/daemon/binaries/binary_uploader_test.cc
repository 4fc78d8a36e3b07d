// Which binaries a daemon sends to its server, and what rests after a refusal.
#include "daemon/binaries/binary_uploader.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <span>

#include "base/checksum.h"
#include "base/file.h"
#include "base/hex.h"
#include "daemon/binaries/offered_file.h"
#include "elf/hashes/htl_hash.h"
#include "http/listener.h"
#include "tests/gunzip.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"

namespace plimsoll::binaries::binary_uploader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFirst = "1st build ID";
const std::string kSecond = "2nd build ID";

class BinaryUploaderTest : public ::testing::Test {
 protected:
  BinaryUploaderTest() {
    settings_.paths = {folder_ / "bin/*"};
    settings_.max_bytes_per_second = 0;
    settings_.content = elf::BinaryPart::kWholeFile;
    settings_.monotonic_ns = [this] { return now_ns_; };
    std::filesystem::create_directories(folder_ / "bin");
    write("bin/first", kFirst);
    write("bin/second", kSecond);
    http::Route ask;
    ask.method = "POST";
    ask.path = "/fleet/v1/binaries/wanted";
    ask.max_body_bytes = 1 << 20;
    ask.handle = [this](const http::Request& request) {
      asked_.push_back(request.body);
      permitted_.push_back(request.query.at(0).second);
      return http::Response{.status = ask_status_, .body = wanted_};
    };
    http::Route put;
    put.method = "PUT";
    put.path = "/fleet/v1/binaries/";
    put.is_prefix = true;
    put.max_body_bytes = 16 << 20;
    put.handle = [this](const http::Request& request) {
      const std::string id = request.path.substr(std::string_view("/fleet/v1/binaries/").size());
      sent_.push_back(id);
      queries_.push_back(request.query);
      bodies_.push_back(request.body);
      now_ns_ += id == to_hex(kFirst) ? first_takes_ns_ : 0;
      http::Response response{.status = id == to_hex(kFirst) ? first_status_ : 201};
      if (response.status == 503) {
        response.headers = {{"Retry-After", "100"}};
      }
      return response;
    };
    http::Route where;
    where.method = "GET";
    where.path = "/fleet/v1/binaries/";
    where.is_prefix = true;
    where.handle = [this](const http::Request& /*request*/) {
      return http::Response{.status = where_status_, .body = fmt::format("{}\n", offset_)};
    };
    listener_ = *http::Listener::start({}, {ask, put, where});
  }

  void write(const std::string& name, const std::string& build_id, std::string filler = {}) {
    std::ofstream(folder_ / name, std::ios::binary)
        << symbolizer::image_of({.build_id = build_id, .filler = std::move(filler)});
  }

  wire::RawProfile profile(const std::vector<std::pair<std::string, std::string>>& builds) const {
    wire::RawProfile made;
    for (const auto& [build_id, name] : builds) {
      wire::Binary& binary = *made.add_binaries();
      binary.set_identity_kind(wire::GNU_BUILD_ID);
      binary.set_identity(build_id);
      binary.set_path(folder_ / name);
    }
    return made;
  }

  // Until nothing is due at this time.
  void run(BinaryUploader& uploader, int max_steps = 10) {
    http::Client client({.base_url = listener_->address()});
    for (int i = 0; i < max_steps && uploader.due_ns() <= now_ns_; ++i) {
      last_ = uploader.step(client, client);
    }
  }

  plimsoll::testing::TemporaryDirectory folder_;
  BinaryUploadSettings settings_;
  int64_t now_ns_ = kNsPerHour;
  std::vector<std::string> asked_;
  std::vector<std::string> sent_;
  std::vector<std::string> bodies_;
  std::vector<std::string> permitted_;  // content= of each question
  std::vector<http::Fields> queries_;   // of what was sent
  std::string wanted_ = to_hex(kFirst) + " code\n" + to_hex(kSecond) + " code\n";
  uint64_t offset_ = 0;  // at the server
  unsigned where_status_ = 200;
  unsigned ask_status_ = 200;
  unsigned first_status_ = 201;
  int64_t first_takes_ns_ = 0;
  Status last_;
  std::unique_ptr<http::Listener> listener_;
};

TEST_F(BinaryUploaderTest, SendsWhatIsWantedOnceAndCompressed) {
  write("bin/first", kFirst, std::string(1 << 20, 'x'));
  BinaryUploader uploader(settings_);
  EXPECT_GT(uploader.due_ns(), now_ns_) << "nothing is known yet";
  uploader.note(profile({{kFirst, "bin/first"}, {kSecond, "bin/second"}}));
  run(uploader);
  EXPECT_THAT(asked_, ElementsAre(to_hex(kFirst) + "\n" + to_hex(kSecond) + "\n"));
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst), to_hex(kSecond)));
  EXPECT_EQ(plimsoll::testing::gunzip(bodies_.at(0)), *read_file(folder_ / "bin/first", 4 << 20));
  EXPECT_LT(bodies_.at(0).size(), 100'000);
  now_ns_ += 24 * kNsPerHour - 1;
  run(uploader);
  EXPECT_THAT(asked_, ::testing::SizeIs(1));
}

TEST_F(BinaryUploaderTest, SendsThePartThatIsWanted) {
  settings_.content = elf::BinaryPart::kDebugSections;
  wanted_ = to_hex(kFirst) + " debug\n" + to_hex(kSecond) + " symbols\n";
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}, {kSecond, "bin/second"}}));
  run(uploader);
  EXPECT_THAT(permitted_, ElementsAre("debug"));
  ASSERT_THAT(bodies_, ::testing::SizeIs(2));
  for (size_t i = 0; i < bodies_.size(); ++i) {
    const std::string whole = *read_file(folder_ / (i == 0 ? "bin/first" : "bin/second"), 1 << 20);
    const std::string body = plimsoll::testing::gunzip(bodies_[i]);
    const auto facts = symbolizer::examine_binary(as_bytes(body), "a part");
    ASSERT_TRUE(facts) << facts.error().text();
    EXPECT_TRUE(facts->is_part);
    EXPECT_EQ(facts->build_id, i == 0 ? kFirst : kSecond);
    EXPECT_EQ(facts->quality, i == 0 ? store::SymbolQuality::kFull : store::SymbolQuality::kSymtab);
    EXPECT_EQ(facts->htl_hash, elf::htl_hash(as_bytes(whole))) << "of the whole file";
    EXPECT_EQ(body.find("\x90\x90\x90"), std::string::npos) << "no code";
    EXPECT_THAT(queries_[i],
                ElementsAre(std::pair<std::string, std::string>("content", i == 0 ? "debug" : "symbols"),
                            std::pair<std::string, std::string>("digest", to_hex(facts->content_hash)),
                            std::pair<std::string, std::string>("offset", "0")));
  }
}

TEST_F(BinaryUploaderTest, NoMoreThanIsPermittedLeavesTheMachine) {
  settings_.content = elf::BinaryPart::kSymbolsOnly;
  wanted_ = to_hex(kFirst) + " debug\n" + to_hex(kSecond) + " code\n";
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}, {kSecond, "bin/second"}}));
  run(uploader);
  EXPECT_THAT(permitted_, ElementsAre("symbols"));
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(BinaryUploaderTest, AFileWhosePartsCannotBeToldIsNotSent) {
  settings_.content = elf::BinaryPart::kDebugSections;
  wanted_ = to_hex(kFirst) + " debug\n" + to_hex(kSecond) + " debug\n";
  // No section headers.
  std::fstream file(folder_ / "bin/first", std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(offsetof(Elf64_Ehdr, e_shoff));
  file << std::string(sizeof(Elf64_Off), '\0');
  file.close();
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}, {kSecond, "bin/second"}}));
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kSecond)));
}

TEST_F(BinaryUploaderTest, ATransferThatWasCutGoesOnWhereItEnded) {
  write("bin/first", kFirst, std::string(100'000, 'x'));
  first_status_ = 503;
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}}));
  const auto send_again = [&](uint64_t offset) {
    offset_ = offset;
    now_ns_ += settings_.ask_interval_ns;
    run(uploader);
    return bodies_.back();
  };
  run(uploader);
  const std::string whole = bodies_.at(0);
  std::mt19937_64 random(13);
  for (int i = 0; i < 20; ++i) {
    const uint64_t offset = random() % whole.size();
    EXPECT_EQ(send_again(offset), whole.substr(offset));
    EXPECT_EQ(queries_.back().at(2).second, std::to_string(offset));
  }
  EXPECT_EQ(send_again(whole.size()), whole) << "its end was lost";
  EXPECT_EQ(send_again(whole.size() + 1), whole) << "the server has something else";
  EXPECT_EQ(queries_.back().at(2).second, "0");
  where_status_ = 500;
  EXPECT_EQ(send_again(5), whole) << "the server does not say";
}

TEST_F(BinaryUploaderTest, WhatIsNotListedDoesNotLeaveTheMachine) {
  write("other", kFirst);
  std::filesystem::create_symlink(folder_ / "other", folder_ / "bin/link");
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "other"}, {kSecond, "bin/deeper/second"}}));
  run(uploader);
  EXPECT_THAT(asked_, IsEmpty());
  uploader.note(profile({{kFirst, "bin/link"}}));
  run(uploader);
  EXPECT_THAT(sent_, IsEmpty()) << "it leads out of the listed folder";
  EXPECT_THAT(open_offered(settings_.paths, folder_ / "bin/link", kFirst, 1 << 20).error().text(),
              HasSubstr("which binaries.paths does not list"));
  EXPECT_EQ(open_offered(settings_.paths, folder_ / "bin/first", kSecond, 1 << 20).error().code,
            ErrorCode::kConflict);
  EXPECT_EQ(open_offered(settings_.paths, folder_ / "bin/first", kFirst, 10).error().code,
            ErrorCode::kTooLarge);
  EXPECT_FALSE(is_listed({"/srv/*"}, "/srv/../etc/passwd"));
  EXPECT_FALSE(is_listed({"/*/*"}, "srv/app"));
}

TEST_F(BinaryUploaderTest, NothingIsSentThatTheServerWasNotOffered) {
  wanted_ = to_hex(kSecond) + " code\n../../etc/passwd\n" + to_hex(kFirst) + "\n" + to_hex(kFirst) +
            " everything\n code\n" + std::string(100'000, '0');
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}}));
  run(uploader);
  EXPECT_TRUE(last_) << last_.error().text();
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(BinaryUploaderTest, ARefusedFileRestsAndKeepsNoOtherFromBeingSent) {
  first_status_ = 413;
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}, {kSecond, "bin/second"}}));
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst), to_hex(kSecond)));
  EXPECT_TRUE(last_);
  now_ns_ += settings_.ask_interval_ns;
  run(uploader);
  EXPECT_THAT(asked_, ::testing::SizeIs(1)) << "it rests";
  now_ns_ += 24 * kNsPerHour;
  run(uploader);
  EXPECT_THAT(asked_, ::testing::SizeIs(2));
}

TEST_F(BinaryUploaderTest, WhatIsNotWantedAnyMoreIsOfferedAgain) {
  first_status_ = 409;
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}, {kSecond, "bin/second"}}));
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst), to_hex(kSecond)));
  EXPECT_TRUE(last_);
  first_status_ = 201;
  now_ns_ += settings_.ask_interval_ns;
  run(uploader);
  EXPECT_THAT(asked_, ElementsAre(to_hex(kFirst) + "\n" + to_hex(kSecond) + "\n", to_hex(kFirst) + "\n"));
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst), to_hex(kSecond), to_hex(kFirst)));
}

TEST_F(BinaryUploaderTest, AServerInTroubleIsLeftAloneAndAskedAgain) {
  first_status_ = 503;
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}}));
  run(uploader);
  EXPECT_FALSE(last_);
  EXPECT_GE(uploader.due_ns(), now_ns_ + 100 * kNsPerSecond);
  first_status_ = 201;
  now_ns_ += settings_.ask_interval_ns;
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst), to_hex(kFirst)));
  EXPECT_TRUE(last_);
}

TEST_F(BinaryUploaderTest, ATransferThatHadAllItsTimeIsNotBegunAgainSoon) {
  first_status_ = 503;
  first_takes_ns_ = kTransferTimeoutNs;
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}}));
  run(uploader);
  EXPECT_FALSE(last_);
  now_ns_ += settings_.ask_interval_ns;
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst)));
  now_ns_ += 24 * kNsPerHour;
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst), to_hex(kFirst)));
}

TEST_F(BinaryUploaderTest, WhatIsListedManyTimesIsSentOnce) {
  wanted_ = to_hex(kFirst) + " code\n" + to_hex(kFirst) + " code\n" + to_hex(kFirst) + " code\n";
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}}));
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst)));
}

TEST_F(BinaryUploaderTest, AServerThatTakesNoBinariesIsAskedSeldom) {
  ask_status_ = 404;
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}}));
  run(uploader);
  EXPECT_FALSE(last_);
  now_ns_ += settings_.ask_interval_ns - 1;
  run(uploader);
  EXPECT_THAT(asked_, ::testing::SizeIs(1));
  now_ns_ += 1;
  run(uploader);
  EXPECT_THAT(asked_, ::testing::SizeIs(2));
}

TEST_F(BinaryUploaderTest, AFileThatIsGoneOrReplacedKeepsNoOtherFromBeingSent) {
  write("bin/first", "another build");
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}, {kSecond, "bin/second"}}));
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kSecond)));
}

TEST_F(BinaryUploaderTest, ABuildIsSentFromWhicheverOfItsPathsHasIt) {
  write("bin/replaced", "another build");
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/gone"}, {kFirst, "bin/first"}, {kFirst, "bin/replaced"}}));
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst)));
}

TEST_F(BinaryUploaderTest, ANewPathEndsTheRestOfABuildThatCouldNotBeRead) {
  BinaryUploader uploader(settings_);
  uploader.note(
      profile({{kFirst, "bin/gone1"}, {kFirst, "bin/gone2"}, {kFirst, "bin/gone3"}, {kFirst, "bin/gone4"}}));
  run(uploader);
  EXPECT_THAT(sent_, IsEmpty());
  uploader.note(profile({{kFirst, "bin/gone4"}}));
  now_ns_ += settings_.ask_interval_ns;
  run(uploader);
  EXPECT_THAT(asked_, ::testing::SizeIs(1)) << "it rests";
  uploader.note(profile({{kFirst, "bin/first"}}));
  now_ns_ += settings_.ask_interval_ns;
  run(uploader);
  EXPECT_THAT(sent_, ElementsAre(to_hex(kFirst)));
}

TEST_F(BinaryUploaderTest, OfVeryManyBuildsTheOldestIsForgotten) {
  BinaryUploader uploader(settings_);
  uploader.note(profile({{kFirst, "bin/first"}}));
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 9'999; ++i) {
    many.emplace_back(fmt::format("build {:06}", i), "bin/first");
  }
  many.emplace_back(kSecond, "bin/second");
  uploader.note(profile(many));
  run(uploader, 20);
  EXPECT_THAT(asked_, ::testing::SizeIs(10));
  EXPECT_THAT(sent_, ElementsAre(to_hex(kSecond)));
}

TEST_F(BinaryUploaderTest, CompressedBytesAreThoseOfTheFileHoweverTheyAreRead) {
  std::mt19937 random(5);
  std::string content(300'000, '\0');
  std::ranges::generate(content, [&] { return static_cast<char>(random() % 20); });
  std::ofstream(folder_ / "bin/odd", std::ios::binary) << content;
  const auto file =
      std::make_shared<const UniqueFd>(::open((folder_ / "bin/odd").c_str(), O_RDONLY | O_CLOEXEC));
  const elf::PartLayout layout{.pieces = {{.bytes = "a head, ", .file_offset = 0, .file_bytes = 0},
                                          {.bytes = {}, .file_offset = 100'000, .file_bytes = 150'000},
                                          {.bytes = {}, .file_offset = 7, .file_bytes = 1},
                                          {.bytes = ", a tail", .file_offset = 0, .file_bytes = 0}},
                               .size_bytes = 150'017};
  const std::string expected = "a head, " + content.substr(100'000, 150'000) + content[7] + ", a tail";
  const auto source = gzip_source(file, layout);
  ASSERT_TRUE(source);
  std::string packed;
  std::string room(1000, '\0');
  for (size_t given = 1; given > 0;) {
    given = (*source)->give(std::span(room).first(1 + random() % room.size())).value_or(0);
    packed.append(room, 0, given);
  }
  EXPECT_EQ(plimsoll::testing::gunzip(packed), expected);

  // What follows on any number of its bytes is the same.
  for (int i = 0; i < 50; ++i) {
    const uint64_t offset = random() % packed.size();
    auto again = gzip_source(file, layout);
    ASSERT_TRUE(again);
    const auto behind = without_beginning(*std::move(again), offset);
    ASSERT_TRUE(behind) << behind.error().text();
    std::string rest;
    for (size_t given = 1; given > 0;) {
      given = (*behind)->give(std::span(room).first(1 + random() % room.size())).value_or(0);
      rest.append(room, 0, given);
    }
    ASSERT_EQ(rest, packed.substr(offset)) << offset;
  }
  for (const uint64_t offset : {packed.size(), packed.size() + 1}) {
    auto again = gzip_source(file, layout);
    ASSERT_TRUE(again);
    EXPECT_FALSE(without_beginning(*std::move(again), offset));
  }
}

TEST_F(BinaryUploaderTest, AFileThatGrowsOrShrinksOnceItIsOpenIsNoLargerThanItWas) {
  constexpr uint64_t kLimitBytes = 100'000;
  const std::string path = folder_ / "bin/changing";
  for (const uintmax_t later_bytes : {uintmax_t{0}, uintmax_t{50}, uintmax_t{kLimitBytes + 1}}) {
    write("bin/changing", kFirst);
    const std::string before = *read_file(path, kLimitBytes);
    auto opened = open_offered(settings_.paths, path, kFirst, kLimitBytes);
    ASSERT_TRUE(opened) << opened.error().text();
    const auto file = std::make_shared<const UniqueFd>(*std::move(opened));
    const auto content = content_of(file, elf::BinaryPart::kWholeFile, kLimitBytes);
    ASSERT_TRUE(content) << content.error().text();
    EXPECT_EQ(content->digest, content_hash(as_bytes(before)));
    std::filesystem::resize_file(path, later_bytes);
    const auto source = gzip_source(file, content->layout);
    ASSERT_TRUE(source);
    std::string packed;
    std::string room(1000, '\0');
    Result<size_t> given = size_t{1};
    while (given && *given > 0) {
      given = (*source)->give(room);
      packed.append(room, 0, given.value_or(0));
    }
    if (later_bytes < before.size()) {
      ASSERT_FALSE(given);
      EXPECT_EQ(given.error().code, ErrorCode::kCorrupt);
    } else {
      ASSERT_TRUE(given) << given.error().text();
      EXPECT_EQ(plimsoll::testing::gunzip(packed), before);
      EXPECT_EQ(content_of(file, elf::BinaryPart::kWholeFile, kLimitBytes).error().code,
                ErrorCode::kTooLarge);
    }
  }
  write("bin/changing", kFirst);
  std::filesystem::resize_file(path, 70);  // its header alone, which refers to program headers behind the end
  EXPECT_FALSE(open_offered(settings_.paths, path, kFirst, kLimitBytes));
}

}  // namespace
}  // namespace plimsoll::binaries::binary_uploader_test
