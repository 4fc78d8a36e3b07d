// A listener that speaks TLS, and clients that know it or not.
#include "http/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "http/client.h"
#include "http/listener.h"
#include "tests/certificates.h"

namespace plimsoll::http {
namespace {

using plimsoll::testing::IssuedCertificate;
using plimsoll::testing::kForClients;
using plimsoll::testing::kForServers;
using plimsoll::testing::TestAuthority;
using ::testing::HasSubstr;

class TlsTest : public ::testing::Test {
 protected:
  // Answers with the name that the client's certificate vouches for.
  std::unique_ptr<Listener> started(const std::string& client_ca) {
    Route route;
    route.method = "GET";
    route.path = "/name";
    route.handle = [](const Request& request) {
      return Response{.body = "<" + request.certified_name + ">"};
    };
    auto listener = Listener::start({.tls = {server_.certificate, server_.key, client_ca}}, {route});
    EXPECT_TRUE(listener) << listener.error().text();
    return *std::move(listener);
  }
  static Result<Response> ask(const Listener& listener, const Credentials& credentials) {
    Client client({.base_url = "https://" + listener.address(), .credentials = credentials});
    return client.send("GET", "/name");
  }
  std::string name_shown_by(const Listener& listener, const IssuedCertificate& shown) const {
    const auto answer =
        ask(listener, {.ca = authority_.ca(), .certificate = shown.certificate, .key = shown.key});
    return answer ? answer->body : answer.error().text();
  }

  TestAuthority authority_;
  IssuedCertificate server_ = authority_.issue("server", kForServers);
};

TEST_F(TlsTest, IsSpokenWithWhoeverKnowsTheAuthority) {
  const auto listener = started({});
  EXPECT_EQ(ask(*listener, {.ca = authority_.ca()})->body, "<>");

  const TestAuthority other;
  const auto stranger = ask(*listener, {.ca = other.ca()});
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(stranger.error().text(), HasSubstr("check the server's certificate and its authority"));
}

TEST_F(TlsTest, ARenewedCertificateIsShownWithoutARestart) {
  plimsoll::testing::TemporaryDirectory folder;
  const std::string certificate = folder / "certificate.pem";
  const std::string key = folder / "key.pem";
  const auto install = [&](const IssuedCertificate& issued) {
    constexpr auto kOver = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(issued.certificate, certificate, kOver);
    std::filesystem::copy_file(issued.key, key, kOver);
  };
  install(server_);
  const auto listener = Listener::start({.tls = {certificate, key}},
                                        {{.method = "GET", .path = "/name", .handle = [](const Request&) {
                                            return Response{.body = "hello"};
                                          }}});
  ASSERT_TRUE(listener) << listener.error().text();
  Client kept({.base_url = "https://" + (*listener)->address(), .credentials = {.ca = authority_.ca()}});
  ASSERT_EQ(kept.send("GET", "/name")->body, "hello");

  TestAuthority next;
  install(next.issue("server", kForServers));
  ASSERT_TRUE((*listener)->reload_certificate());
  EXPECT_EQ(kept.send("GET", "/name")->body, "hello") << "its connection stays";
  EXPECT_EQ(ask(**listener, {.ca = next.ca()})->body, "hello");
  EXPECT_FALSE(ask(**listener, {.ca = authority_.ca()}));

  std::ofstream(certificate) << "nothing of use";
  const Status broken = (*listener)->reload_certificate();
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().text(), HasSubstr("keeping the previous certificate"));
  EXPECT_EQ(ask(**listener, {.ca = next.ca()})->body, "hello");
}

TEST_F(TlsTest, IsNotGivenUpForPlainText) {
  const auto listener = started({});
  EXPECT_FALSE(Client({.base_url = listener->address()}).send("GET", "/name"));
}

TEST_F(TlsTest, IsWhatWhoeverNamesCertificatesMeans) {
  const auto listener = started({});
  const Credentials credentials{.token = "sixteen-or-more-characters", .ca = authority_.ca()};
  Client without_scheme({.base_url = listener->address(), .credentials = credentials});
  const auto answer = without_scheme.send("GET", "/name");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->body, "<>");
  for (const std::string scheme : {"http://", "HTTP://"}) {
    const auto refused =
        Client({.base_url = scheme + listener->address(), .credentials = credentials}).send("GET", "/name");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(refused.error().text(), HasSubstr("write https://"));
  }
}

