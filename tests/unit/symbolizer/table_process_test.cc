#include "symbolizer/process/table_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "symbolizer/process/messages.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/table_worker.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kBinary = built_file("inline_gcc5.so");

TableQuery query_for(const std::string& binary) {
  return {.roots = {{"/"}, {}}, .named = {.binary = binary}};
}

// What comes of a child that does that instead of parsing.
Error failure_of(const std::string& script, const ProcessLimits& limits = {}) {
  const auto made = TableProcess({{"/bin/sh", "-c", script}}).make(query_for(kBinary), {.limits = limits});
  EXPECT_FALSE(made);
  return made ? Error() : made.error();
}

TEST(TableProcess, MakesATableOfABinary) {
  const auto made = table_process().make(query_for(kBinary), {});
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_TRUE(made->mapped);
  EXPECT_EQ(made->quality, SymtabQuality::kFull);
  EXPECT_TRUE(made->mapped->table.verify());
  EXPECT_GT(made->peak_memory_bytes, 0);
}

// What the second reader cannot do is not to cost what ours can.
TEST(TableProcess, ReadsWithOurReaderAloneAfterACrash) {
  const plimsoll::testing::TemporaryDirectory folder;
  // Crashes the first time.
  const std::string script =
      fmt::format("test -e '{0}' && exec '{1}' symtab worker; touch '{0}'; kill -SEGV $$",
                  folder / "has_crashed", built_file("plimsoll"));
  const TableProcess process({.argv = {"/bin/sh", "-c", script}});
  const auto made = process.make_with_fallback(query_for(built_file("relocatable_gcc5.o")), {});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->quality, SymtabQuality::kSymtab);
  EXPECT_THAT(made->reasons, AllOf(HasSubstr("crashed (Segm"), HasSubstr("not linked")));
}

TEST(TableProcess, SaysWhyItFailedFirstWhereBothReadersFail) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string script =
      fmt::format("test -e '{0}' && kill -BUS $$; touch '{0}'; kill -SEGV $$", folder / "has_crashed");
  const TableProcess process({.argv = {"/bin/sh", "-c", script}});
  const auto made = process.make_with_fallback(query_for(kBinary), {});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("crashed (Segm"));
}

TEST(TableProcess, OneThreadOrMoreMakeTheSameBytes) {
  TableQuery query = query_for(built_file("symbolizer_test"));
  const auto one = table_process().make(query, {});
  query.threads = 4;
  const auto four = table_process().make(query, {});
  ASSERT_TRUE(one && four);
  EXPECT_TRUE(std::ranges::equal(one->mapped->map.bytes(), four->mapped->map.bytes()));
}

TEST(TableProcess, AFileThatCannotBeReadIsNamed) {
  const auto made = table_process().make(query_for("/nowhere/gone.so"), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(made.error().message, HasSubstr("/nowhere/gone.so"));
}

TEST(TableProcess, ABinaryWithoutSymbolsHasNoTable) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string path = folder / "bare";
  std::filesystem::copy_file(built_file("siblings.so"), path);
  ASSERT_EQ(std::system(fmt::format("strip --strip-all -R .dynsym '{}' 2>/dev/null", path).c_str()), 0);
  const auto made = table_process().make(query_for(path), {});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_FALSE(made->mapped);
  EXPECT_THAT(made->reasons, HasSubstr("it is stripped and exports no functions"));
}

TEST(TableProcess, SaysHowTheChildFailedAndOnWhat) {
  EXPECT_THAT(
      failure_of("kill -SEGV $$").text(),
      AllOf(StartsWith("reading the symbols of " + std::string(kBinary)), HasSubstr("crashed (Segm")));
  EXPECT_THAT(failure_of("kill -XCPU $$").text(), HasSubstr("more CPU time"));
  EXPECT_THAT(failure_of("kill -SYS $$").text(), HasSubstr("made a forbidden system call"));
  EXPECT_THAT(failure_of("kill -XFSZ $$").text(), HasSubstr("would be larger than 1024 MiB"));
  EXPECT_THAT(failure_of("kill -BUS $$").text(), HasSubstr("truncated while it was read"));
  EXPECT_THAT(failure_of("kill -KILL $$").text(), HasSubstr("killed from outside"));
  EXPECT_THAT(failure_of("exit 71").text(), HasSubstr("more than the 1024 MiB of memory"));
  EXPECT_THAT(failure_of("exit 3").text(), HasSubstr("exited with status 3 without a reply"));
  EXPECT_THAT(failure_of("true").text(), HasSubstr("exited with status 0 without a reply"));
}

