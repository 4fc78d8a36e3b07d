// A server under test, the answers it gives, and what lies in its data directory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proto/profile.pb.h"
#include "query/table/table.h"
#include "tests/e2e/program.h"
#include "tests/eventually.h"

namespace plimsoll::testing {

// A loopback address on which nobody listens. Its port is below those that the kernel gives to connections, so that
// nobody is given it while a server restarts.
std::string free_address();

// `plimsoll server` on a data directory. Its addresses stay the same when it is started again.
class TestServer {
 public:
  // `config` is the text of a configuration file; where that has it speak TLS, `ca` is the file of who signed its certificate. `flags` come
  // last on its command line.
  explicit TestServer(std::string data_dir, const std::string& config = {}, std::string ca = {},
                      std::vector<std::string> flags = {});

  // Starts it again once it has been stopped or has crashed: the constructor has started it.
  void start();
  bool becomes_ready() const;
  // The configuration file has another text from now on; the server reads what it can of it, and the rest when it is started again.
  void reload(const std::string& config) const;
  Finished stop();   // as an administrator stops it
  Finished crash();  // SIGKILL

  std::string address() const { return scheme() + people_; }
  std::string fleet_address() const { return scheme() + daemons_; }
  const Background& process() const { return *process_; }

 private:
  Finished end(int signal_number);
  std::string scheme() const { return ca_.empty() ? "" : "https://"; }

  std::string data_dir_;
  std::string ca_;
  std::vector<std::string> flags_;
  TemporaryFolder folder_;
  std::string config_path_;
  std::string people_ = free_address();
  std::string daemons_ = free_address();
  std::unique_ptr<Background> process_;
};

// `plimsoll VIEW ARGUMENTS --json`, which must succeed.
query::Table view(const std::string& name, std::vector<std::string> arguments);
query::Table top(std::vector<std::string> arguments);
// The column `self` of `plimsoll top`, for those who wait for it: nothing where there are no profiles or no such event yet, which is an
// error for a person.
std::map<std::string, double> self_so_far(std::vector<std::string> arguments);
// A row's cells by their column's name.
using Row = std::map<std::string, query::Value>;
std::vector<Row> rows_of(const query::Table& table);
double number(const query::Value& value);
std::string text(const query::Value& value);
// The column `self` by the first one.
std::map<std::string, double> self_of(const query::Table& table);

struct Stored {
  int64_t accepted = 0;                      // profiles in the ledger of the archive
  int64_t built = 0;                         // of these, those that rows were made from
  int64_t unbuildable = 0;                   // of these, those set aside
  std::vector<std::string> invisible_files;  // in the folder of segments, but not in the catalogue
  std::vector<std::string> damage;           // what SQLite says of either database; empty: all is well
};
// Reads all of it.
Stored stored_in(const std::string& data_dir);
// Accepted, and neither rows yet nor set aside: a look at a few counts, which is no load for the server.
int64_t pending_in(const std::string& data_dir);
// The profiles themselves, in the order of their acceptance.
std::vector<wire::RawProfile> archived_in(const std::string& data_dir);

}  // namespace plimsoll::testing
