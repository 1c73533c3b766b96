// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/runtime/configure/docker_edit.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;

DockerEdit cdi(bool value) {
    DockerEdit edit;
    edit.cdi = value;
    return edit;
}

DockerEdit no_cdi() {
    DockerEdit edit;
    edit.drop_cdi = true;
    return edit;
}

DockerEdit runtime(const std::string& name, const std::string& path) {
    DockerEdit edit;
    edit.runtimes[name] = path;
    return edit;
}

DockerEdit no_runtime(const std::string& name) {
    DockerEdit edit;
    edit.removed_runtimes = {name};
    return edit;
}

DockerEdit default_runtime(const std::string& name) {
    DockerEdit edit;
    edit.default_runtime = name;
    return edit;
}

std::string edited(std::string_view text, const DockerEdit& edit) {
    const auto result = edit_docker(text, edit, "daemon.json");
    return result ? *result : "error: " + result.error().message;
}

Errc code_of(std::string_view text, const DockerEdit& edit) {
    const auto result = edit_docker(text, edit, "daemon.json");
    return result ? Errc::Failed : result.error().code;
}

TEST(DockerEdit, EmptyFileGetsNewContent) {
    EXPECT_EQ(edited("", cdi(true)), "{\n    \"features\": {\n        \"cdi\": true\n    }\n}\n");
    EXPECT_EQ(edited(" \n", default_runtime("x")), "{\n    \"default-runtime\": \"x\"\n}\n");
    EXPECT_EQ(edited("", {}), "");
    EXPECT_EQ(edited("", no_cdi()), "");
    EXPECT_EQ(edited("{}", cdi(false)), "{\n    \"features\": {\n        \"cdi\": false\n    }\n}");
}

/// nvidia-ctk replaces all features by {"cdi": true}.
TEST(DockerEdit, OtherFeaturesAreKept) {
    const std::string before = R"({
  "storage-driver": "overlay2",
  "features": {
    "containerd-snapshotter": true,
    "buildkit": false
  },
  "data-root": "/data"
}
)";
    const std::string after = R"({
  "storage-driver": "overlay2",
  "features": {
    "containerd-snapshotter": true,
    "buildkit": false,
    "cdi": true
  },
  "data-root": "/data"
}
)";
    EXPECT_EQ(edited(before, cdi(true)), after);
    EXPECT_EQ(edited(after, no_cdi()), before);
    EXPECT_EQ(edited(after, cdi(true)), after);
    EXPECT_EQ(edited("{\n\t\"features\": {\n\t\t\"cdi\": true,\n\t\t\"x\": true\n\t}\n}", cdi(false)),
              "{\n\t\"features\": {\n\t\t\"cdi\": false,\n\t\t\"x\": true\n\t}\n}");
}

TEST(DockerEdit, RuntimeIsAddedAndRemoved) {
    const std::string before = "{\n \"z\": 1,\n \"a\": [\n  \"\u00e9\"\n ]\n}\n";
    const std::string after =
        "{\n \"z\": 1,\n \"a\": [\n  \"\u00e9\"\n ],\n \"runtimes\": {\n  \"nvidia\": {\n"
        "   \"path\": \"/usr/bin/x\"\n  }\n }\n}\n";
    EXPECT_EQ(edited(before, runtime("nvidia", "/usr/bin/x")), after);
    EXPECT_EQ(edited(after, no_runtime("nvidia")), before);
    EXPECT_EQ(edited(after, no_runtime("other")), after);
    const std::string with_arguments =
        R"({"runtimes": {"nvidia": {"runtimeArgs": ["-x"], "path": "a"}, "kata": {"runtimeType": "k"}}, "x": 1})";
    EXPECT_EQ(edited(with_arguments, runtime("nvidia", "a")), with_arguments);
    const auto replaced = base::parse_json(edited(with_arguments, runtime("nvidia", "b")), "x");
    ASSERT_TRUE(replaced);
    EXPECT_EQ(base::dump(*replaced),
              R"({"runtimes":{"kata":{"runtimeType":"k"},"nvidia":{"path":"b"}},"x":1})");
    DockerEdit both = runtime("new", "/n");
    both.removed_runtimes = {"nvidia", "kata", "new"};
    const std::string moved = edited(with_arguments, both);
    EXPECT_EQ(moved.substr(0, moved.find('x')),
              "{\n    \"runtimes\": {\n        \"new\": {\n            \"path\": "
              "\"/n\"\n        }\n    },\n    \"");
}

