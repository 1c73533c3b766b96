// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/view.hpp"
#include "tests/unit/ctl/documents.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using base::Json;

TEST(OperationView, SuccessIsOneLine) {
    EXPECT_EQ(render_success({}, swap_operation("committed", {"done", "done", "done"}), ""),
              "swap driver 535.261.03 → 550.163.01: done in 12 s\n");
}

TEST(OperationView, WarningsAreShown) {
    auto operation = swap_operation("committed", {"done", "done", "done"});
    operation["outputs"] =
        Json::array({nullptr, {{"warnings", {"nvidia_peermem: No such device"}}}, {{"loaded", {"nvidia"}}}});
    EXPECT_EQ(render_success({}, operation, ""), "swap driver 535.261.03 → 550.163.01: done in 12 s\n"
                                                 "Warning: nvidia_peermem: No such device\n");
    EXPECT_NE(render_operation({}, operation, 0).find("\nWarnings:\n  nvidia_peermem: No such device\n"),
              std::string::npos);
}

TEST(OperationView, NotesAreShownUnlessQuiet) {
    auto operation = swap_operation("committed", {"done", "done", "done"});
    operation["outputs"] = Json::array({nullptr, {{"notes", {"symbol versions are not checked"}}}, nullptr});
    EXPECT_EQ(render_success({}, operation, ""), "swap driver 535.261.03 → 550.163.01: done in 12 s\n"
                                                 "Note: symbol versions are not checked\n");
    Screen quiet;
    quiet.quiet = true;
    EXPECT_EQ(render_success(quiet, operation, ""), "swap driver 535.261.03 → 550.163.01: done in 12 s\n");
    EXPECT_NE(render_operation({}, operation, 0).find("\nNotes:\n  symbol versions are not checked\n"),
              std::string::npos);
    operation["state"] = "rolled-back";
    EXPECT_NE(render_failure({}, operation, "").find("  Note: symbol versions are not checked\n"),
              std::string::npos);
}

TEST(OperationView, StepThatHasOnlyUndoIsNotNeeded) {
    auto operation = swap_operation("committed", {"done", "done", "done"});
    operation["steps"][1]["undo_only"] = true;
    EXPECT_NE(render_steps({}, operation).find("  2. not needed  load nvidia"), std::string::npos);
    operation["state"] = "running"; // it may still be needed
    EXPECT_NE(render_steps({}, operation).find("  2. done        load nvidia"), std::string::npos);
    operation["state"] = "rolled-back";
    operation["steps"][1]["state"] = "undone";
    EXPECT_EQ(render_steps({}, operation).find("not needed"), std::string::npos);
}

TEST(OperationView, TerminatedProcessesAreShown) {
    auto operation = swap_operation("committed", {"done", "done", "done"});
    operation["outputs"] =
        Json::array({{{"terminated", {"process 4242 (python3) of train.service"}}}, nullptr, nullptr});
    EXPECT_EQ(render_success({}, operation, ""), "swap driver 535.261.03 → 550.163.01: done in 12 s\n"
                                                 "Terminated: process 4242 (python3) of train.service\n");
    EXPECT_NE(
        render_operation({}, operation, 0).find("\nTerminated:\n  process 4242 (python3) of train.service\n"),
        std::string::npos);
    operation["state"] = "rolled-back";
    EXPECT_NE(
        render_failure({}, operation, "").find("  Terminated: process 4242 (python3) of train.service\n"),
        std::string::npos);
}

TEST(OperationView, RollbackShowsStepCauseAndRunningDriver) {
    auto operation = swap_operation("rolled-back", {"undone", "undone", "pending"});
    operation["error"] = error_document("failed", "nvidia: No such device", "look at dmesg");
    EXPECT_EQ(
        render_failure({}, operation, "535.261.03"),
        "gpuhostctl: swap driver 535.261.03 → 550.163.01: failed and was rolled back, the host is as it was "
        "before\n"
        "    Failed: in step 2 of 3, load nvidia 550.163.01\n"
        "     Cause: nvidia: No such device\n"
        "  Runs now: driver 535.261.03\n"
        "Hint: look at dmesg\n");
    EXPECT_EQ(operation_exit_status(operation), 15);
}

