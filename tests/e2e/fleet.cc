#include "tests/e2e/fleet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "http/address.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "sqlite/database.h"

namespace plimsoll::testing {
namespace {

sqlite::Database open_database(const std::string& path) {
  auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
  if (!database) {
    ADD_FAILURE() << database.error().text();
    std::abort();
  }
  return std::move(*database);
}

int64_t count(sqlite::Database& database, const std::string& what) {
  const auto found = database.integer("SELECT count(*) FROM " + what, 0);
  EXPECT_TRUE(found.has_value()) << found.error().text();
  return found.value_or(-1);
}

std::vector<std::string> texts(sqlite::Database& database, const std::string& query) {
  std::vector<std::string> found;
  auto row = database.query(query);
  EXPECT_TRUE(row.has_value()) << row.error().text();
  while (row && row->step().value_or(false)) {
    found.emplace_back(row->text(0));
  }
  return found;
}

// Without those that are being made or dropped, which have other names.
std::vector<std::filesystem::path> blocks_in(const std::string& data_dir) {
  std::vector<std::filesystem::path> blocks;
  for (const auto& block : std::filesystem::directory_iterator(data_dir + "/blocks")) {
    if (block.path().extension().empty()) {
      blocks.push_back(block.path());
    }
  }
  return blocks;
}

}  // namespace

std::string free_address() {
  constexpr int kFirstPort = 10'000;
  constexpr int kPorts = 22'000;
  // Tests that run side by side begin at different places.
  static std::atomic<int> next = static_cast<int>(::getpid() * 61LL % kPorts);
  for (int tried = 0; tried < kPorts; ++tried) {
    const std::string address = fmt::format("127.0.0.1:{}", kFirstPort + next++ % kPorts);
    if (http::listen_on(address, false)) {
      return address;
    }
  }
  ADD_FAILURE() << "no port is free";
  return "127.0.0.1:0";
}

TestServer::TestServer(std::string data_dir, const std::string& config, std::string ca,
                       std::vector<std::string> flags)
    : data_dir_(std::move(data_dir)),
      ca_(std::move(ca)),
      flags_(std::move(flags)),
      config_path_(folder_ / "server.toml") {
  std::ofstream(config_path_) << config;
  start();
}

void TestServer::start() {
  if (process_ != nullptr) {
    ADD_FAILURE() << "the server at " << address() << " runs already: stop it first";
    return;
  }
  std::vector<std::string> argv{"plimsoll",   "server",   "--data", data_dir_,        "--config",
                                config_path_, "--listen", people_,  "--fleet-listen", daemons_};
  argv.insert(argv.end(), flags_.begin(), flags_.end());
  process_ = std::make_unique<Background>(argv);
}

bool TestServer::becomes_ready() const {
  http::Client client({.base_url = address(), .credentials = {.ca = ca_}});
  const bool is_ready = eventually([&] {
    const auto response = client.send("GET", "/readyz");
    return response && response->ok();
  });
  if (!is_ready) {
    ADD_FAILURE() << "the server at " << address() << " says: " << process_->err();
  }
  return is_ready;
}

void TestServer::reload(const std::string& config) const {
  std::ofstream(config_path_) << config;
  process_->kill(SIGHUP);
}

Finished TestServer::end(int signal_number) {
  process_->kill(signal_number);
  Finished finished = process_->wait();
  process_.reset();
  return finished;
}

Finished TestServer::stop() {
  return end(SIGTERM);
}

Finished TestServer::crash() {
  return end(SIGKILL);
}

query::Table view(const std::string& name, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"plimsoll", name});
  arguments.emplace_back("--json");
  const Finished finished = run(arguments);
  EXPECT_EQ(finished.status, 0) << finished.err;
  auto table = query::from_json(finished.out);
  EXPECT_TRUE(table.has_value()) << finished.out;
  return table.value_or(query::Table());
}

query::Table top(std::vector<std::string> arguments) {
  return view("top", std::move(arguments));
}

std::map<std::string, double> self_so_far(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"plimsoll", "top", "--json"});
  const Finished finished = run(arguments);
  const auto table = query::from_json(finished.out);
  return finished.status == 0 && table ? self_of(*table) : std::map<std::string, double>();
}

std::vector<Row> rows_of(const query::Table& table) {
  std::vector<Row> rows;
  for (const auto& cells : table.rows) {
    Row& row = rows.emplace_back();
    for (size_t i = 0; i < cells.size(); ++i) {
      row[table.columns[i].name] = cells[i];
    }
  }
  return rows;
}

double number(const query::Value& value) {
  const auto* whole = std::get_if<int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

std::string text(const query::Value& value) {
  return std::get<std::string>(value);
}

std::map<std::string, double> self_of(const query::Table& table) {
  std::map<std::string, double> self;
  for (const auto& row : table.rows) {
    self[std::get<std::string>(row[0])] = std::get<double>(row[1]);
  }
  return self;
}

Stored stored_in(const std::string& data_dir) {
  Stored stored;
  const auto note_damage = [&stored](sqlite::Database& database) {
    for (const std::string& line : texts(database, "PRAGMA integrity_check")) {
      if (line != "ok") {
        stored.damage.push_back(line);
      }
    }
  };
  sqlite::Database archive = open_database(data_dir + "/archive.db");
  stored.accepted = count(archive, "ledger");
  note_damage(archive);
  for (const std::filesystem::path& block : blocks_in(data_dir)) {
    sqlite::Database catalogue = open_database(block / "catalogue.db");
    stored.built += count(catalogue, "origin");
    stored.unbuildable += count(catalogue, "unbuildable");
    const auto visible = texts(catalogue, "SELECT file FROM segment");
    const std::set<std::string> segments(visible.begin(), visible.end());
    for (const auto& entry : std::filesystem::directory_iterator(block / "segments")) {
      if (!segments.contains(entry.path().filename().string())) {
        stored.invisible_files.push_back(entry.path().filename().string());
      }
    }
    note_damage(catalogue);
  }
  return stored;
}

int64_t pending_in(const std::string& data_dir) {
  sqlite::Database archive = open_database(data_dir + "/archive.db");
  int64_t pending = count(archive, "ledger");
  for (const std::filesystem::path& block : blocks_in(data_dir)) {
    sqlite::Database catalogue = open_database(block / "catalogue.db");
    pending -= count(catalogue, "origin") + count(catalogue, "unbuildable");
  }
  return pending;
}

std::vector<wire::RawProfile> archived_in(const std::string& data_dir) {
  sqlite::Database archive = open_database(data_dir + "/archive.db");
  std::vector<wire::RawProfile> profiles;
  auto row = archive.query("SELECT encoded FROM raw_profile ORDER BY sequence");
  EXPECT_TRUE(row.has_value()) << row.error().text();
  while (row && row->step().value_or(false)) {
    auto profile = wire::decode(as_bytes(row->blob(0)));
    EXPECT_TRUE(profile.has_value()) << profile.error().text();
    profiles.push_back(profile.value_or(wire::RawProfile()));
  }
  return profiles;
}

}  // namespace plimsoll::testing
