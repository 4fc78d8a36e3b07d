// A symbolizer worker with the process that parses, and the server's side of it, over HTTP.
#include "symbolizer/remote/remote_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "elf/elf_file.h"
#include "http/listener.h"
#include "server/doors/symbolizer_door.h"
#include "symbolizer/worker/symbol_loader.h"
#include "tests/eventually.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server::remote_worker_test {
namespace {

using plimsoll::testing::eventually;
using plimsoll::testing::TemporaryDirectory;
using symbolizer::RemoteWorker;
using ::testing::HasSubstr;

constexpr uint64_t kMaxFixtureBytes = 64 << 20;

symbolizer::TableWorker table_worker() {
  return {.argv = {built_file("plimsoll"), "symtab", "worker", "--zygote"}, .is_zygote = true};
}

std::string content_of(const std::string& path) {
  const auto content = read_file(path, kMaxFixtureBytes);
  EXPECT_TRUE(content) << content.error().text();
  return content.value_or("");
}

std::string build_id_of(const std::string& path) {
  const std::string content = content_of(path);
  return std::string(elf::ElfFile::parse(as_bytes(content))->build_id());
}

class RemoteWorkerTest : public ::testing::Test {
 protected:
  void listen(std::vector<http::Route> routes) {
    auto listener = http::Listener::start({}, std::move(routes));
    ASSERT_TRUE(listener) << listener.error().text();
    listener_ = *std::move(listener);
  }

  void add(const std::string& path) {
    auto staged = repository_->stage();
    ASSERT_TRUE(staged);
    ASSERT_TRUE(staged->write(as_bytes(content_of(path))));
    ASSERT_TRUE(repository_->add(*std::move(staged), {}));
  }

  symbolizer::RemoteWorkerSettings settings() const {
    symbolizer::RemoteWorkerSettings settings;
    settings.client.server = listener_->address();
    settings.client.worker = "w1";
    settings.folder = folder_.path() + "/worker";
    settings.max_bytes = kMaxFixtureBytes;
    settings.table_worker = table_worker();
    return settings;
  }

  static std::unique_ptr<RemoteWorker> started(symbolizer::RemoteWorkerSettings settings) {
    auto worker = RemoteWorker::start(std::move(settings));
    EXPECT_TRUE(worker) << worker.error().text();
    return worker ? *std::move(worker) : nullptr;
  }

  void offer(std::string_view build_id) {
    exchange_.offer({.identity_kind = wire::GNU_BUILD_ID, .identity = build_id, .paths = {}});
  }

  // As the server makes it from its repository.
  std::string table_made_here(std::string_view build_id) {
    const TemporaryDirectory data;
    auto tables = symbolizer::TableFolder::open(data.path());
    symbolizer::SymbolLoader loader({{}, {symbolizer_folder()}}, *std::move(tables),
                                    symbolizer::TableProcess(table_worker()));
    EXPECT_TRUE(loader.load({.identity_kind = wire::GNU_BUILD_ID, .identity = build_id, .paths = {}}));
    return content_of(symbolizer::table_path(data.path(), build_id));
  }
  std::string symbolizer_folder() const { return folder_.path() + "/binaries"; }

  TemporaryDirectory folder_;
  std::unique_ptr<symbolizer::BinaryRepository> repository_ = [this] {
    std::filesystem::create_directories(folder_.path() + "/symtab");
    return *symbolizer::BinaryRepository::open(folder_.path(), {});
  }();
  symbolizer::TableExchange exchange_{*repository_, {}};
  std::unique_ptr<http::Listener> listener_;
};

TEST_F(RemoteWorkerTest, MakesTheTableThatTheServerWouldMake) {
  listen(symbolizer_routes(exchange_, {}));
  const std::string whole = built_file("inline_gcc5.so");
  const std::string build_id = build_id_of(whole);
  add(built_file("split.so"));
  add(built_file("split.debug"));
  ASSERT_EQ(build_id_of(built_file("split.so")), build_id);
  offer(build_id);
  const auto worker = started(settings());
  ASSERT_TRUE(eventually([&] { return exchange_.has(build_id); })) << worker->status().newest_failure;
  const auto table = exchange_.take(build_id);
  ASSERT_TRUE(table);
  EXPECT_EQ(as_text(table->map.bytes()), table_made_here(build_id));
  EXPECT_TRUE(eventually([&] { return worker->status().tables == 1; }));
  EXPECT_TRUE(eventually([&] { return worker->status().working_on.empty(); }));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() + "/worker/jobs")) << "files go with their lease";
}

TEST_F(RemoteWorkerTest, WhatHasNoFullDwarfIsLeftToTheServer) {
  listen(symbolizer_routes(exchange_, {}));
  const std::string stripped = built_file("split.so");
  add(stripped);
  offer(build_id_of(stripped));
  const auto worker = started(settings());
  ASSERT_TRUE(eventually([&] { return worker->status().failures == 1; }));
  EXPECT_THAT(worker->status().newest_failure, HasSubstr("full DWARF"));
  EXPECT_TRUE(eventually([&] { return exchange_.begin_here(build_id_of(stripped)); }));
}

TEST_F(RemoteWorkerTest, GivesBackWhatItHasWhenItStops) {
  add(built_file("inline_gcc5.so"));
  offer(build_id_of(built_file("inline_gcc5.so")));
  std::promise<void> released;
  auto routes = symbolizer_routes(exchange_, {});
  for (http::Route& route : routes) {
    if (route.method == "GET") {
      route.handle = [is_released = released.get_future().share()](const http::Request&) {
        is_released.wait();
        return http::Response{.status = 503};
      };
    }
  }
  listen(std::move(routes));
  const auto worker = started(settings());
  EXPECT_TRUE(eventually([&] { return !worker->status().working_on.empty(); }));
  worker->stop();
  released.set_value();
  EXPECT_EQ(exchange_.workers().at(0).leases, 0);
  const auto next = exchange_.lease("another", 1);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->size(), 1) << "at once, and not when the lease is over";
}

TEST_F(RemoteWorkerTest, AServerThatAnswersNonsenseIsAskedLessAndLess) {
  http::Route nonsense{.method = "POST",
                       .path = "/api/v1/symbolizer/lease",
                       .max_body_bytes = 1 << 20,
                       .handle = [](const http::Request&) {
                         wire::LeaseReply reply;
                         wire::LeasedBinary& binary = *reply.add_binaries();
                         binary.set_lease("1");
                         binary.set_build_id("../../etc");
                         return http::Response{.content_type = "application/x-protobuf",
                                               .body = reply.SerializeAsString()};
                       }};
  listen({std::move(nonsense)});
  const auto worker = started(settings());
  ASSERT_TRUE(eventually([&] { return !worker->status().newest_error.empty(); }));
  EXPECT_THAT(worker->status().newest_error, HasSubstr("malformed"));
  EXPECT_TRUE(worker->status().working_on.empty());
}

TEST_F(RemoteWorkerTest, EachWorkerHasAFolderOfItsOwn) {
  listen(symbolizer_routes(exchange_, {}));
  const auto worker = started(settings());
  const auto second = RemoteWorker::start(settings());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace plimsoll::server::remote_worker_test