TEST(OperationView, ImportListsSetsAndTheNextStep) {
    Json import{
        {"kind", "driver.import"}, {"title", "import a driver from 4 packages"}, {"state", "committed"}};
    import["outputs"] = Json::array({{{"version", "550.163.01"},
                                      { "sets",
                                        { "550.163.01/userland" } }},
                                     nullptr});
    EXPECT_EQ(render_success({}, import, "6.1.0-50-amd64"), "import a driver from 4 packages: done\n"
                                                            "  550.163.01/userland\n");
    import["outputs"][0]["sets"].push_back("550.163.01/source/open");
    EXPECT_EQ(render_success({}, import, "6.1.0-50-amd64"), "import a driver from 4 packages: done\n"
                                                            "  550.163.01/userland\n"
                                                            "  550.163.01/source/open\n"
                                                            "Next: gpuhostctl upgrade 550.163.01\n");
    import["outputs"][0]["sets"].push_back("550.163.01/modules/6.1.0-50-amd64-open");
    EXPECT_NE(render_success({}, import, "6.1.0-50-amd64").find("Next: gpuhostctl upgrade 550.163.01\n"),
              std::string::npos);
    EXPECT_EQ(render_success({}, import, "6.1.0-50-amd64", false).find("Next:"), std::string::npos);
}

TEST(OperationView, BundleImportListsContentAndTheNextStep) {
    Json import{{"kind", "bundle.import"}, {"title", "import bundle site.bundle"}, {"state", "committed"}};
    import["outputs"] = Json::array({{{"name", "site"},
                                      {"generation", 7},
                                      {"signer", "CN=Bundles"},
                                      {"written_blobs", 1},
                                      {"written_bytes", 5 << 20},
                                      { "present_blobs",
                                        12 }},
                                     {{ "taken",
                                        { "535.261.03/modules/6.1.0-50-amd64-open",
                                          "550.163.01/source/open",
                                          "550.163.01/modules/6.1.0-99-amd64-open" } }},
                                     { { "sets",
                                         { "/var/lib/gpuhost/driver/550.163.01/source/open/0123" } } }});
    EXPECT_EQ(render_success({}, import, "6.1.0-50-amd64"),
              "import bundle site.bundle: done\n"
              "  site, generation 7, signed by CN=Bundles: 5.0 MiB in 1 new blob, 12 already in the store\n"
              "  535.261.03/modules/6.1.0-50-amd64-open\n"
              "  550.163.01/source/open\n"
              "  550.163.01/modules/6.1.0-99-amd64-open\n"
              "Next: gpuhostctl upgrade 535.261.03\n"
              "Next: gpuhostctl upgrade 550.163.01\n");
}

TEST(OperationView, FailedImportExitsWithItsCausesStatus) {
    Json import = swap_operation("failed", {"undone", "pending", "pending"});
    import["kind"] = "driver.import";
    import["changes_host"] = false;
    import["title"] = "import a driver from 1 package";
    import["error"] =
        error_document("bad-content", "junk.deb: Unrecognized archive format", "fetch it again");
    EXPECT_EQ(render_failure({}, import, "535.261.03"),
              "gpuhostctl: import a driver from 1 package: failed, nothing was changed\n"
              "  Failed: in step 1 of 3, stop nvidia-persistenced.service\n"
              "   Cause: junk.deb: Unrecognized archive format\n"
              "Hint: fetch it again\n");
    EXPECT_EQ(operation_exit_status(import), 9);
}

TEST(OperationView, RefusalListsAllProblems) {
    auto operation = swap_operation("refused", {"pending", "pending", "pending"});
    operation["error"] = error_document("refused", "preflight found problems", "");
    operation["problems"] =
        Json::array({error_document("in-use", "", ""), error_document("no-space", "", "")});
    operation["problems"][0]["text"] = "/dev/nvidiactl is held by python3 (pid 7)";
    operation["problems"][0]["hint"] = "stop it, or add --holders=wait";
    operation["problems"][1]["text"] = "/var/lib has 3 MiB left";
    EXPECT_EQ(render_failure({}, operation, "535.261.03"),
              "gpuhostctl: swap driver 535.261.03 → 550.163.01: refused, nothing was changed\n"
              "  1. /dev/nvidiactl is held by python3 (pid 7)\n"
              "     Hint: stop it, or add --holders=wait\n"
              "  2. /var/lib has 3 MiB left\n");
    EXPECT_EQ(operation_exit_status(operation), 8);
    operation["problems"].erase(1);
    EXPECT_EQ(operation_exit_status(operation), 7); // all problems have this code
}

