// GET /api/v1/annotate. A shell stands for the process that annotates.
#include "server/annotate_api.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/unique_fd.h"
#include "http/listener.h"
#include "proto/symbol_table.pb.h"
#include "query/annotate/annotation_codec.h"
#include "symbolizer/process/messages.h"
#include "symbolizer/repository/repository.h"
#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"

namespace plimsoll::server::annotate_api_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kId = "\x4f\x5a\x11\x22\x33\x44\x55\x66";

class AnnotateApi : public ::testing::Test {
 protected:
  AnnotateApi() : snapshots_(fleet_.path()) {
    wire::Binary binary;
    binary.set_identity_kind(wire::GNU_BUILD_ID);
    binary.set_identity(kId);
    binary.set_path("/srv/search");
    wire::RawProfile profile = query::make_profile({.seed = 1, .stacks = "main;work 1\n"});
    query::add_sample(profile, binary, wire::ELF, 0x10, 3);
    fleet_.add(profile);
    const auto snapshot = *query::Snapshot::load(fleet_.path());
    for (uint32_t id = 1; id < snapshot->dictionaries.locations.size(); ++id) {
      if (snapshot->dictionaries.locations[id].kind == wire::ELF) {
        fleet_.bind({{id, {{.function = "parse"}}}});
      }
    }
    std::filesystem::create_directories(folder_ / "src");
    std::ofstream(folder_ / "src/a.c") << "first\nsum += i;\n";
    says(annotation());
  }

  static annotate::Annotation annotation() {
    annotate::Annotation made{.function = "parse", .binary = "/srv/search", .build_id = "4f5a112233445566"};
    made.events = {{"cycles", "count", {3, 3}, {3, 3}}};
    made.names = {"", "parse"};
    made.files = {{}, {.path = "/build/a.c"}};
    made.chains = {{{1, 1, 2}}};
    annotate::AnnotatedFunction function{.name = "parse", .linkage_name = "parse"};
    function.instructions = {{0x10, 2, 0, "inc eax"}};
    function.counts = {{3, 3}};
    made.functions = {function};
    return made;
  }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  void says(const annotate::Annotation& made) {
    wire::TableEvent event;
    event.mutable_annotation()->set_reasons("");
    write("annotation", annotate::encode(made));
    write("reply", symbolizer::framed(event));
    script_ = "cat > request; cat annotation >&3; cat reply";
  }

  http::Route route() {
    AnnotateSettings settings{
        .worker = {.argv = {"/bin/sh", "-c", "cd '" + folder_.path() + "' && " + script_}},
        .roots = {{"/srv"}, {"/usr/lib/debug"}},
        .sources = sources_,
        .source_servers = source_servers_,
        .folder = folder_.path()};
    settings.worker.argv = script_.empty() ? std::vector<std::string>() : settings.worker.argv;
    return annotate_routes(snapshots_, settings).front();
  }

  http::Response get(http::Fields query, http::Role role = http::Role::kRead) {
    http::Request request;
    request.path = "/api/v1/annotate";
    request.query = std::move(query);
    request.caller.role = role;
    return route().handle(request);
  }

  // Processes that have begun.
  int started() const {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      files += entry.path().filename().string().starts_with("started.") ? 1 : 0;
    }
    return files;
  }

  query::Fleet fleet_;
  query::SnapshotCache snapshots_;
  plimsoll::testing::TemporaryDirectory folder_;
  std::vector<annotate::SourceRoot> sources_{{.prefix = "/build", .folder = folder_ / "src"}};
  std::vector<SourceServer> source_servers_;
  std::string script_;
};

