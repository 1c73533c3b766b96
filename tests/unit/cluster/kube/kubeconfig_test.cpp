// SPDX-License-Identifier: Apache-2.0
// tests/support/kubeconfigs.py lists kubeconfigs that kubectl and this reader accept alike. This file tests
// everything else.
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/endpoint.hpp"
#include "daemon/cluster/kube/kubeconfig.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Errc;
using tests::cluster_members;
using tests::kubeconfig;

base::Error refusal(const std::string& text) {
    const auto config = parse_kubeconfig(text, "/etc/k.conf", "/etc/gpuhost");
    EXPECT_FALSE(config) << text;
    return config ? base::Error{} : config.error();
}

TEST(Kubeconfig, ReadsTheCurrentContext) {
    const auto config = parse_kubeconfig(kubeconfig(), "/etc/k.conf", "/etc/gpuhost");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->context, "here");
    EXPECT_EQ(config->cluster, "site");
    EXPECT_EQ(config->user, "host");
    EXPECT_EQ(config->server, "https://10.0.0.1:6443");
    EXPECT_EQ(config->authority, (Material{tests::certificate, ""}));
    EXPECT_EQ(config->token, (Material{"secret", ""}));
    EXPECT_TRUE(config->certificate.empty() && config->key.empty());
}

TEST(Kubeconfig, RelativePathsStartAtItsDirectory) {
    const auto config = parse_kubeconfig(
        kubeconfig("server: https://a, certificate-authority: ../pki/ca.crt",
                   "client-certificate: /var/node.pem, client-key: ./node.pem, tokenFile: a//token"),
        "/etc/k.conf", "/etc/gpuhost");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->authority.path, "/etc/pki/ca.crt");
    EXPECT_EQ(config->certificate.path, "/var/node.pem");
    EXPECT_EQ(config->key.path, "/etc/gpuhost/node.pem");
    EXPECT_EQ(config->token.path, "/etc/gpuhost/a/token");
}

TEST(Kubeconfig, ErrorsHaveCodeMessageAndHint) {
    const std::pair<std::string, std::pair<Errc, std::string>> rows[] = {
        {"", {Errc::BadContent, "/etc/k.conf: is not a kubeconfig: it is not a map"}},
        {"kind: Config\n", {Errc::BadContent, "/etc/k.conf: has no current-context"}},
        {kubeconfig("server: https://a"),
         {Errc::Refused, "/etc/k.conf: cluster 'site': has no certificate-authority: any authority that "
                         "this host trusts could issue the server's certificate"}},
        {kubeconfig(cluster_members("http://10.0.0.1:8080")),
         {Errc::Refused,
          "/etc/k.conf: cluster 'site': server 'http://10.0.0.1:8080': does not begin with https://"}},
        {kubeconfig(cluster_members(), "exec: {command: aws}"),
         {Errc::Refused, "/etc/k.conf: user 'host': has exec"}},
        {kubeconfig(cluster_members(), "as-groups: [a]"),
         {Errc::Refused, "/etc/k.conf: user 'host': has as-groups"}},
        {kubeconfig(cluster_members(), "tokn: x"),
         {Errc::BadContent, "/etc/k.conf: user 'host': has neither a client-certificate nor a token"}},
    };
    for (const auto& [text, wanted] : rows) {
        const base::Error error = refusal(text);
        EXPECT_EQ(error.code, wanted.first) << text;
        EXPECT_EQ(error.message, wanted.second);
        EXPECT_EQ(error.message.find('\n'), std::string::npos);
    }
    EXPECT_EQ(refusal(kubeconfig(cluster_members(), "exec: {command: aws}")).hint,
              "Use a client certificate or a token file: gpuhost-cluster runs no other program.");
}

TEST(Kubeconfig, ErrorsShowNamesInOneLine) {
    EXPECT_EQ(refusal("current-context: \"a\\nb\\e[2J\"").message,
              "/etc/k.conf: context 'a?b?[2J' not found");
}

