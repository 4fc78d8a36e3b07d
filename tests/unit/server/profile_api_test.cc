// GET /api/v1/fdo/autofdo. A shell stands for the process that makes profiles.
#include "server/profile_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/hex.h"
#include "proto/symbol_table.pb.h"
#include "symbolizer/process/messages.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::server::profile_api_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kId = "\x4f\x5a\x11\x22\x33\x44\x55\x66";
const std::string kOlderId = "\x5f\x5a\x11\x22\x33\x44\x55\x66";
const std::string kUnsampledId = "\x6f\x5a\x11\x22\x33\x44\x55\x66";

class ProfileApi : public ::testing::Test {
 protected:
  ProfileApi() : snapshots_(fleet_.path()) {
    add_profile(1, kId);
    says("profile bytes", R"({"usefulness": "good"})");
  }

  void add_profile(uint64_t seed, const std::string& build_id, const std::string& machine = "m1") {
    wire::Binary binary;
    binary.set_identity_kind(wire::GNU_BUILD_ID);
    binary.set_identity(build_id);
    binary.set_path("/srv/search");
    wire::RawProfile profile =
        query::make_profile({.seed = seed, .machine = machine, .stacks = "main;work 1\n"});
    query::add_sample(profile, binary, wire::ELF, 0x1136, 3);
    fleet_.add(profile);
  }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  // What the process writes from now on.
  void says(const std::string& profile, const std::string& report) {
    wire::TableEvent event;
    event.mutable_profile()->set_report(report);
    event.mutable_profile()->set_usefulness(static_cast<uint32_t>(fdo::Usefulness::kGood));
    write("profile", profile);
    write("reply", symbolizer::framed(event));
    script_ = "cat > request; echo started >> starts; cat profile >&3; cat reply";
  }
  void fails(const std::string& message, const std::string& hint) {
    wire::TableEvent event;
    event.mutable_error()->set_code(static_cast<uint32_t>(ErrorCode::kNotFound));
    event.mutable_error()->set_message(message);
    event.mutable_error()->set_hint(hint);
    write("reply", symbolizer::framed(event));
    script_ = "cat > request; cat reply";
  }

  http::Route route() {
    ProfileSettings settings{
        .worker = {.argv = {"/bin/sh", "-c", "cd '" + folder_.path() + "' && " + script_}},
        .roots = {{"/srv"}, {"/usr/lib/debug"}},
        .limits = limits_,
        .folder = folder_.path()};
    settings.worker.argv = script_.empty() ? std::vector<std::string>() : settings.worker.argv;
    return profile_routes(snapshots_,
                          {.write_audit_log = [] { return Status(); },
                           .running_server = [] { return query::RunningServer(); },
                           .answered = [](std::string_view, int64_t) {}},
                          settings)
        .front();
  }

  http::Response get(http::Fields query, http::Fields headers = {}, http::Role role = http::Role::kFdo) {
    http::Request request;
    request.path = "/api/v1/fdo/autofdo";
    request.query = std::move(query);
    request.headers = std::move(headers);
    request.caller.role = role;
    return route().handle(request);
  }

  // What the process was asked.
  wire::ProfileRequest request() const {
    wire::ProfileRequest request;
    EXPECT_TRUE(request.ParseFromString(read_file(folder_ / "request", 1 << 20).value_or("")));
    return request;
  }
  size_t starts() const {
    const std::string text = read_file(folder_ / "starts", 1 << 20).value_or("");
    return static_cast<size_t>(std::ranges::count(text, '\n'));
  }

  query::Fleet fleet_;
  query::SnapshotCache snapshots_;
  plimsoll::testing::TemporaryDirectory folder_;
  std::string script_;
  symbolizer::ProcessLimits limits_ = fdo::kProfileLimits;
};

TEST_F(ProfileApi, GivesTheProfileOfABuild) {
  const http::Response profile = get({{"build_id", "4f5a"}});
  ASSERT_EQ(profile.status, 200) << profile.body;
  EXPECT_EQ(profile.body, "profile bytes");
  EXPECT_EQ(profile.content_type, "application/octet-stream");
  EXPECT_EQ(profile.header("Plimsoll-Profile-Quality"), "good");
  const wire::ProfileRequest asked = request();
  ASSERT_EQ(asked.builds_size(), 1);
  EXPECT_EQ(asked.builds(0).files().identity(), kId);
  ASSERT_EQ(asked.builds(0).files().paths_size(), 1);
  EXPECT_EQ(asked.builds(0).files().paths(0), "/srv/search");
  EXPECT_EQ(asked.builds(0).files().folders(0), "/srv");
  EXPECT_EQ(asked.builds(0).files().debug_folders(0), "/usr/lib/debug");
  EXPECT_THAT(asked.builds(0).counts(), HasSubstr("0x1136"));
  EXPECT_EQ(asked.memory_bytes(), fdo::kProfileLimits.memory_bytes);
  const http::Response report = get({{"build_id", "4f5a"}, {"format", "report"}});
  EXPECT_EQ(report.body, R"({"usefulness": "good"})");
  EXPECT_EQ(report.content_type, "application/json");
}

