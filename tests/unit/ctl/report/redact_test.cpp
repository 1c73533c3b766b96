// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/report/redact.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

struct Case {
    const char* text;
    const char* wanted;
};

class Redact : public testing::TestWithParam<Case> {};

TEST_P(Redact, MasksOnlySecrets) {
    EXPECT_EQ(redact(GetParam().text), GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(
    All, Redact,
    testing::Values(
        Case{"Password=hunter2", "Password=[masked]"}, Case{"its secrets: a b\nx", "its secrets:[masked]\nx"},
        Case{R"({"token": "s3", "x": 1)", R"({"token":[masked])"},
        Case{"a api-key = s3\nb", "a api-key =[masked]\nb"},
        Case{"pkcs11:token-label?pin-value=1234", "pkcs11:token-label?pin-value=[masked]"},
        Case{"Authorization: Basic dXNlcjpzMw==", "Authorization:[masked]"},
        Case{"curl: bearer abcdefgh12 was refused", "curl: bearer [masked]"},
        Case{"Proxy=http://joe:p@ss/w@proxy:3128/ x", "Proxy=http://[masked]@proxy:3128/ x"},
        Case{"a http://u:p@h and https://v:q@i", "a http://[masked]@h and https://[masked]@i"},
        Case{"http://joe:x&password=a@h b", "http://joe:x&password=[masked]"},
        Case{"oci://joe:s3@reg/a@sha256:00", "oci://[masked]@reg/a@sha256:00"},
        Case{"a -----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nafter",
             "a [masked]\nafter"},
        Case{"1 a[2]: -----BEGIN PRIVATE KEY-----\n1 a[2]: MHc=\n1 b[3]: x\n1 a[2]: -----END PRIVATE "
             "KEY-----\n1 b[3]: y",
             "1 a[2]: [masked]\n1 b[3]: y"},
        Case{"-----BEGIN PRIVATE KEY-----\nMIIE\nMHc=", "[masked]"},
        Case{"-----BEGIN PRIVATE KEY-----\nMIIE\nMHc=\nnothing: else", "[masked]\nnothing: else"},
        Case{"-----BEGIN PRIVATE KEY-----\na\n-----END CERTIFICATE-----\nMHc\n-----END PRIVATE KEY-----\nb",
             "[masked]\nb"},
        Case{"needs '-----BEGIN PRIVATE KEY-----'.\nnext\nline", "needs '[masked]\nnext\nline"},
        Case{"-----BEGIN PRIVATE KEY-----\n"
             "MHc\n-----END PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\nMHd\n-----END PRIVATE KEY-----",
             "[masked]\n[masked]"},
        // not secret
        Case{"oci://registry/a@sha256:00", "oci://registry/a@sha256:00"},
        Case{"registry:5000/library/a:1@sha256:00", "registry:5000/library/a:1@sha256:00"},
        Case{"gpuhost-worker@1.service: Succeeded", "gpuhost-worker@1.service: Succeeded"},
        Case{"the API server rejects these credentials: expired",
             "the API server rejects these credentials: expired"},
        Case{"TokenFile=/etc/x PassphraseFile=/y", "TokenFile=/etc/x PassphraseFile=/y"},
        Case{"https://api:6443/healthz", "https://api:6443/healthz"}, Case{"password:", "password:"},
        Case{"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
             "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"},
        Case{"", ""}, Case{"\n\nx\n", "\n\nx\n"}));

TEST(RedactDocument, MasksInAllTexts) {
    const Json document{{"token", "state"},
                        {"lines", {"password=s3", "fine", 7, nullptr, {{"a", "http://u:p@h"}}}}};
    EXPECT_EQ(redact_document(document),
              (Json{{"token", "state"},
                    {"lines", {"password=[masked]", "fine", 7, nullptr, {{"a", "http://[masked]@h"}}}}}));
}

} // namespace
} // namespace gpuhost::ctl
