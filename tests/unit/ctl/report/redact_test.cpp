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
        Case{"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOY\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----\nx",
             "[masked]\nx"},
        Case{
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,0\n\nMHc=\nno more of it",
            "[masked]\nno more of it"},
        Case{"\"-----BEGIN PRIVATE KEY-----\\n\" +\n\"MHc\\n\" +\nplain text", "\"[masked]\nplain text"},
        Case{"1 h a[2]: -----BEGIN PRIVATE KEY-----\n1 h a[2]: MHc=\n1 h a[2]: not a key",
             "1 h a[2]: [masked]\n1 h a[2]: not a key"},
        Case{"Provide one with '-----BEGIN PRIVATE KEY-----'.\nnext\nline",
             "Provide one with '[masked]\nnext\nline"},
        Case{"run --token abc --v 2", "run --token [masked]"},
        Case{"--password 'a b'", "--password '[masked]"},
        Case{R"(["--api-key", "abc"])", R"(["--api-key", "[masked])"},
        Case{"- --token\n- abc\n- --v=2", "- --token\n- [masked]\n- --v=2"},
        Case{"\"--token\",\n  \"abc\"\n]", "\"--token\",\n  \"[masked]\n]"},
        Case{"--token\n--verbose", "--token\n--verbose"},
        Case{R"({"name": "DB_PASSWORD", "value": "x"})", R"({"name": "DB_PASSWORD", "value": [masked])"},
        Case{"- name: DB_PASSWORD\n  value: x\n- name: A\n  value: b",
             "- name: DB_PASSWORD\n  value: [masked]\n- name: A\n  value: b"},
        Case{"netroot=iscsi:USER:PASS@server ro", "netroot=[masked]@server ro"},
        Case{"HTTPS_PROXY=user:pw@proxy:3128 x", "HTTPS_PROXY=[masked]@proxy:3128 x"},
        Case{"http://joe:x&password=a@h b", "http://[masked]"}, Case{"password:a@b c", "[masked]"},
        Case{"oci://joe:s3@reg/a@sha256:00", "oci://[masked]@reg/a@sha256:00"},
        Case{"jwt=eyJh.eyJz.sig [eyJh.x] ?id=eyJh.y&z", "jwt=[masked] [[masked]] ?id=[masked]&z"},
        Case{"X-Registry-Auth: abc", "X-Registry-Auth: [masked]"},
        Case{"Set-Cookie: a=b", "Set-Cookie: [masked]"}, Case{"secret_key=abc", "secret_key=[masked]"},
        Case{"passphrases=abc", "passphrases=[masked]"}, Case{"pass: abc", "pass: [masked]"},
        Case{"MYSQL_PWD=abc", "MYSQL_PWD=[masked]"}, Case{"tokens: [a, b]", "tokens: [masked]"},
        Case{"passwords=a", "passwords=[masked]"},
        Case{"https://h/x?se=1&sig=abc", "https://h/x?se=1&sig=[masked]"},
        Case{"https://h/x?X-Amz-Signature=abc", "https://h/x?X-Amz-Signature=[masked]"},
        Case{"password: |\n  one\n\n  two\nuser: joe", "password: [masked]\nuser: joe"},
        Case{"password = \"\"\"\none\ntwo\"\"\"\nuser = 1", "password = [masked]\nuser = 1"},
        Case{"X-Token = [\n  \"abc\",\n]\nx", "X-Token = [masked]\nx"},
        Case{"tokens = [\"abc\",\n\"def\"]\nx = 1", "tokens = [masked]\nx = 1"},
        Case{"\"tokens\": [\"abc\",\n  [\"def\"\n]],\n\"x\": 1", "\"tokens\": [masked]\n\"x\": 1"},
        Case{"PASSWORD=\"abc\ndef\"\nx=1", "PASSWORD=[masked]\nx=1"},
        Case{"password: 'abc\n\n  def'\nx: 1", "password: [masked]\nx: 1"},
        Case{"run --token \\\n  abc \\\n  --v\nx", "run --token \\\n  [masked]\nx"},
        Case{"key: \"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n\\\n  TUlJRXY=\\n\\\n"
             "  -----END PRIVATE KEY-----\"\nx",
             "key: \"[masked]\nx"},
        Case{"1 h a[2]: -----BEGIN PRIVATE KEY-----\n1 h b[3]: its pin=1\n1 h a[2]: MHc=\n"
             "1 h a[2]: -----END PRIVATE KEY-----\n1 h a[2]: done",
             "1 h a[2]: [masked]\n1 h b[3]: its pin=[masked]\n1 h a[2]: done"},
        Case{"1 h a[2]: -----BEGIN PRIVATE KEY-----\n          MHc=\n          -----END PRIVATE KEY-----\nx",
             "1 h a[2]: [masked]\nx"},
        Case{"1 h a[2]: -----BEGIN PRIVATE KEY-----\n1 h b[3]: -----BEGIN PRIVATE KEY-----\n1 h a[2]: MHc=\n"
             "1 h b[3]: MHd=\n1 h b[3]: -----END PRIVATE KEY-----\n1 h a[2]: MHe=\n"
             "1 h a[2]: -----END PRIVATE KEY-----\n1 h a[2]: done",
             "1 h a[2]: [masked]\n1 h b[3]: [masked]\n1 h a[2]: done"},
        Case{"keys[0]: -----BEGIN PRIVATE KEY-----\nMHc=\n-----END PRIVATE KEY-----\nx",
             "keys[0]: [masked]\nx"},
        Case{"tokens:\n- abc\n- def\nx: 1", "tokens:\nx: 1"},
        Case{"- token:\n    abc\n  user: joe", "- token:\n  user: joe"},
        // not secret
        Case{"token = [\"never closed\nx = 1", "token = [masked]\nx = 1"},
        Case{"msg=\"wrong password: \"\nother=\"x\"", "msg=\"wrong password: [masked]\nother=\"x\""},
        Case{"password = \"\"\"\nnever ends", "password = [masked]\nnever ends"},
        Case{"0000:65:00.0 3D controller [0302]: NVIDIA [10de:2330]",
             "0000:65:00.0 3D controller [0302]: NVIDIA [10de:2330]"},
        Case{"registry:5000/library/a:1@sha256:00", "registry:5000/library/a:1@sha256:00"},
        Case{"oci://registry/a@sha256:00", "oci://registry/a@sha256:00"},
        Case{"0::/system.slice/gpuhost-worker@1.service", "0::/system.slice/gpuhost-worker@1.service"},
        Case{"gpuhost-worker@1.service: Succeeded", "gpuhost-worker@1.service: Succeeded"},
        Case{"keyring: /usr/share/keyrings/a.gpg, key: 7f", "keyring: /usr/share/keyrings/a.gpg, key: 7f"},
        Case{"iommu bypass=1 compass: n PWD=/root", "iommu bypass=1 compass: n PWD=/root"},
        Case{"a.sig: valid signature: ok", "a.sig: valid signature: ok"},
        Case{"joe@example.org", "joe@example.org"}, Case{"name: nvidia\nvalue: 1", "name: nvidia\nvalue: 1"},
        Case{"keyJ.x eyJust", "keyJ.x eyJust"}, Case{"", ""}, Case{"\n\nx\n", "\n\nx\n"},
        Case{"TokenFile=/etc/x PassphraseFile=/y", "TokenFile=/etc/x PassphraseFile=/y"},
        Case{"allowed_by: polkit", "allowed_by: polkit"},
        Case{"docker.io/library/a@sha256:00", "docker.io/library/a@sha256:00"},
        Case{"https://api:6443/healthz", "https://api:6443/healthz"}, Case{"password:", "password:"},
        Case{"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
             "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"},
        Case{"basic checks", "basic checks"}));

