// Certificates for one test, by openssl's command line.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/temporary_directory.h"

namespace plimsoll::testing {

struct IssuedCertificate {
  std::string certificate;  // files, in PEM
  std::string key;
};

// What a certificate is for (its extended key usage).
inline constexpr const char* kForServers =
    "extendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1,DNS:localhost";
inline constexpr const char* kForClients = "extendedKeyUsage=clientAuth";

// An authority that signs what it is asked to; its files go with it.
class TestAuthority {
 public:
  TestAuthority() {
    openssl("req -x509 " + new_key("ca") + " -out " + ca() + " -subj /CN=authority -days 2");
  }

  std::string ca() const { return folder_ / "ca.pem"; }

  // `days`: how long it is valid from now on; it has expired where they are negative.
  IssuedCertificate issue(const std::string& common_name, const std::string& extensions, int days = 2) {
    const std::string name = "issued-" + std::to_string(++issued_);
    std::ofstream(folder_ / "extensions") << extensions << "\n";
    openssl("req " + new_key(name) + " -out " + (folder_ / "request") + " -subj '/CN=" + common_name + "'");
    openssl("x509 -req -in " + (folder_ / "request") + " -CA " + ca() + " -CAkey " + (folder_ / "ca.key") +
            " -CAcreateserial -days " + std::to_string(days) + " -out " + (folder_ / (name + ".pem")) +
            " -extfile " + (folder_ / "extensions"));
    return {folder_ / (name + ".pem"), folder_ / (name + ".key")};
  }

 private:
  std::string new_key(const std::string& name) const {
    return "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout " + (folder_ / (name + ".key"));
  }
  static void openssl(const std::string& arguments) {
    ASSERT_EQ(std::system(("openssl " + arguments + " 2>/dev/null").c_str()), 0) << arguments;
  }

  TemporaryDirectory folder_;
  int issued_ = 0;
};

}  // namespace plimsoll::testing
