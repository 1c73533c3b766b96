// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/secure_boot/view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::Not;

Json status() {
    const Json refused{{"text", "module 'nvidia' is not signed"}, {"hint", "sign it"}};
    return {{"kernel", "6.1.0-50-amd64"},
            {"secure_boot", "enabled"},
            {"enforcement", "the kernel is locked down (integrity)"},
            {"keys", {{{"name", "Site\x1b[2J"}, {"id", "ab12"}, {"keyrings", {".machine", ".platform"}}}}},
            {"keyrings_known", true},
            {"certificate", {{"name", "Site"}, {"key_id", "ab12"}, {"kernel", "known"}}},
            {"certificate_error", ""},
            {"sets",
             {{{"version", "550.163.01"},
               {"flavour", "open"},
               {"selected", true},
               {"problems", Json::array()},
               {"warnings", {"a warning"}}},
              {{"version", "535.261.03"},
               {"flavour", "open"},
               {"selected", false},
               {"problems", {refused, refused, refused}},
               {"warnings", Json::array()}}}}};
}

TEST(SecureBootView, ShowsAcceptedSignaturesAndKeys) {
    const std::string text = render_secure_boot({}, status());
    for (const char* part :
         {"Secure Boot: enabled", "signed ones only: the kernel is locked down (integrity)",
          "'Site': the kernel has it", ".machine .platform", "550.163.01 (open), selected: would load",
          "a warning", "535.261.03 (open): would be refused", "'nvidia' is not signed; and 2 more modules"})
        EXPECT_THAT(text, HasSubstr(part));
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "escape sequences in a certificate's name are replaced";
}

TEST(SecureBootView, ShowsUnknownFacts) {
    Json unknown = status();
    unknown["secure_boot"] = "";
    unknown["enforcement"] = "";
    unknown["keys"] = Json();
    unknown["certificate"] = Json();
    unknown["certificate_error"] = "site.pem: is not a certificate";
    unknown["sets"] = Json::array();
    const std::string text = render_secure_boot({}, unknown);
    for (const char* part :
         {"not known: no UEFI", "any; those without", "/proc/keys", "site.pem: is not a certificate"})
        EXPECT_THAT(text, HasSubstr(part));
    unknown["keys"] = Json::array();
    EXPECT_THAT(render_secure_boot({}, unknown), HasSubstr("has no keys"));
    unknown["keyrings_known"] = false;
    EXPECT_THAT(render_secure_boot({}, unknown), HasSubstr("root sees all of them"));
}

TEST(SecureBootView, EnrolmentConvertsPemAndSkipsKnownKeys) {
    Json enrolment{{"certificate", "/etc/gpuhost/site.pem"},
                   {"der", "/etc/gpuhost/site.pem.der"},
                   {"name", "Site"},
                   {"key_id", "ab12"},
                   {"created", false},
                   {"kernel", "unknown"}};
    const std::string text = render_enrolment({}, enrolment);
    EXPECT_THAT(
        text,
        HasSubstr("openssl x509 -in /etc/gpuhost/site.pem -outform DER -out /etc/gpuhost/site.pem.der"));
    EXPECT_THAT(text, HasSubstr("mokutil --import /etc/gpuhost/site.pem.der"));
    EXPECT_THAT(text, HasSubstr("MokManager"));
    EXPECT_THAT(text, Not(HasSubstr("SigningKey=")));
    enrolment["kernel"] = "known";
    EXPECT_THAT(render_enrolment({}, enrolment), Not(HasSubstr("mokutil")));
}

} // namespace
} // namespace gpuhost::ctl
