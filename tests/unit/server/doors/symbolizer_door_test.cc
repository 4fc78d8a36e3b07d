// Symbolizer workers over HTTP: what they lease, which files they get, and which tables are taken from them.
#include "server/doors/symbolizer_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "http/client.h"
#include "http/listener.h"
#include "proto/symbolizer.pb.h"
#include "symbolizer/remote/lease_client.h"
#include "symbolizer/symtab/symtab_writer.h"
#include "symbolizer/worker/table_folder.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"
#include "tests/unit/symbolizer/repository/sample_sources.h"

namespace plimsoll::server::symbolizer_door_test {
namespace {

using store::SymbolQuality;
using symbolizer::BinaryKind;
using symbolizer::image_of;
using symbolizer::LeaseClient;
using symbolizer::SampleBinary;
using symbolizer::SymtabQuality;
using ::testing::HasSubstr;

const std::string kBuildId = SampleBinary().build_id;

// A table of one function.
std::string table_of(std::string_view build_id, SymtabQuality quality = SymtabQuality::kFull) {
  symbolizer::SymtabWriter writer;
  const uint32_t unit = writer.unit("a compiler", 1);
  const uint32_t function = writer.function({.name = "work", .unit = unit});
  writer.row({.from = 0x1000, .scope = writer.scope({.function = function})});
  writer.end(0x1040);
  return std::move(writer).finish({.kind = wire::GNU_BUILD_ID, .bytes = build_id}, quality);
}

class StringSink : public http::BodySink {
 public:
  Status take(Bytes piece) override {
    content += as_text(piece);
    return {};
  }
  std::string content;
};

class SymbolizerDoorTest : public ::testing::Test {
 protected:
  SymbolizerDoorTest() {
    EXPECT_TRUE(symbolizer::TableFolder::open(folder_.path()));
    add(image_of({}));
    SymbolizerDoorOptions options;
    options.asked = [this] { ++asked_; };
    auto listener = http::Listener::start({}, symbolizer_routes(exchange_, options));
    EXPECT_TRUE(listener) << listener.error().text();
    listener_ = *std::move(listener);
  }

  // `build_id`: of sources, which do not say it.
  void add(const std::string& image, const std::string& build_id = {}) {
    auto staged = repository_->stage();
    ASSERT_TRUE(staged);
    ASSERT_TRUE(staged->write(as_bytes(image)));
    ASSERT_TRUE(repository_->add(*std::move(staged), {.build_id = build_id}));
  }

  symbolizer::WantedBinary wanted(std::string_view build_id = kBuildId) const {
    return {.identity_kind = wire::GNU_BUILD_ID, .identity = build_id, .paths = paths_};
  }

  LeaseClient client(const std::string& worker) const {
    return LeaseClient({.server = listener_->address(), .worker = worker, .max_file_bytes = 1 << 20});
  }