TEST(RedactDocument, MasksValuesOfKeysAndInTexts) {
    const Json document{{"token", "s3"},
                        {"pin", 1234},
                        {"token_file", "/x"},
                        {"x-auth-token", {"s3", true, nullptr}},
                        {"credentials", {{"user", "joe"}, {"auths", {{"h", {{"any", "s3"}}}}}}},
                        {"lines", {"password=s3", "fine", 7, nullptr}}};
    EXPECT_EQ(redact_document(document),
              (Json{{"token", "[masked]"},
                    {"pin", "[masked]"},
                    {"token_file", "/x"},
                    {"x-auth-token", {"[masked]", true, nullptr}},
                    {"credentials", {{"user", "[masked]"}, {"auths", {{"h", {{"any", "[masked]"}}}}}}},
                    {"lines", {"password=[masked]", "fine", 7, nullptr}}}));
}

TEST(RedactDocument, MasksValuesByThePrecedingName) {
    const Json document{
        {"env", {{{"name", "DB_PASSWORD"}, {"value", "s3"}}, {{"name", "HOME"}, {"value", "/"}}}},
        {"argv", {"run", "--token", "s3", "--password", "--verbose", "2"}}};
    EXPECT_EQ(
        redact_document(document),
        (Json{{"env", {{{"name", "DB_PASSWORD"}, {"value", "[masked]"}}, {{"name", "HOME"}, {"value", "/"}}}},
              {"argv", {"run", "--token", "[masked]", "--password", "--verbose", "2"}}}));
}

} // namespace
} // namespace gpuhost::ctl