TEST_F(ProfileApi, SaysNotModifiedWithoutMakingItAgain) {
  const std::string tag(get({{"build_id", "4f5a"}}).header("ETag"));
  EXPECT_EQ(starts(), 1);
  for (const std::string& tags : {tag, "\"other\", " + tag, "W/" + tag, std::string("*")}) {
    const http::Response same = get({{"build_id", "4f5a"}}, {{"If-None-Match", tags}});
    EXPECT_EQ(same.status, 304) << tags;
    EXPECT_EQ(same.body, "");
    EXPECT_EQ(same.header("ETag"), tag);
  }
  EXPECT_EQ(starts(), 1);
  EXPECT_EQ(get({{"build_id", "4f5a"}, {"format", "text"}}, {{"If-None-Match", tag}}).status, 200);
  EXPECT_EQ(get({{"build_id", "4f5a"}, {"min_quality", "good"}}, {{"If-None-Match", tag}}).status, 200);
  add_profile(2, kId);
  const http::Response more = get({{"build_id", "4f5a"}}, {{"If-None-Match", tag}});
  EXPECT_EQ(more.status, 200);
  EXPECT_NE(more.header("ETag"), tag);
  EXPECT_EQ(starts(), 4);
}

TEST_F(ProfileApi, TagsReportsByAllThatIsInThem) {
  const auto tag_of = [this](const std::string& format) {
    return std::string(get({{"build_id", "4f5a"}, {"format", format}}).header("ETag"));
  };
  const std::string profile = tag_of("binary");
  const std::string report = tag_of("report");
  // More of the fleet is covered, with the same samples of the binary.
  fleet_.add(
      query::make_profile({.seed = 9, .machine = "idle", .process = "other", .stacks = "main;other 5\n"}));
  EXPECT_EQ(tag_of("binary"), profile);
  EXPECT_NE(tag_of("report"), report);
}

TEST_F(ProfileApi, AddsOlderBuilds) {
  add_profile(2, kOlderId);
  ASSERT_EQ(get({{"build_id", "4f5a"}, {"older", "5F5A"}}).status, 200);
  wire::ProfileRequest asked = request();
  ASSERT_EQ(asked.builds_size(), 2);
  EXPECT_EQ(asked.builds(1).files().identity(), kOlderId);
  EXPECT_THAT(asked.builds(1).counts(), HasSubstr("0x1136"));
  // Known, and without samples in the selection: the report is to say so.
  add_profile(3, kUnsampledId, "m2");
  ASSERT_EQ(get({{"build_id", "4f5a"}, {"older", "6f5a"}, {"where", "machine=m1"}}).status, 200);
  asked = request();
  ASSERT_EQ(asked.builds_size(), 2);
  EXPECT_EQ(asked.builds(1).files().identity(), kUnsampledId);
  EXPECT_THAT(asked.builds(1).counts(), Not(HasSubstr("0x1136")));
}

TEST_F(ProfileApi, RefusesOlderBuildsThatAreMistakes) {
  add_profile(2, kOlderId);
  const auto refused = [this](http::Fields query) {
    query.emplace_back("build_id", "4f5a");
    const http::Response response = get(std::move(query));
    EXPECT_THAT(response.body, HasSubstr(R"("field":"older")"));
    return response;
  };
  for (const char* twice : {"4f5a", "4F", "4f5a112233445566"}) {
    EXPECT_EQ(refused({{"older", twice}}).status, 400) << twice;
  }
  EXPECT_THAT(refused({{"older", "5f5a"}, {"older", "5f"}}).body, HasSubstr("is given twice"));
  EXPECT_EQ(refused({{"older", "0123"}}).status, 404);
  EXPECT_EQ(refused({{"older", "xyz"}}).status, 400);
  EXPECT_THAT(refused(http::Fields(9, {"older", "5f5a"})).body, HasSubstr("more than 8 older builds"));
  EXPECT_EQ(starts(), 0);
}

TEST_F(ProfileApi, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(get({}).body, AllOf(HasSubstr("build ID of the binary is missing"), HasSubstr("readelf")));
  EXPECT_EQ(get({}).status, 400);
  EXPECT_THAT(get({{"build_id", "4f5a"}, {"format", "fdata"}}).body, HasSubstr("binary, gcov, report, text"));
  EXPECT_THAT(get({{"build_id", "4f5a"}, {"where", "nonsense"}}).body, HasSubstr("nonsense"));
  EXPECT_THAT(get({{"build", "4f5a"}}).body, HasSubstr("build_id"));
  const http::Response unknown = get({{"build_id", "abcd"}}, {}, http::Role::kAdmin);
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, AllOf(HasSubstr("no profile has samples"), HasSubstr("4f5a112233445566")));
  for (const char* wrong : {"abcd", "no digits"}) {
    EXPECT_THAT(get({{"build_id", wrong}}).body,
                AllOf(HasSubstr("readelf"), Not(HasSubstr("4f5a112233445566"))))
        << "a pipeline learns of no other binaries";
  }
  EXPECT_EQ(starts(), 0);
}