  // Of the build that is offered.
  wire::LeasedBinary lease(LeaseClient& worker) {
    exchange_.offer(wanted());
    const auto reply = worker.lease(1);
    EXPECT_TRUE(reply) << reply.error().text();
    EXPECT_EQ(reply->binaries_size(), 1);
    return reply && reply->binaries_size() == 1 ? reply->binaries(0) : wire::LeasedBinary();
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::vector<std::string> paths_{"/nowhere/app"};
  int64_t now_ns_ = 1'000'000'000;
  int delivered_ = 0;
  int asked_ = 0;
  std::unique_ptr<symbolizer::BinaryRepository> repository_ =
      *symbolizer::BinaryRepository::open(folder_.path(), {});
  symbolizer::TableExchange exchange_{*repository_,
                                      {.limits = {.lease_ns = kNsPerSecond},
                                       .max_table_bytes = 1 << 20,
                                       .max_delivered = 1,
                                       .delivered = [this] { ++delivered_; },
                                       .monotonic_ns = [this] { return now_ns_; }}};
  std::unique_ptr<http::Listener> listener_;
};

TEST_F(SymbolizerDoorTest, ATableOfAnotherMachineIsUsedAsOnesOwn) {
  LeaseClient worker = client("w1");
  ASSERT_TRUE(worker.lease(1));
  EXPECT_EQ(asked_, 1) << "what is pending is offered";
  ASSERT_TRUE(exchange_.may_offer(wanted()));
  const wire::LeasedBinary binary = lease(worker);
  EXPECT_EQ(binary.build_id(), kBuildId);
  EXPECT_FALSE(exchange_.may_offer(wanted())) << "it is in the book";
  EXPECT_FALSE(exchange_.begin_here(kBuildId)) << "and left alone";
  StringSink file;
  ASSERT_TRUE(worker.fetch(binary, false, 0, file));
  EXPECT_EQ(file.content, image_of({}));
  EXPECT_EQ(binary.files(0).size_bytes(), file.content.size());
  EXPECT_EQ(worker.bring(binary, as_bytes(table_of(kBuildId))), true);
  EXPECT_EQ(delivered_, 1);
  EXPECT_TRUE(exchange_.has(kBuildId));
  ASSERT_TRUE(exchange_.begin_here(kBuildId));
  const auto taken = exchange_.take(kBuildId);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->table.identity(), kBuildId);
  exchange_.end_here(kBuildId);
  EXPECT_EQ(worker.bring(binary, as_bytes(table_of(kBuildId))).error().code, ErrorCode::kConflict)
      << "needed no more";
  EXPECT_EQ(asked_, 1);
}

TEST_F(SymbolizerDoorTest, OfABuildWithSourcesTheBinaryAloneIsLent) {
  add(symbolizer::source_archive_of({{"build/work.c", "void work() {}\n"}}), kBuildId);
  LeaseClient worker = client("w1");
  const wire::LeasedBinary binary = lease(worker);
  ASSERT_EQ(binary.files_size(), 1);
  EXPECT_FALSE(binary.files(0).is_debug());
  StringSink file;
  ASSERT_TRUE(worker.fetch(binary, false, 0, file));
  EXPECT_EQ(file.content, image_of({}));
}

TEST_F(SymbolizerDoorTest, AFileIsServedFromWhereATransferWasCut) {
  LeaseClient worker = client("w1");
  const wire::LeasedBinary binary = lease(worker);
  const std::string image = image_of({});
  for (const uint64_t offset : {uint64_t{1}, image.size() / 2, image.size() - 1}) {
    StringSink rest;
    ASSERT_TRUE(worker.fetch(binary, false, offset, rest));
    EXPECT_EQ(rest.content, image.substr(offset));
  }
  StringSink none;
  EXPECT_EQ(worker.fetch(binary, false, image.size() + 1, none).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(worker.fetch(binary, true, 0, none).error().code, ErrorCode::kNotFound)
      << "there is no debug file";
  EXPECT_EQ(none.content, "");
}

TEST_F(SymbolizerDoorTest, OnlyTheWorkerWithTheLeaseGetsFilesAndBringsTables) {
  LeaseClient worker = client("w1");
  LeaseClient other = client("w2");
  const wire::LeasedBinary binary = lease(worker);
  wire::LeasedBinary guessed = binary;
  guessed.set_lease("0000-0");
  StringSink file;
  EXPECT_EQ(other.fetch(binary, false, 0, file).error().code, ErrorCode::kConflict);
  EXPECT_EQ(worker.fetch(guessed, false, 0, file).error().code, ErrorCode::kConflict);
  EXPECT_EQ(other.bring(binary, as_bytes(table_of(kBuildId))).error().code, ErrorCode::kConflict);
  EXPECT_EQ(file.content, "");
  EXPECT_FALSE(exchange_.has(kBuildId));
}

TEST_F(SymbolizerDoorTest, ATableThatIsNotTheOneIsRefusedAndCounted) {
  LeaseClient worker = client("w1");
  wire::LeasedBinary binary = lease(worker);
  EXPECT_EQ(worker.bring(binary, as_bytes(table_of("another build ID"))).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(exchange_.workers().at(0).refused, 1);
  EXPECT_THAT(exchange_.workers().at(0).newest_failure, HasSubstr("another binary"));
  binary = lease(worker);
  EXPECT_EQ(worker.bring(binary, as_bytes(table_of(kBuildId, SymtabQuality::kSymtab))).error().code,
            ErrorCode::kCorrupt);
  binary = lease(worker);
  EXPECT_EQ(worker.bring(binary, as_bytes(std::string_view("no table"))).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(worker.lease(1)->binaries_size(), 0) << "the server makes it itself";
  EXPECT_TRUE(exchange_.begin_here(kBuildId));
  EXPECT_EQ(delivered_, 0);
}

TEST_F(SymbolizerDoorTest, MutatedTablesAreRefusedOrReadWithinTheirBytes) {
  const std::string whole = table_of(kBuildId);
  std::mt19937_64 random(41);
  const auto file_of = [&](const std::string& content) {
    UniqueFd file = *unnamed_file(folder_.path());
    EXPECT_EQ(::write(file.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
    return file;
  };
  for (int i = 0; i < 500; ++i) {
    std::string mutated = whole;
    for (uint64_t j = 0; j < 1 + random() % 4; ++j) {
      mutated[random() % mutated.size()] = static_cast<char>(random());
    }
    mutated.resize(random() % 4 == 0 ? random() % mutated.size() : mutated.size());
    exchange_.offer(wanted());
    const auto leases = exchange_.lease("w1 (test)", 1);
    ASSERT_TRUE(leases);
    ASSERT_EQ(leases->size(), 1) << "every build starts from zero once the server is done with it";
    const auto answer = exchange_.deliver(
        {.worker = "w1 (test)", .id = leases->front().id, .build_id = kBuildId}, file_of(mutated));
    EXPECT_EQ(answer.has_value(), mutated == whole) << "every byte is under a checksum";
    exchange_.end_here(kBuildId);
  }
}

TEST_F(SymbolizerDoorTest, FailuresLeaveABuildToOthersAndThenToTheServer) {
  LeaseClient worker = client("w1");
  wire::LeasedBinary binary = lease(worker);
  ASSERT_TRUE(worker.give_back(binary));
  binary = lease(worker);
  ASSERT_TRUE(worker.fail_lease(binary, "it\x1b[2J crashed", false));
  EXPECT_THAT(exchange_.workers().at(0).newest_failure, HasSubstr("it?[2J crashed"));
  binary = lease(worker);
  ASSERT_TRUE(worker.fail_lease(binary, "no full DWARF", true));
  EXPECT_EQ(worker.lease(1)->binaries_size(), 0);
  EXPECT_EQ(exchange_.workers().at(0).failures, 2);
}

TEST_F(SymbolizerDoorTest, ALeaseIsOverUnlessItIsRenewed) {
  LeaseClient worker = client("w1");
  const wire::LeasedBinary binary = lease(worker);
  wire::LeaseName name;
  name.set_lease(binary.lease());
  name.set_build_id(binary.build_id());
  now_ns_ += kNsPerSecond - 1;
  EXPECT_EQ(worker.renew({name})->size(), 0);
  now_ns_ += kNsPerSecond - 1;
  EXPECT_EQ(worker.renew({name})->size(), 0);
  now_ns_ += kNsPerSecond;
  EXPECT_EQ(*worker.renew({name}), std::vector<std::string>{binary.lease()});
  EXPECT_EQ(worker.bring(binary, as_bytes(table_of(kBuildId))), true) << "what is right is right";
}

TEST_F(SymbolizerDoorTest, OnlyWhatWorkersCanDoCompletelyIsOffered) {
  const std::string stripped = "a stripped build";
  add(image_of({.build_id = stripped, .quality = SymbolQuality::kDynsym}));
  EXPECT_FALSE(exchange_.may_offer(wanted(stripped))) << "without DWARF it is soon done here";
  EXPECT_FALSE(exchange_.may_offer(wanted("an unknown build")));
  const std::string debug = "a debug file alone";
  add(image_of({.build_id = debug, .kind = BinaryKind::kDebug}));
  EXPECT_TRUE(exchange_.may_offer(wanted(debug)));
  paths_ = {"/proc/self/exe"};
  EXPECT_FALSE(exchange_.may_offer(wanted(debug))) << "the server has the executable elsewhere";
  EXPECT_TRUE(exchange_.may_offer(wanted(kBuildId)));
  symbolizer::WantedBinary by_hash = wanted(kBuildId);
  by_hash.identity_kind = wire::CONTENT_HASH;
  EXPECT_FALSE(exchange_.may_offer(by_hash));
}

TEST_F(SymbolizerDoorTest, TablesThatNobodyTakesAreBounded) {
  const std::string second = "a second build";
  add(image_of({.build_id = second}));
  LeaseClient worker = client("w1");
  const wire::LeasedBinary binary = lease(worker);
  ASSERT_EQ(worker.bring(binary, as_bytes(table_of(kBuildId))), true);
  exchange_.offer(wanted(second));
  const auto leases = worker.lease(1);
  ASSERT_EQ(leases->binaries_size(), 1);
  EXPECT_EQ(worker.bring(leases->binaries(0), as_bytes(table_of(second))).error().code,
            ErrorCode::kUnavailable);
  exchange_.end_here(kBuildId);
  EXPECT_EQ(worker.bring(leases->binaries(0), as_bytes(table_of(second))), true);
}

TEST_F(SymbolizerDoorTest, MutatedMessagesAreAnsweredAndLoseNoBuild) {
  const auto routes = symbolizer_routes(exchange_, {});
  LeaseClient worker = client("w1");
  const wire::LeasedBinary binary = lease(worker);
  wire::FailedRequest failed;
  failed.set_worker("w1");
  failed.mutable_lease()->set_lease(binary.lease());
  failed.mutable_lease()->set_build_id(binary.build_id());
  failed.set_reason("none");
  const std::string whole = failed.SerializeAsString();
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string body = whole;
    for (uint64_t j = 0; j < 1 + random() % 5; ++j) {
      body[random() % body.size()] = static_cast<char>(random());
    }
    body.resize(random() % (body.size() + 1));
    for (const http::Route& route : routes) {
      if (route.method == "POST") {
        const unsigned status = route.handle({.method = "POST", .path = route.path, .body = body}).status;
        EXPECT_TRUE(status == 200 || status == 400 || status == 503) << status;
      }
    }
  }
  EXPECT_LE(exchange_.workers().size(), symbolizer::LeaseLimits().max_workers)
      << "whatever they call themselves";
  now_ns_ += 10 * kNsPerSecond;
  EXPECT_TRUE(exchange_.begin_here(kBuildId)) << "no message keeps a build from the server";
}

TEST_F(SymbolizerDoorTest, RequestsThatMakeNoSenseAreRefused) {
  http::Client client({.base_url = listener_->address()});
  const auto status_of = [&](const std::string& method, const std::string& path, const std::string& body) {
    const auto answer = client.send(method, path, body, "application/x-protobuf");
    return answer ? answer->status : 0;
  };
  for (const std::string path : {"lease", "renew", "failed"}) {
    EXPECT_EQ(status_of("POST", "/api/v1/symbolizer/" + path, "\xff\xff\xff"), 400) << path;
    EXPECT_EQ(status_of("POST", "/api/v1/symbolizer/" + path, ""), 400) << path << ": no name";
    EXPECT_EQ(status_of("POST", "/api/v1/symbolizer/" + path, std::string(100'000, 'x')), 413) << path;
  }
  wire::LeaseRequest request;
  request.set_worker(std::string(200, 'w'));
  EXPECT_EQ(status_of("POST", "/api/v1/symbolizer/lease", request.SerializeAsString()), 400);
  wire::RenewRequest renewal;
  renewal.set_worker("w1");
  for (int i = 0; i < 1000; ++i) {
    renewal.add_leases()->set_lease("x");
  }
  EXPECT_EQ(status_of("POST", "/api/v1/symbolizer/renew", renewal.SerializeAsString()), 400);
  const std::string hex = to_hex(kBuildId);
  for (const std::string& path : {std::string("files/../../identity/executable"), "files/" + hex + "/source",
                                  "files/" + hex, std::string("files/")}) {
    EXPECT_GE(status_of("GET", "/api/v1/symbolizer/" + path + "?worker=w1&lease=x", ""), 400) << path;
  }
  EXPECT_EQ(status_of("PUT", "/api/v1/symbolizer/tables/" + hex + "?worker=w1&lease=x", "table"), 409);
}

}  // namespace
}  // namespace plimsoll::server::symbolizer_door_test