TEST(OperationView, WaitThatTimedOutIsARefusal) {
    auto operation = swap_operation("refused", {"undone", "pending", "pending"});
    operation["error"] =
        error_document("in-use", "the driver is still held after 20 s by python3", "stop it");
    EXPECT_EQ(render_failure({}, operation, "535.261.03"),
              "gpuhostctl: swap driver 535.261.03 → 550.163.01: refused, nothing was changed\n"
              "  Cause: the driver is still held after 20 s by python3\n"
              "Hint: stop it\n");
    EXPECT_EQ(operation_exit_status(operation), 7);
}

TEST(OperationView, EveryOutcomeHasItsExitStatus) {
    const auto status = [](const std::string& state, const std::string& code) {
        auto operation = swap_operation(state, {"done", "done", "done"});
        operation["error"] = error_document(code, "m", "");
        return operation_exit_status(operation);
    };
    EXPECT_EQ(status("committed", "failed"), 0);
    EXPECT_EQ(status("refused", "unsupported"), 10);
    EXPECT_EQ(status("rolled-back", "timeout"), 15);
    EXPECT_EQ(status("cancelled", "cancelled"), 16);
    EXPECT_EQ(status("reboot-required", "timeout"), 14);
    EXPECT_EQ(status("failed", "timeout"), 13);
    EXPECT_EQ(status("incomplete", "timeout"), 1);
    EXPECT_EQ(status("a state of a later version", "timeout"), 1);
}

TEST(OperationView, FailureWithoutHintNamesTheCommandForDetails) {
    auto operation = swap_operation("failed", {"undone", "undo-failed", "pending"});
    operation["error"] = error_document("failed", "rmmod hangs", "");
    EXPECT_NE(render_failure({}, operation, "").find("Hint: See: gpuhostctl operation show 12;"),
              std::string::npos);
}