TEST_F(AnnotateApi, GivesTheCodeOfTheFunctionsBinary) {
  const http::Response answer = get({{"function", "parse"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.content_type, "application/json");
  const auto json = nlohmann::json::parse(answer.body, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["functions"][0]["instructions"][0]["counts"][0]["value"], 3);
  EXPECT_EQ(json["functions"][0]["lines"][0]["source"], "sum += i;");
  wire::AnnotationRequest asked;
  ASSERT_TRUE(asked.ParseFromString(read_file(folder_ / "request", 1 << 20).value_or("")));
  EXPECT_EQ(asked.function(), "parse");
  ASSERT_EQ(asked.counts_size(), 1);
  EXPECT_THAT(asked.counts(0), HasSubstr("0x10"));
  EXPECT_EQ(asked.files().identity(), kId);
  ASSERT_EQ(asked.files().paths_size(), 1);
  EXPECT_EQ(asked.files().paths(0), "/srv/search");
  EXPECT_EQ(asked.files().folders(0), "/srv");
  EXPECT_EQ(asked.kept_table(), fleet_.path() + "/symtab/4f/4f5a112233445566.symtab");
  const http::Response text = get({{"function", "parse"}, {"format", "text"}, {"order", "address"}});
  EXPECT_EQ(text.content_type, "text/plain; charset=utf-8");
  EXPECT_THAT(text.body, AllOf(HasSubstr("a.c:2  sum += i;"), HasSubstr("inc eax")));
}

TEST_F(AnnotateApi, OpensNoFileThatDebugInformationAloneNames) {
  write("secret", "secret line\nsecret line\n");
  annotate::Annotation made = annotation();
  for (const std::string& path : {folder_ / "secret", std::string("/build/../secret"),
                                  std::string("/build/../../secret"), std::string("../secret")}) {
    made.files[1].path = path;
    says(made);
    const http::Response answer = get({{"function", "parse"}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, AllOf(Not(HasSubstr("secret line")), HasSubstr("without source text"))) << path;
  }
}

TEST_F(AnnotateApi, AsksASourceServerForTheRevisionOfTheBinary) {
  http::Route raw;
  raw.method = "GET";
  raw.path = "/raw/";
  raw.is_prefix = true;
  raw.right = http::Right::kRead;
  raw.handle = [](const http::Request& request) {
    return request.path == "/raw/4f2c/a.c"
               ? http::Response{.content_type = "text/plain", .body = "x\nfetched;\n"}
               : http::Response{.status = 404};
  };
  const auto listener = *http::Listener::start({}, {raw});
  sources_.clear();
  source_servers_ = *parse_source_servers(
      {fmt::format("/build = http://{}/raw/{{revision}}/{{path}}", listener->address())});
  const http::Response without = get({{"function", "parse"}});
  EXPECT_THAT(without.body, AllOf(Not(HasSubstr("fetched;")), HasSubstr("no label")));

  auto repository = *symbolizer::BinaryRepository::open(fleet_.path(), {});
  auto staged = *repository->stage();
  ASSERT_TRUE(staged.write(as_bytes(symbolizer::image_of({.build_id = kId}))));
  ASSERT_TRUE(
      repository->add(std::move(staged), {.source = "ci", .labels = {{"revision", "4f2c"}}, .now_ns = 1}));
  const http::Response answer = get({{"function", "parse"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("fetched;"));
}

TEST_F(AnnotateApi, QuestionsThatCannotBeAnsweredSayWhy) {
  EXPECT_EQ(get({}).status, 400);
  const http::Response unknown = get({{"function", "nothing"}});
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("in a function called nothing"));
  EXPECT_EQ(get({{"function", "parse"}, {"binary", "abcd"}}).status, 404);
  EXPECT_EQ(get({{"function", "parse"}, {"order", "size"}}).status, 400);
  EXPECT_EQ(get({{"function", "parse"}, {"colour", "red"}}).status, 400);
  script_ = "";
  EXPECT_THAT(get({{"function", "parse"}}).body, HasSubstr("annotates no code"));
}

TEST_F(AnnotateApi, TellsAdministratorsAloneWhereItLooked) {
  wire::TableEvent event;
  event.mutable_error()->set_code(static_cast<uint32_t>(ErrorCode::kNotFound));
  event.mutable_error()->set_message("there is no file of build 4f5a here");
  event.mutable_error()->set_hint("put it there\n/srv/search: no such file");
  write("reply", symbolizer::framed(event));
  script_ = "cat > request; cat reply";
  const http::Response for_reader = get({{"function", "parse"}});
  EXPECT_EQ(for_reader.status, 404);
  EXPECT_THAT(for_reader.body,
              AllOf(HasSubstr("put it there"), HasSubstr("role admin"), Not(HasSubstr("/srv/search"))));
  EXPECT_THAT(get({{"function", "parse"}}, http::Role::kAdmin).body, HasSubstr("/srv/search: no such file"));
}

TEST_F(AnnotateApi, NotesNameTheDataDirectoryToAdministratorsAlone) {
  annotate::Annotation made = annotation();
  made.notes = {"missing from this answer: opening " + fleet_.path() + "/blocks/000001: damaged"};
  says(made);
  EXPECT_THAT(get({{"function", "parse"}}).body,
              AllOf(HasSubstr("opening blocks/000001"), Not(HasSubstr(fleet_.path()))));
  EXPECT_THAT(get({{"function", "parse"}}, http::Role::kAdmin).body, HasSubstr(fleet_.path() + "/blocks"));
}

TEST_F(AnnotateApi, SurvivesWhateverBecomesOfTheProcess) {
  for (const auto& [script, why] :
       {std::pair("cat > request; kill -SEGV $$", "crashed"),
        std::pair("cat > request; exit 71", "of memory allowed"),
        std::pair("cat > request; echo nonsense", "invalid reply"),
        std::pair("cat > request; echo nonsense >&3; cat reply", "makes no sense"),
        std::pair("cat > request; cat reply", "makes no sense")}) {
    script_ = script;
    const http::Response failed = get({{"function", "parse"}});
    EXPECT_GE(failed.status, 400U) << script;
    EXPECT_THAT(failed.body, HasSubstr(why)) << script;
  }
}

TEST_F(AnnotateApi, EndsWithItsClientWhileItWaitsForAPlace) {
  ASSERT_EQ(::mkfifo((folder_ / "go").c_str(), 0600), 0);
  UniqueFd go(::open((folder_ / "go").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(go.valid());
  // Two processes run until the other end of the pipe is closed.
  script_ = "cat > request; exec 4<go; touch started.$$; cat <&4; cat annotation >&3; cat reply";
  const http::Route one = route();
  http::Request request;
  request.path = "/api/v1/annotate";
  request.query = {{"function", "parse"}};
  const std::jthread first([&] { EXPECT_EQ(one.handle(request).status, 200U); });
  const std::jthread second([&] { EXPECT_EQ(one.handle(request).status, 200U); });
  while (started() < 2) {
    std::this_thread::yield();
  }
  http::Request abandoned = request;
  abandoned.is_abandoned = [] { return true; };
  const http::Response ended = one.handle(abandoned);
  EXPECT_EQ(ended.status, 503U);
  EXPECT_THAT(ended.body, HasSubstr("its client is gone"));
  go = UniqueFd();
}

TEST_F(AnnotateApi, RequiresTheRightToRead) {
  EXPECT_EQ(route().right, http::Right::kRead);
  EXPECT_EQ(route().threads, http::Threads::kLong);
  EXPECT_TRUE(route().is_question);
}

}  // namespace
}  // namespace plimsoll::server::annotate_api_test