TEST_F(ProfileApi, TellsAdministratorsAloneWhereItLooked) {
  fails("the server has no file of build 4f5a", "put it there\n/srv/search: no such file");
  const auto body = [this](http::Role role) { return get({{"build_id", "4f5a"}}, {}, role).body; };
  EXPECT_THAT(body(http::Role::kFdo),
              AllOf(HasSubstr("put it there"), HasSubstr("role admin"), Not(HasSubstr("/srv/search"))));
  EXPECT_THAT(body(http::Role::kAdmin), HasSubstr("/srv/search: no such file"));
  EXPECT_EQ(get({{"build_id", "4f5a"}}).status, 404);
}

TEST_F(ProfileApi, SurvivesWhateverBecomesOfTheProcess) {
  for (const auto& [script, why] : {std::pair("cat > request; kill -SEGV $$", "crashed"),
                                    std::pair("cat > request; kill -SYS $$", "forbidden system call"),
                                    std::pair("cat > request; exit 71", "of memory allowed"),
                                    std::pair("cat > request; echo nonsense", "invalid reply"),
                                    std::pair("cat > request", "without a reply")}) {
    script_ = script;
    const http::Response failed = get({{"build_id", "4f5a"}});
    EXPECT_GE(failed.status, 400U) << script;
    EXPECT_THAT(failed.body, HasSubstr(why));
  }
  script_ = "";
  EXPECT_THAT(get({{"build_id", "4f5a"}}).body, HasSubstr("makes no compiler profiles"));
}

TEST_F(ProfileApi, AnswersAsDocumentedWhateverEndsTheProcess) {
  for (const auto& [script, status] :
       {std::pair("cat > request; kill -XFSZ $$", 413U), std::pair("cat > request; kill -XCPU $$", 413U),
        std::pair("cat > request; exit 71", 413U), std::pair("cat > request; kill -KILL $$", 503U),
        std::pair("cat > request; kill -BUS $$", 503U), std::pair("cat > request; kill -SEGV $$", 400U)}) {
    script_ = script;
    EXPECT_EQ(get({{"build_id", "4f5a"}}).status, status) << script;
  }
}

TEST_F(ProfileApi, SendsNoProfileOverTheLimit) {
  limits_.table_bytes = std::string("profile bytes").size();
  EXPECT_EQ(get({{"build_id", "4f5a"}}).body, "profile bytes");
  EXPECT_EQ(request().profile_bytes(), limits_.table_bytes) << "the process is told";
  says("profile bytes!", R"({"usefulness": "good"})");
  const http::Response large = get({{"build_id", "4f5a"}});
  EXPECT_EQ(large.status, 413);
  EXPECT_THAT(large.body, HasSubstr("has 14 bytes, over its limit of 13"));
}

TEST_F(ProfileApi, SendsNoEmptyProfile) {
  says("", R"({"usefulness": "good"})");
  const http::Response empty = get({{"build_id", "4f5a"}});
  EXPECT_EQ(empty.status, 400);
  EXPECT_THAT(empty.body, HasSubstr("the process wrote none"));
}

TEST_F(ProfileApi, MakesOneAtATimeAndEndsWithItsClient) {
  ASSERT_EQ(::mkfifo((folder_ / "working").c_str(), 0600), 0);
  const std::string tag(get({{"build_id", "4f5a"}}).header("ETag"));
  script_ = "echo yes > working; exec sleep 1000";
  const http::Route shared = route();
  std::atomic<bool> has_gone = false;
  http::Request request;
  request.query = {{"build_id", "4f5a"}};
  request.is_abandoned = [&] { return has_gone.load(); };
  http::Response first;
  std::thread client([&] { first = shared.handle(request); });
  std::string word;
  std::ifstream(folder_ / "working") >> word;
  EXPECT_EQ(word, "yes");
  http::Request other = request;
  other.is_abandoned = nullptr;
  const http::Response second = shared.handle(other);
  EXPECT_EQ(second.status, 503);
  EXPECT_THAT(second.body, HasSubstr("another compiler profile is being made"));
  EXPECT_NE(second.header("Retry-After"), "");
  other.headers = {{"If-None-Match", tag}};
  EXPECT_EQ(shared.handle(other).status, 304) << "nothing has to be made for it";
  has_gone = true;
  client.join();
  EXPECT_EQ(first.status, 503);
}

TEST_F(ProfileApi, IsForARoleOfItsOwn) {
  EXPECT_EQ(route().right, http::Right::kPullProfile);
  EXPECT_EQ(route().threads, http::Threads::kLong);
  EXPECT_TRUE(route().is_question);
}

}  // namespace
}  // namespace plimsoll::server::profile_api_test