TEST(TableProcess, AnAnswerWithoutSenseIsNone) {
  EXPECT_THAT(failure_of("printf 'AAAAAAAAAAAA'").text(), HasSubstr("invalid reply"));
  EXPECT_THAT(failure_of("printf '\\004\\000\\000\\000\\377\\377\\377\\377'").text(),
              HasSubstr("invalid reply"));
  // Messages without end, each of which is one.
  EXPECT_THAT(failure_of("while :; do printf '\\002\\000\\000\\000\\010\\001'; done | cat").text(),
              HasSubstr("invalid reply"));
}

TEST(TableProcess, ATableThatWasNotWrittenIsMissed) {
  // "There is a table", and nothing in the file.
  EXPECT_THAT(failure_of("printf '\\004\\000\\000\\000\\022\\002\\010\\001'").text(),
              HasSubstr("not a symbol table"));
}

TEST(TableProcess, AChildThatHangsIsEnded) {
  EXPECT_THAT(failure_of("exec sleep 1000", {.cpu_seconds = 0}).text(), HasSubstr("did not end"));
  // Nor does it help to say nothing.
  EXPECT_THAT(failure_of("exec sleep 1000 >&-", {.cpu_seconds = 0}).text(), HasSubstr("did not end"));
}

TEST(TableProcess, AChildIsEndedWhenItsParentIsToldToStop) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string pid_file = folder / "pid";
  const std::string script =
      fmt::format("echo $$ > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 1000", pid_file);
  std::stop_source stop;
  const auto stop_once_it_runs = [&](uint64_t) {
    if (std::filesystem::exists(pid_file)) {
      stop.request_stop();
    }
  };
  const auto made = TableProcess({{"/bin/sh", "-c", script}})
                        .make(query_for(kBinary), {.progress = stop_once_it_runs, .stop = stop.get_token()});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(made.error().text(), HasSubstr("was stopped"));
  EXPECT_EQ(::kill(std::stoi(*read_file(pid_file, 100)), 0), -1) << "it is gone";
  // Nor is another one started.
  const auto none =
      TableProcess({{"/nowhere/plimsoll"}}).make(query_for(kBinary), {.stop = stop.get_token()});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("will not be read again"));
}

