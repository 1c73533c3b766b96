// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/redact.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

struct Case {
    const char* text;
    const char* wanted;
};

class Redact : public testing::TestWithParam<Case> {};

TEST_P(Redact, MasksSecretsAndNothingElse) {
    EXPECT_EQ(redact(GetParam().text), GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(
    All, Redact,
    testing::Values(
        Case{"Password=hunter2", "Password=[masked]"},
        Case{"password: hunter two \"x\"", "password: [masked]"},
        Case{"a=1 api-key = s3\nb=2\n", "a=1 api-key = [masked]\nb=2\n"},
        Case{R"("token": "s3", "x": 1)", R"("token": [masked])"},
        Case{"HTTP_PROXY_PASSWORD=s3", "HTTP_PROXY_PASSWORD=[masked]"},
        Case{"client-key-data: c2VjcmV0", "client-key-data: [masked]"},
        Case{R"(\"auth\": \"czM=\")", R"(\"auth\": [masked])"},
        Case{"pkcs11:token-label?pin-value=1234", "pkcs11:token-label?pin-value=[masked]"},
        Case{"Secret=one\\\ntwo\nx", "Secret=[masked]\nx"},
        Case{"Authorization: Basic dXNlcjpzMw==", "Authorization: [masked]"},
        Case{"curl: bearer abcdefgh12 was refused", "curl: bearer [masked] was refused"},
        Case{"got 'eyJhbGciOi.eyJzdWIi.sig'", "got '[masked]'"},
        Case{"Proxy=http://joe:p@ss/w@proxy:3128/ x", "Proxy=http://[masked]@proxy:3128/ x"},
        Case{"a http://u:p@h and https://v:q@i", "a http://[masked]@h and https://[masked]@i"},
        Case{"-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nafter", "[masked]\nafter"},
        Case{R"(x -----BEGIN PRIVATE KEY-----\nMHc\n-----END PRIVATE KEY----- y)", "x [masked]"},
        Case{"pin: 1 -----BEGIN PRIVATE KEY-----\nMHc\n-----END PRIVATE KEY-----", "pin: [masked][masked]\n"},
        Case{"-----BEGIN PRIVATE KEY-----\ntorn", "[masked]\n"},
        // what is to stay
        Case{"", ""}, Case{"\n\nx\n", "\n\nx\n"},
        Case{"TokenFile=/etc/x PassphraseFile=/y", "TokenFile=/etc/x PassphraseFile=/y"},
        Case{"allowed_by: polkit", "allowed_by: polkit"},
        Case{"docker.io/library/a@sha256:00", "docker.io/library/a@sha256:00"},
        Case{"https://api:6443/healthz", "https://api:6443/healthz"}, Case{"password:", "password:"},
        Case{"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
             "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"},
        Case{"basic checks", "basic checks"}));

TEST(RedactDocument, ByKeysAndInTexts) {
    const Json document{{"token", "s3"},
                        {"pin", 1234},
                        {"token_file", "/x"},
                        {"credentials", {{"user", "joe"}, {"password", "s3"}}},
                        {"lines", {"password=s3", "fine", 7, nullptr}}};
    EXPECT_EQ(redact_document(document), (Json{{"token", "[masked]"},
                                               {"pin", "[masked]"},
                                               {"token_file", "/x"},
                                               {"credentials", {{"user", "joe"}, {"password", "[masked]"}}},
                                               {"lines", {"password=[masked]", "fine", 7, nullptr}}}));
}

} // namespace
} // namespace gpuhost::ctl