TEST(DockerEdit, DefaultRuntimeIsSetOrRemoved) {
    EXPECT_EQ(edited("{\n  \"default-runtime\": \"nvidia\",\n  \"a\": 1\n}\n", default_runtime("runc")),
              "{\n  \"default-runtime\": \"runc\",\n  \"a\": 1\n}\n");
    EXPECT_EQ(edited("{\n  \"default-runtime\": \"nvidia\",\n  \"a\": 1\n}\n", default_runtime("")),
              "{\n  \"a\": 1\n}\n");
    EXPECT_EQ(edited("{\n  \"default-runtime\": \"nvidia\"\n}", default_runtime("")), "{}");
}

TEST(DockerEdit, UnchangedValuesKeepEveryByte) {
    for (const char* text :
         {"{\"features\":{\"cdi\" : true},\"a\":1e3 }\n\n", "  { \"features\": {\"cdi\":true} }",
          "{\r\n\t\"features\": { \"cdi\": true, \"\\u00e9\": 1.50 }\r\n}"}) {
        EXPECT_EQ(edited(text, cdi(true)), text);
        EXPECT_EQ(edited(text, {}), text);
        EXPECT_EQ(edited(text, no_runtime("x")), text);
        EXPECT_EQ(edited(text, default_runtime("")), text);
    }
    EXPECT_EQ(edited("{\"features\": {}, \"runtimes\": {}}", no_cdi()),
              "{\"features\": {}, \"runtimes\": {}}");
}

TEST(DockerEdit, LineEndsAndByteOrderMarkAreKept) {
    EXPECT_EQ(edited("\xEF\xBB\xBF{\r\n  \"a\": \"\\r\\n\"\r\n}\r\n", default_runtime("x")),
              "\xEF\xBB\xBF{\r\n  \"a\": \"\\r\\n\",\r\n  \"default-runtime\": \"x\"\r\n}\r\n");
    EXPECT_EQ(edited("{\n\n  \n  \"a\": 1\n}", default_runtime("x")),
              "{\n  \"a\": 1,\n  \"default-runtime\": \"x\"\n}");
}

TEST(DockerEdit, DuplicateKeysAreRefused) {
    EXPECT_EQ(code_of(R"({"a": 1, "a": 2})", cdi(true)), Errc::Refused);
    EXPECT_EQ(code_of(R"({"a": {"b": [{"c": 1, "c": 1}]}})", cdi(true)), Errc::Refused);
    EXPECT_EQ(code_of(R"({"a": 1, "b": {"a": [{"a": 1}, {"a": 1}]}})", cdi(true)), Errc::Failed);
    EXPECT_EQ(edited(R"({"a": 1, "a": 2})", cdi(true)),
              "error: daemon.json: it has the key 'a' twice, so it can't be edited safely");
    for (const char* number : {"18446744073709551616", "1e3", "0.12345678901234567890", "1.50"})
        EXPECT_EQ(code_of("{\"a\": " + std::string(number) + "}", cdi(true)), Errc::Refused) << number;
    for (const char* number : {"18446744073709551615", "-9223372036854775808", "1.0", "0.5"})
        EXPECT_NE(edited("{\"a\": " + std::string(number) + "}", cdi(true)).find(number), std::string::npos);
    EXPECT_EQ(code_of("{}", runtime("x", "\xff")), Errc::Refused);
}

TEST(DockerEdit, InvalidFilesAreBadContent) {
    for (const char* text :
         {"[]", "1", "{", "{\"a\": }", "{\"a\": \"\xff\"}", "{\"features\": []}", "{\"features\": null}",
          "{\"runtimes\": \"x\"}", "{\"default-runtime\": 1}", "{} // no", "{,}"})
        EXPECT_EQ(code_of(text, cdi(true)), Errc::BadContent) << text;
    EXPECT_EQ(code_of("{\"a\":" + std::string(100'000, '['), cdi(true)), Errc::BadContent);
    EXPECT_EQ(code_of("{\"a\":\"" + std::string(100'000, '['), cdi(true)), Errc::BadContent);
}

} // namespace
} // namespace gpuhost::runtime