TEST(TableProcess, TooLittleMemoryIsSaid) {
#ifdef PLIMSOLL_WITHOUT_SYSTEM_CALL_FILTER
  GTEST_SKIP() << "builds with sanitizers have no limit of memory";
#endif
  const auto made = table_process().make(query_for(built_file("plimsoll")),
                                         {.limits = {.memory_bytes = uint64_t{48} << 20}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(made.error().text(),
              AllOf(HasSubstr("bin/plimsoll"), HasSubstr("48 MiB"), HasSubstr("--memory")));
}

TEST(TableProcess, ATableOverItsSizeIsRefused) {
#ifdef PLIMSOLL_WITHOUT_SYSTEM_CALL_FILTER
  GTEST_SKIP() << "sanitizers take SIGXFSZ for something else";
#endif
  const auto made = table_process().make(query_for(kBinary), {.limits = {.table_bytes = 1000}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kTooLarge);
}

TEST(TableProcess, AProgramThatCannotBeStartedIsNamed) {
  const auto made = TableProcess({{"/nowhere/plimsoll"}}).make(query_for(kBinary), {});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().text(), AllOf(HasSubstr("/nowhere/plimsoll"), HasSubstr(kBinary)));
}

// A zygote that adds its process number to the file when it is started.
TableWorker noted_zygote(const std::string& starts) {
  const std::string script =
      fmt::format("echo $$ >> '{}'; exec '{}' symtab worker --zygote", starts, built_file("plimsoll"));
  return {.argv = {"/bin/sh", "-c", script}, .is_zygote = true};
}

int64_t lines_of(const std::string& path) {
  return std::ranges::count(*read_file(path, 1 << 20), '\n');
}

TEST(Zygote, MakesTheTablesOfManyBinariesAndABadOneCostsItsOwnAlone) {
#ifdef PLIMSOLL_WITHOUT_SYSTEM_CALL_FILTER
  GTEST_SKIP() << "builds with sanitizers have no limit of memory";
#endif
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string starts = folder / "starts";
  const TableProcess process(noted_zygote(starts));
  constexpr int kBinaries = 100;
  constexpr int kHostile = 50;
  for (int i = 0; i < kBinaries; ++i) {
    const std::string& path = i == kHostile ? built_file("plimsoll") : kBinary;
    const auto made = process.make(query_for(path), {.limits = {.memory_bytes = uint64_t{48} << 20}});
    ASSERT_EQ(made.has_value(), i != kHostile) << i;
    if (made) {
      EXPECT_TRUE(made->mapped && made->mapped->table.verify());
    } else {
      EXPECT_THAT(made.error().text(), AllOf(HasSubstr("bin/plimsoll"), HasSubstr("48 MiB")));
    }
  }
  EXPECT_EQ(lines_of(starts), 2) << "one, and another after the bad end";
}

TEST(Zygote, OneThatIsGoneIsReplaced) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string starts = folder / "starts";
  const TableProcess process(noted_zygote(starts));
  ASSERT_TRUE(process.make(query_for(kBinary), {}));
  ASSERT_EQ(::kill(std::stoi(*read_file(starts, 100)), SIGKILL), 0);
  EXPECT_TRUE(process.make(query_for(kBinary), {}));
  EXPECT_EQ(lines_of(starts), 2);
}

TEST(Zygote, OneThatCannotBeUsedIsSaid) {
  const auto none =
      TableProcess({.argv = {"/nowhere/plimsoll"}, .is_zygote = true}).make(query_for(kBinary), {});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("/nowhere/plimsoll"));
  const auto other = TableProcess({.argv = {"/bin/true"}, .is_zygote = true}).make(query_for(kBinary), {});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().text(), HasSubstr("is gone"));
}

TEST(Zygote, ItsChildrenMakeTheSameTablesAsAProgramThatIsStarted) {
  const auto by_zygote = table_process().make(query_for(kBinary), {});
  const auto by_program =
      TableProcess({{built_file("plimsoll"), "symtab", "worker"}}).make(query_for(kBinary), {});
  ASSERT_TRUE(by_zygote && by_program);
  EXPECT_TRUE(std::ranges::equal(by_zygote->mapped->map.bytes(), by_program->mapped->map.bytes()));
}

TEST(Zygote, EndsWithItsOwner) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string starts = folder / "starts";
  {
    const TableProcess process(noted_zygote(starts));
    ASSERT_TRUE(process.make(query_for(kBinary), {}));
  }
  EXPECT_EQ(::kill(std::stoi(*read_file(starts, 100)), 0), -1) << "it is gone";
}

TEST(Messages, AreTakenOneByOneAsTheyArrive) {
  wire::TableEvent opened;
  opened.set_opened_bytes(7);
  wire::TableEvent reply;
  reply.mutable_reply()->set_reasons("no reason");
  const std::string both = framed(opened) + framed(reply);
  for (size_t size = 0; size < both.size(); ++size) {
    std::string_view received(both.data(), size);
    const auto first = take_event(received);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->has_value(), size >= framed(opened).size());
  }
  std::string_view received = both;
  EXPECT_EQ((*take_event(received))->opened_bytes(), 7);
  EXPECT_EQ((*take_event(received))->reply().reasons(), "no reason");
  EXPECT_EQ(received, "");
}

}  // namespace
}  // namespace plimsoll::symbolizer