TEST_F(TlsTest, ALargeBodyArrivesWhole) {
  Route route;
  route.method = "PUT";
  route.path = "/body";
  route.max_body_bytes = 32UL << 20;
  route.threads = Threads::kLong;
  route.handle = [](const Request& request) { return Response{.body = request.body}; };
  const auto listener = Listener::start({.tls = {server_.certificate, server_.key}}, {route});
  ASSERT_TRUE(listener);
  std::string body(16UL << 20, '\0');
  for (size_t i = 0; i < body.size(); ++i) {
    body[i] = static_cast<char>(i * 7 + i / 251);
  }
  Client client({.base_url = "https://" + (*listener)->address(), .credentials = {.ca = authority_.ca()}});
  for (int time = 0; time < 3; ++time) {
    const auto answer = client.send("PUT", "/body", body);
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_TRUE(answer->body == body);
  }
}

TEST_F(TlsTest, ClientsAreWhomTheirCertificatesName) {
  TestAuthority machines;
  const auto listener = started(machines.ca());
  EXPECT_EQ(ask(*listener, {.ca = authority_.ca()})->body, "<>") << "nobody has to have one";
  EXPECT_EQ(name_shown_by(*listener, machines.issue("web-17", kForClients)), "<web-17>");
}

TEST_F(TlsTest, CertificatesOfOthersNameNobody) {
  TestAuthority machines;
  const auto listener = started(machines.ca());
  TestAuthority forger;
  EXPECT_EQ(name_shown_by(*listener, forger.issue("web-17", kForClients)), "<>");
  EXPECT_EQ(name_shown_by(*listener, machines.issue("web-17", kForServers)), "<>") << "it is for servers";
}

TEST_F(TlsTest, CertificatesThatDoNotSayTheyAreForClientsNameNobody) {
  TestAuthority machines;
  const auto listener = started(machines.ca());
  EXPECT_EQ(name_shown_by(*listener, machines.issue("web-17", "basicConstraints=CA:FALSE")), "<>");
  EXPECT_EQ(name_shown_by(*listener,
                          machines.issue("web-17", std::string(kForClients) + "\nbasicConstraints=CA:TRUE")),
            "<>")
      << "an authority is no machine";
}

TEST_F(TlsTest, CertificatesThatHaveExpiredNameNobody) {
  TestAuthority machines;
  const auto listener = started(machines.ca());
  EXPECT_EQ(name_shown_by(*listener, machines.issue("web-17", kForClients, /*days=*/-1)), "<>");
}

TEST(CertifiedName, EndsWithItsCertificateThoughTheConnectionGoesOn) {
  const CertifiedName shown{"web-17", 1'000};
  EXPECT_EQ(shown.at(1'000), "web-17");
  EXPECT_EQ(shown.at(1'001), "");
}

TEST_F(TlsTest, NamesAreTakenAsTheyAreAndNoneOfSeveral) {
  TestAuthority machines;
  const auto listener = started(machines.ca());
  EXPECT_EQ(name_shown_by(*listener, machines.issue("rack 7, web;17", kForClients)), "<rack 7, web;17>");
  EXPECT_EQ(name_shown_by(*listener, machines.issue("web-17/CN=web-18", kForClients)), "<>");
  EXPECT_EQ(name_shown_by(*listener, machines.issue("web-17\n", kForClients)), "<>");
}

TEST_F(TlsTest, NamesAreKeptFromRequestToRequestOfAConnection) {
  TestAuthority machines;
  const auto listener = started(machines.ca());
  const IssuedCertificate shown = machines.issue("web-17", kForClients);
  Client client({.base_url = "https://" + listener->address(),
                 .credentials = {.ca = authority_.ca(), .certificate = shown.certificate, .key = shown.key}});
  for (int request = 0; request < 3; ++request) {
    EXPECT_EQ(client.send("GET", "/name")->body, "<web-17>");
  }
}

TEST_F(TlsTest, FilesThatDoNotBelongTogetherAreRefused) {
  const IssuedCertificate other = authority_.issue("other", kForServers);
  const std::string no_pem = server_.key + ".txt";
  std::ofstream(no_pem) << "not PEM\n";
  struct Case {
    TlsFiles files;
    std::string message;
  };
  for (const Case& wrong :
       {Case{{server_.certificate, other.key}, "are not a certificate and its key"},
        Case{{no_pem, server_.key}, "are not a certificate and its key"},
        Case{{server_.certificate, {}}, "TLS without the server's key"},
        Case{{{}, server_.key}, "TLS without the server's certificate"},
        Case{{server_.certificate, server_.key, no_pem}, "has no certificate of an authority"},
        Case{{server_.certificate, server_.key + ".gone"}, "reading the server's key"}}) {
    const auto loaded = load_tls(wrong.files);
    ASSERT_FALSE(loaded) << wrong.message;
    EXPECT_THAT(loaded.error().text(), HasSubstr(wrong.message));
  }
}

TEST_F(TlsTest, AClientWithoutItsFilesSaysSo) {
  const auto listener = started({});
  const auto answer = ask(*listener, {.ca = authority_.ca() + ".gone"});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text(), HasSubstr("check the certificate and key files"));
}

}  // namespace
}  // namespace plimsoll::http