TEST(OperationView, ShowsStepsAndTheSubject) {
    ::setenv("TZ", "UTC", 1);
    auto operation = swap_operation("rolled-back", {"undone", "undone", "pending"});
    operation["error"] = error_document("failed", "nvidia: No such device", "");
    EXPECT_EQ(render_operation({}, operation, 1'072'000'000),
              "Operation: 12, swap driver 535.261.03 → 550.163.01\n"
              "    State: rolled-back\n"
              " Asked by: root with gpuhostctl (pid 812)\n"
              "    Began: Thu 1970-01-01 00:16:40 UTC, 1 min 12 s ago\n"
              "     Took: 12 s\n"
              "    Cause: nvidia: No such device\n"
              "\n"
              "Steps:\n"
              "  1. undone          stop nvidia-persistenced.service\n"
              "  2. failed, undone  load nvidia 550.163.01\n"
              "  3. not run         point libraries at 550.163.01\n");
}

TEST(OperationView, RunningOperationShowsItsActivity) {
    const Json running = {{"title", "swap"}, {"began_us", 1}, {"text", "waiting for process 7 (sleep)"}};
    EXPECT_NE(render_operation({}, running, 2).find("Now: waiting for process 7 (sleep)\n"),
              std::string::npos);
    Json ended = running;
    ended["ended_us"] = 2;
    EXPECT_EQ(render_operation({}, ended, 3).find("Now:"), std::string::npos);
}

TEST(OperationView, StepsArePendingOnlyUntilTheEnd) {
    EXPECT_EQ(render_steps({}, swap_operation("undoing", {"undone", "undone", "pending"})),
              "  1. undone      stop nvidia-persistenced.service\n"
              "  2. undone      load nvidia 550.163.01\n"
              "  3. pending     point libraries at 550.163.01\n");
    EXPECT_EQ(render_steps({}, swap_operation("cancelled", {"undone", "undone", "pending"})),
              "  1. undone      stop nvidia-persistenced.service\n"
              "  2. undone      load nvidia 550.163.01\n"
              "  3. not run     point libraries at 550.163.01\n");
}

TEST(OperationView, ShowsAuthorizationOrUnattendedOrigin) {
    auto operation = swap_operation("committed", {"done", "done", "done"});
    const auto asked_by = [&](const Json& more) {
        operation["subject"].update(more);
        const std::string shown = render_operation({}, operation, 1'072'000'000);
        const auto begin = shown.find("Asked by: ") + 10;
        return shown.substr(begin, shown.find("Began:") - begin);
    };
    const auto trimmed = [](std::string text) { return text.erase(text.find_last_not_of(' ') + 1); };
    EXPECT_EQ(
        trimmed(asked_by(
            {{"user", "root"}, {"login_uid", 1000}, {"login_user", "alice"}, {"unit", "session-3.scope"}})),
        "root, logged in as alice, with gpuhostctl (pid 812) in session-3.scope\n");
    EXPECT_EQ(
        trimmed(asked_by(
            {{"uid", 1000}, {"user", "alice"}, {"allowed_by", "polkit"}, {"action", "org.gpuhost1.apply"}})),
        "alice with gpuhostctl (pid 812) in session-3.scope\nAllowed by: polkit, org.gpuhost1.apply\n");
    EXPECT_EQ(
        trimmed(asked_by({{"allowed_by", "root"}, {"origin", "unit"}, {"unit", "gpuhost-cdi.service"}})),
        "the unit gpuhost-cdi.service with gpuhostctl (pid 812)\n");
    EXPECT_EQ(trimmed(asked_by({{"origin", "cluster"}, {"unit", "gpuhost-cluster.service"}})),
              "the cluster, by gpuhost-cluster.service with gpuhostctl (pid 812)\n");
    EXPECT_EQ(trimmed(asked_by({{"origin", "daemon"}})), "gpuhostd, at its start\n");
}

TEST(OperationView, ListShowsAgeAndDuration) {
    EXPECT_EQ(render_operations(
                  {},
                  {{1, "driver.import", "committed", "import 550.163.01", 1'000'000'000, 1'005'300'000},
                   {12, "driver.swap", "running", "swap", 1'299'000'000, 0}},
                  1'300'000'000),
              "ID  BEGAN       TOOK  STATE      TITLE\n"
              " 1  5 min ago  5.3 s  committed  import 550.163.01\n"
              "12  just now          running    swap\n");
    EXPECT_EQ(render_operations({}, {}, 0), "");
}

TEST(OperationView, ListCutsLongTitlesOnTerminal) {
    const client::OperationRow row{
        7,
        "driver.import",
        "committed",
        "import driver 535.261.03 for kernel 6.1.0-50-amd64 (4 modules) from a long name",
        1'000'000'000,
        0};
    EXPECT_EQ(render_operations({true, false, 80}, {row}, 1'300'000'000),
              "ID  BEGAN      STATE      TITLE\n"
              " 7  5 min ago  committed  import driver 535.261.03 for kernel 6.1.0-50-amd64 (4…\n");
    EXPECT_NE(render_operations({}, {row}, 1'300'000'000).find(row.title), std::string::npos);
    EXPECT_EQ(render_operations({true, false, 50}, {row}, 1'300'000'000),
              "ID  BEGAN      STATE\n"
              "    TITLE\n"
              " 7  5 min ago  committed\n"
              "    import driver 535.261.03 for kernel\n"
              "    6.1.0-50-amd64 (4 modules) from a long name\n")
        << "wrapped where too little is left";
}

TEST(OperationView, MalformedDocumentsAreShown) {
    for (const Json& document : {Json(), Json::array(), Json::object(), Json{{"steps", 3}, {"error", "x"}}}) {
        EXPECT_NE(render_operation({}, document, 0), "");
        EXPECT_NE(render_failure({}, document, ""), "");
        EXPECT_EQ(operation_exit_status(document), 1);
    }
}

} // namespace
} // namespace gpuhost::ctl