TEST(Kubeconfig, ErrorsDoNotShowSecrets) {
    const std::string proxy = cluster_members() + ", proxy-url: 'http://user:hidden@:1'";
    for (const std::string& text :
         {kubeconfig(cluster_members(), "token: 'hidden '"),
          kubeconfig(cluster_members(), "password: hidden"),
          kubeconfig(cluster_members(), "client-key-data: hidden!"), kubeconfig(proxy)}) {
        const base::Error error = refusal(text);
        EXPECT_EQ((error.message + error.hint).find("hidden"), std::string::npos) << error.message;
    }
}

TEST(Kubeconfig, SizeIsLimited) {
    std::string text = kubeconfig();
    text += "#" + std::string((1U << 20U) - text.size() - 1, ' ');
    EXPECT_TRUE(parse_kubeconfig(text, "k", "/"));
    EXPECT_EQ(refusal(text + " ").message, "/etc/k.conf: is larger than 1 MiB");
}

TEST(Kubeconfig, EncryptedKeysAreRefused) {
    const std::string locked =
        content::encode_base64("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                               "MIHrMFYGCSqGSIb3DQEFDTBJMCgGCSqGSIb3DQEFDDAbBAiA/bZs9hDNJgIBATAM\n"
                               "BggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBAgQQ2OHagMzA0LJXEzFh0W0HgwSBkFOj\n"
                               "Tg487ybp5RUNZoag8/6Ra2AhZuBD2rkxgouNg52AKRbzwC/QbMUz0PVqlWG1mwgd\n"
                               "gzJwLHleSRB2HxhSs4PTUoLwk6deqTFfdepswBNSJQFCsy8D9TewtrF8ECBGCEEb\n"
                               "uVBCWIwEytkHEVtE+hL2VQB35cF513SD//ph3qTXVY/Zv4y1g4gMN27FqfQczQ==\n"
                               "-----END ENCRYPTED PRIVATE KEY-----\n");
    const base::Error error =
        refusal(kubeconfig(cluster_members(), "client-certificate-data: " + tests::certificate_data +
                                                  ", client-key-data: " + locked));
    EXPECT_EQ(error.code, Errc::Refused);
    EXPECT_EQ(error.message, "/etc/k.conf: user 'host': client-key-data: is encrypted with a passphrase");
}

TEST(Kubeconfig, ServersAreHttpsUrls) {
    const std::pair<const char*, const char*> rows[] = {
        {"https://a", "https://a"},
        {"HTTPS://a:6443/", "https://a:6443"},
        {"https://[2001:db8::1]:6443", "https://[2001:db8::1]:6443"},
        {"https://a-b.c_d:1/x/y//", "https://a-b.c_d:1/x/y"},
        {"https://10.0.0.1:65535/%20", "https://10.0.0.1:65535/%20"},
    };
    for (const auto& [text, url] : rows)
        EXPECT_EQ(parse_server_url(text).value_or(""), url);
    for (const char* text : {"",
                             "a:6443",
                             "http://a",
                             "https://",
                             "https:///x",
                             "https://:1",
                             "https://a:",
                             "https://a:0",
                             "https://a:65536",
                             "https://a:+1",
                             "https://a:1x",
                             "https://u@a",
                             "https://u:p@a",
                             "https://a?x",
                             "https://a#x",
                             "https://a b",
                             "https://a/\n",
                             "https://[::1",
                             "https://[]",
                             "https://::1",
                             "https://[::1]x",
                             "https://a/\"",
                             "ftp://a",
                             "https://\xc3\xa4"})
        EXPECT_FALSE(parse_server_url(text)) << text;
    EXPECT_FALSE(parse_server_url("https://a/" + std::string(2048, 'x')));
}

TEST(Kubeconfig, ProxyUrlsOfOtherSchemesAreRefused) {
    for (const char* text : {"http://p:3128", "https://u:p%40@p", "socks5://[::1]:1080"})
        EXPECT_EQ(parse_proxy_url(text).value_or(""), text);
    for (const char* text : {"p:3128", "socks4://p", "http://", "http://u u@p"})
        EXPECT_FALSE(parse_proxy_url(text)) << text;
}

} // namespace
} // namespace gpuhost::cluster
