// A real S3 server: Ceph's, started by a test in a folder of its own, on loopback: Debian's packages (scripts/install.sh --scale).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "http/client.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {

// A cluster of one monitor and one place of storage, which keeps objects in memory, and the gateway (radosgw) that speaks S3. It has one
// user, with the key, the secret and the credentials file of S3Server. A region is signed, and not looked at.
class CephServer {
 public:
  // Why there is none, for GTEST_SKIP(); empty: there is.
  static std::string why_missing();

  // Returns when it answers, after about four seconds. It ends with the thread that starts it.
  CephServer();
  CephServer(const CephServer&) = delete;
  CephServer& operator=(const CephServer&) = delete;
  ~CephServer();

  std::string endpoint() const;
  // Signs as its user: for requests that no object store sends.
  http::Client client() const;
  // Makes an empty bucket, and returns its name. It takes half a minute once a gateway was killed: the next one waits for that one.
  std::string new_bucket();

  // With SIGKILL.
  void kill_gateway();
  // On the same port, with what is stored. Returns when it answers.
  void start_gateway();

 private:
  void write_configuration() const;
  // `program` with the cluster's configuration.
  std::vector<std::string> command(const std::string& program,
                                   const std::vector<std::string>& arguments) const;
  pid_t spawn(const std::vector<std::string>& argv) const;
  pid_t start(const std::string& program, const std::vector<std::string>& arguments) const;
  void run(const std::vector<std::string>& argv) const;
  // What all of these programs have printed.
  std::string output() const;

  TemporaryDirectory folder_;
  const int monitor_port_;
  const int gateway_port_;
  std::vector<pid_t> storage_;  // monitor and storage
  pid_t gateway_ = -1;
  int buckets_ = 0;
};

}  // namespace plimsoll::testing
