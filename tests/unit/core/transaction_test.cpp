// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/transaction.hpp"

#include <functional>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

namespace gpuhost::core {
namespace {

using base::Errc;
using base::Error;

Record begin(std::size_t steps, std::string boot = "boot-1") {
    Record record;
    record.type = Record::Type::Begin;
    record.boot_id = std::move(boot);
    Plan plan;
    plan.kind = "driver.swap";
    plan.title = "a swap";
    record.preflights.emplace_back();
    for (std::size_t i = 0; i < steps; ++i) {
        plan.steps.push_back(Step{"kind", "step " + std::to_string(i), base::Json::object()});
        record.preflights.front().push_back(i);
    }
    record.plan = plan;
    return record;
}

Record start(Phase phase, std::size_t step) {
    Record record;
    record.type = Record::Type::Start;
    record.phase = phase;
    record.step = step;
    return record;
}

Record done(Phase phase, std::size_t step) {
    Record record = start(phase, step);
    record.type = Record::Type::Done;
    return record;
}

Record failed(Phase phase, std::size_t step, Errc code = Errc::Failed) {
    Record record = start(phase, step);
    record.type = Record::Type::Fail;
    record.error = Error{code, "it broke", ""};
    return record;
}

Record resume(std::string boot) {
    Record record;
    record.type = Record::Type::Resume;
    record.boot_id = std::move(boot);
    return record;
}

Record cancel() {
    Record record;
    record.type = Record::Type::Cancel;
    record.error = Error{Errc::Cancelled, "cancelled by gpuhostctl of user 1000", {}};
    return record;
}

/// The phases that ran, as "apply 0, apply 1, undo 1, …", and the outcome. `outcome_of` gives each result.
struct Trace {
    std::string trace;
    Outcome outcome = Outcome::Committed;
    std::optional<Error> error;
};

using OutcomeOf = std::function<std::optional<Errc>(Phase, std::size_t)>;

Trace run(Transaction& transaction, const OutcomeOf& outcome_of) {
    Trace result;
    for (int i = 0; i < 100; ++i) {
        const Action action = transaction.next();
        if (action.type == Action::Type::End) {
            result.outcome = action.outcome;
            result.error = action.error;
            return result;
        }
        if (!result.trace.empty())
            result.trace += ", ";
        result.trace += std::string(name(action.phase)) + " " + std::to_string(action.step);
        EXPECT_TRUE(transaction.feed(start(action.phase, action.step)));
        const auto code = outcome_of(action.phase, action.step);
        EXPECT_TRUE(transaction.feed(code ? failed(action.phase, action.step, *code)
                                          : done(action.phase, action.step)));
    }
    ADD_FAILURE() << "does not end: " << result.trace;
    return result;
}

const OutcomeOf all_well = [](Phase, std::size_t) { return std::optional<Errc>(); };

OutcomeOf fails_at(Phase phase, std::size_t step, Errc code = Errc::Failed) {
    return
        [=](Phase p, std::size_t s) { return p == phase && s == step ? std::optional(code) : std::nullopt; };
}

Transaction begun(std::size_t steps) {
    Transaction transaction;
    EXPECT_TRUE(transaction.feed(begin(steps)));
    return transaction;
}

TEST(Transaction, RunsEveryStepInOrder) {
    Transaction transaction = begun(3);
    const Trace result = run(transaction, all_well);
    EXPECT_EQ(result.trace, "preflight 0, apply 0, apply 1, apply 2");
    EXPECT_EQ(result.outcome, Outcome::Committed);
    EXPECT_FALSE(result.error);
}

TEST(Transaction, NotesOfPreflightStayAfterApply) {
    Transaction transaction = begun(1);
    EXPECT_TRUE(transaction.feed(start(Phase::Preflight, 0)));
    Record checked = done(Phase::Preflight, 0);
    checked.output = {{"notes", {"not checked"}}, {"warnings", {"old"}}};
    EXPECT_TRUE(transaction.feed(checked));
    EXPECT_TRUE(transaction.feed(start(Phase::Apply, 0)));
    Record applied = done(Phase::Apply, 0);
    applied.output = {{"loaded", 1}, {"notes", {"not computed"}}};
    EXPECT_TRUE(transaction.feed(applied));
    EXPECT_EQ(transaction.outputs()[0],
              (base::Json{{"loaded", 1}, {"notes", {"not checked", "not computed"}}}));
}

TEST(Transaction, OutcomesOfEarlierBuildsAreTranslated) {
    for (const auto& [changes_host, recorded, read] :
         {std::tuple(true, Outcome::Failed, Outcome::Incomplete),
          std::tuple(true, Outcome::RolledBack, Outcome::RolledBack),
          std::tuple(false, Outcome::RolledBack, Outcome::Failed),
          std::tuple(false, Outcome::Failed, Outcome::Failed)}) {
        Record first = begin(1);
        first.plan->changes_host = changes_host;
        Transaction transaction;
        ASSERT_TRUE(transaction.feed(first));
        ASSERT_TRUE(transaction.feed(start(Phase::Preflight, 0)));
        ASSERT_TRUE(transaction.feed(failed(Phase::Preflight, 0)));
        Record end;
        end.type = Record::Type::End;
        end.outcome = recorded;
        ASSERT_TRUE(transaction.feed(end));
        EXPECT_EQ(transaction.outcome(), read);
    }
}

/// Returns a transaction whose first step skipped the next `steps`.
Transaction skipping(std::int64_t steps) {
    Transaction transaction = begun(3);
    Record found = done(Phase::Apply, 0);
    found.output = {{"skip", steps}};
    for (const Record& record :
         {start(Phase::Preflight, 0), done(Phase::Preflight, 0), start(Phase::Apply, 0), found})
        EXPECT_TRUE(transaction.feed(record));
    return transaction;
}

TEST(Transaction, StepCanSkipLaterSteps) {
    Transaction transaction = skipping(2);
    EXPECT_EQ(transaction.next().type, Action::Type::End);
    EXPECT_EQ(transaction.next().outcome, Outcome::Committed);
    EXPECT_EQ(transaction.states()[2], StepState::Skipped);
    ASSERT_TRUE(transaction.feed(resume("boot-2")));
    EXPECT_EQ(transaction.next().outcome, Outcome::Committed) << "only the End record is missing";
    EXPECT_EQ(skipping(100).next().outcome, Outcome::Committed);
    EXPECT_EQ(skipping(-1).next().step, 1U);
}

TEST(Transaction, SkippedStepsAreNeitherAppliedNorUndone) {
    Transaction transaction = skipping(1);
    EXPECT_EQ(transaction.states()[1], StepState::Skipped);
    EXPECT_EQ(transaction.next().step, 2U);
    const Trace result = run(transaction, fails_at(Phase::Apply, 2));
    EXPECT_EQ(result.trace, "apply 2, undo 2, undo 0");
    EXPECT_EQ(result.outcome, Outcome::RolledBack);
}

TEST(Transaction, KindsAreSkippedAfterTheGroup) {
    Record plan = begin(4);
    for (const std::size_t step : {1U, 3U})
        plan.plan->steps[step].kind = "toolkit.publish";
    const auto skipping_kinds = [&](std::size_t last) {
        Transaction transaction;
        Record group = start(Phase::Apply, 0);
        group.last = last;
        Record found = done(Phase::Apply, 0);
        found.output = {{"skip_kinds", {"toolkit.publish", "unknown"}}};
        found.continues = last > 0;
        for (const Record& record :
             {plan, start(Phase::Preflight, 0), done(Phase::Preflight, 0), group, found})
            EXPECT_TRUE(transaction.feed(record));
        return transaction;
    };
    Transaction alone = skipping_kinds(0);
    EXPECT_EQ(run(alone, fails_at(Phase::Apply, 2)).trace, "apply 2, undo 2, undo 0");
    Transaction first_of_two = skipping_kinds(1);
    EXPECT_EQ(first_of_two.states()[1], StepState::Running) << "the worker has begun it";
    EXPECT_EQ(first_of_two.states()[3], StepState::Skipped);
    Record later = start(Phase::Apply, 2);
    later.last = 3;
    ASSERT_TRUE(first_of_two.feed(done(Phase::Apply, 1)));
    EXPECT_FALSE(first_of_two.feed(later)) << "a skipped step is not part of a group";
}

TEST(Transaction, FailedImportIsNotRolledBack) {
    Record import = begin(3);
    import.plan->changes_host = false;
    Transaction transaction;
    ASSERT_TRUE(transaction.feed(import));
    const Trace result = run(transaction, fails_at(Phase::Apply, 1));
    EXPECT_EQ(result.trace, "preflight 0, apply 0, apply 1, undo 1, undo 0");
    EXPECT_EQ(result.outcome, Outcome::Failed);
}

TEST(Transaction, PreflightSkipsStepsBeforeTheFirst) {
    Record plan = begin(3);
    plan.plan->steps[1].kind = "toolkit.publish";
    Record checked = done(Phase::Preflight, 0);
    checked.output = {{"skip_kinds", {"toolkit.publish"}}};
    Transaction transaction;
    for (const Record& record : {plan, start(Phase::Preflight, 0), checked})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.states()[1], StepState::Skipped);
    EXPECT_EQ(run(transaction, all_well).trace, "apply 0, apply 2");
}

TEST(Transaction, SkippedLastStepDoesNotEndCancellation) {
    Record plan = begin(4);
    plan.plan->steps[3].kind = "toolkit.publish";
    Record first = done(Phase::Apply, 0);
    first.output = {{"skip_kinds", {"toolkit.publish"}}};
    Transaction transaction;
    for (const Record& record :
         {plan, start(Phase::Preflight, 0), done(Phase::Preflight, 0), start(Phase::Apply, 0), first})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_FALSE(transaction.finished());
    ASSERT_TRUE(transaction.feed(start(Phase::Apply, 1)));
    Transaction rebooted = transaction;
    Record cancel;
    cancel.type = Record::Type::Cancel;
    ASSERT_TRUE(transaction.feed(cancel));
    ASSERT_TRUE(transaction.feed(done(Phase::Apply, 1)));
    EXPECT_EQ(transaction.next().phase, Phase::Undo);
    Record resume;
    resume.type = Record::Type::Resume;
    resume.boot_id = "another boot";
    ASSERT_TRUE(rebooted.feed(resume));
    EXPECT_EQ(rebooted.next().phase, Phase::Undo);
}

TEST(Transaction, PlanWithoutStepsIsCommitted) {
    Transaction transaction = begun(0);
    EXPECT_EQ(run(transaction, all_well).trace, "");
}

TEST(Transaction, FailureOfAPassiveStepIsARefusal) {
    for (const std::size_t fails : {0U, 1U}) {
        Record first = begin(3);
        first.plan->steps[0].passive = true;
        EXPECT_TRUE(step_from_json(to_json(first.plan->steps[0])).value().passive);
        Transaction transaction;
        ASSERT_TRUE(transaction.feed(first));
        const Trace result = run(transaction, fails_at(Phase::Apply, fails, Errc::InUse));
        EXPECT_EQ(result.outcome, fails == 0 ? Outcome::Refused : Outcome::RolledBack);
        EXPECT_EQ(transaction.touched(), fails != 0);
    }
}

TEST(Transaction, RefusedPreflightChangesNothing) {
    Transaction transaction = begun(3);
    const Trace result = run(transaction, fails_at(Phase::Preflight, 0, Errc::Refused));
    EXPECT_EQ(result.trace, "preflight 0");
    EXPECT_EQ(result.outcome, Outcome::Refused);
    EXPECT_FALSE(transaction.touched());
}

TEST(Transaction, RefusalWaitsForAllPreflights) {
    Record first = begin(3);
    first.preflights = {{0, 2}, {1}};
    Transaction transaction;
    ASSERT_TRUE(transaction.feed(first));
    Record found = failed(Phase::Preflight, 0, Errc::Refused);
    found.problems = {Problem{Errc::InUse, "held", ""}};
    for (const Record& record : {start(Phase::Preflight, 0), found, start(Phase::Preflight, 1)})
        ASSERT_TRUE(transaction.feed(record));
    found.step = 1;
    found.problems = {Problem{Errc::NoSpace, "full", ""}};
    ASSERT_TRUE(transaction.feed(found));
    EXPECT_EQ(transaction.next().outcome, Outcome::Refused);
    EXPECT_EQ(transaction.next().type, Action::Type::End);
    ASSERT_EQ(transaction.problems().size(), 2U);
    EXPECT_EQ(transaction.problems()[1].text, "full");
}

TEST(Transaction, LaterCleanPreflightKeepsEarlierProblems) {
    Record first = begin(2);
    first.preflights = {{0}, {1}};
    Transaction transaction;
    ASSERT_TRUE(transaction.feed(first));
    Record found = failed(Phase::Preflight, 0, Errc::Refused);
    found.problems = {Problem{Errc::InUse, "held", ""}};
    for (const Record& record :
         {start(Phase::Preflight, 0), found, start(Phase::Preflight, 1), done(Phase::Preflight, 1)})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.next().type, Action::Type::End);
    EXPECT_EQ(transaction.next().outcome, Outcome::Refused);
}

TEST(Transaction, PreflightWithoutProblemsButFailedEndsIt) {
    Record first = begin(2);
    first.preflights = {{0}, {1}};
    Transaction transaction;
    ASSERT_TRUE(transaction.feed(first));
    for (const Record& record : {start(Phase::Preflight, 0), failed(Phase::Preflight, 0)})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.next().type, Action::Type::End);
}

TEST(Transaction, CheckOnlyEndsAfterPreflight) {
    Record first = begin(2);
    first.check_only = true;
    Transaction transaction;
    ASSERT_TRUE(transaction.feed(first));
    const Trace result = run(transaction, all_well);
    EXPECT_EQ(result.trace, "preflight 0");
    EXPECT_EQ(result.outcome, Outcome::Checked);
    EXPECT_FALSE(transaction.touched());
}

TEST(Transaction, AppliedStepReplacesItsPreflightWarnings) {
    Transaction transaction = begun(2);
    Record warned = done(Phase::Preflight, 0);
    const base::Json said = base::Json::array({"of something"});
    warned.output = base::Json::object({{"warnings", said}, {"drivers", {"550.163.01"}}});
    for (const Record& record : {start(Phase::Preflight, 0), warned})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.outputs().front(), warned.output);
    for (const Record& record : {start(Phase::Apply, 0), done(Phase::Apply, 0)})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_TRUE(transaction.outputs().front().empty());
}

TEST(Transaction, RebootAfterTheLastStepCommits) {
    Transaction transaction = begun(1);
    for (const Record& record : {start(Phase::Preflight, 0), done(Phase::Preflight, 0),
                                 start(Phase::Apply, 0), done(Phase::Apply, 0), resume("boot-2")})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.next().type, Action::Type::End);
    EXPECT_EQ(transaction.next().outcome, Outcome::Committed);
}

TEST(Transaction, FailureUndoesThatStepAndEarlierOnes) {
    Transaction transaction = begun(4);
    const Trace result = run(transaction, fails_at(Phase::Apply, 2));
    EXPECT_EQ(result.trace, "preflight 0, apply 0, apply 1, apply 2, undo 2, undo 1, undo 0");
    EXPECT_EQ(result.outcome, Outcome::RolledBack);
    EXPECT_EQ(result.error->message, "it broke");
    EXPECT_EQ(transaction.states()[3], StepState::Pending);
}

TEST(Transaction, FailedUndoDoesNotStopTheOthers) {
    Transaction transaction = begun(3);
    const Trace result = run(transaction, [](Phase phase, std::size_t step) -> std::optional<Errc> {
        if ((phase == Phase::Apply && step == 2) || (phase == Phase::Undo && step == 1))
            return Errc::Failed;
        return std::nullopt;
    });
    EXPECT_EQ(result.trace, "preflight 0, apply 0, apply 1, apply 2, undo 2, undo 1, undo 0");
    EXPECT_EQ(result.outcome, Outcome::Incomplete);
    EXPECT_EQ(result.error->message, "it broke; undo failed too: it broke");
}

TEST(Transaction, StepErrorRebootRequiredIsTheOutcome) {
    Transaction transaction = begun(2);
    const Trace result = run(transaction, fails_at(Phase::Apply, 1, Errc::RebootRequired));
    EXPECT_EQ(result.outcome, Outcome::RebootRequired);
}

TEST(Transaction, CancelBeforeTheFirstStepChangesNothing) {
    Transaction transaction = begun(2);
    ASSERT_TRUE(transaction.feed(start(Phase::Preflight, 0)));
    ASSERT_TRUE(transaction.feed(cancel()));
    ASSERT_TRUE(transaction.feed(done(Phase::Preflight, 0)));
    EXPECT_EQ(transaction.next().type, Action::Type::End);
    EXPECT_EQ(transaction.next().outcome, Outcome::Cancelled);
}

TEST(Transaction, CancelBetweenStepsRollsBack) {
    Transaction transaction = begun(3);
    for (const Record& record : {start(Phase::Preflight, 0), done(Phase::Preflight, 0),
                                 start(Phase::Apply, 0), cancel(), done(Phase::Apply, 0)})
        ASSERT_TRUE(transaction.feed(record));
    const Trace result = run(transaction, all_well);
    EXPECT_EQ(result.trace, "undo 0");
    EXPECT_EQ(result.outcome, Outcome::Cancelled);
    EXPECT_EQ(transaction.error()->message, cancel().error->message);
}

TEST(Transaction, CancelDuringTheLastStepIsTooLate) {
    Transaction transaction = begun(1);
    for (const Record& record : {start(Phase::Preflight, 0), done(Phase::Preflight, 0),
                                 start(Phase::Apply, 0), cancel(), done(Phase::Apply, 0)})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.next().outcome, Outcome::Committed);
}

TEST(Transaction, RestartContinuesTheRunningStep) {
    Transaction transaction = begun(2);
    for (const Record& record :
         {start(Phase::Preflight, 0), done(Phase::Preflight, 0), start(Phase::Apply, 0), resume("boot-1")})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_TRUE(transaction.in_flight());
    const Trace result = run(transaction, all_well);
    EXPECT_EQ(result.trace, "apply 0, apply 1");
    EXPECT_EQ(result.outcome, Outcome::Committed);
}

TEST(Transaction, RestartAtAttemptLimitDoesNotRollBack) {
    Transaction transaction = begun(1);
    ASSERT_TRUE(transaction.feed(start(Phase::Preflight, 0)));
    ASSERT_TRUE(transaction.feed(done(Phase::Preflight, 0)));
    for (unsigned i = 0; i < Transaction::max_attempts; ++i)
        ASSERT_TRUE(transaction.feed(start(Phase::Apply, 0)));
    ASSERT_TRUE(transaction.feed(resume("boot-1")));
    EXPECT_TRUE(transaction.in_flight());
    EXPECT_EQ(transaction.next().phase, Phase::Apply);
    EXPECT_EQ(transaction.attempts(), Transaction::max_attempts);
}

TEST(Transaction, CancellerIsNamedDespiteTheStepsError) {
    for (const Errc late : {Errc::Timeout, Errc::Interrupted, Errc::Failed}) {
        Transaction transaction = begun(1);
        for (const Record& record : {start(Phase::Preflight, 0), done(Phase::Preflight, 0),
                                     start(Phase::Apply, 0), cancel(), failed(Phase::Apply, 0, late)})
            ASSERT_TRUE(transaction.feed(record));
        const Trace result = run(transaction, all_well);
        EXPECT_EQ(result.outcome, Outcome::Cancelled);
        EXPECT_EQ(result.error->message, "cancelled by gpuhostctl of user 1000");
    }
}

TEST(Transaction, KeepsTheWarningsOfAnUndo) {
    Transaction transaction = begun(1);
    Record undone = done(Phase::Undo, 0);
    undone.output = {{"warnings", {"nvidia-dcgm.service does not start again"}}};
    for (const Record& record :
         {start(Phase::Preflight, 0), done(Phase::Preflight, 0), start(Phase::Apply, 0),
          failed(Phase::Apply, 0), start(Phase::Undo, 0), undone})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.outputs()[0], undone.output);
}

TEST(Transaction, CancelDuringPreflightSkipsOtherPreflights) {
    Transaction transaction;
    Record first = begin(2);
    first.preflights = {{0}, {1}};
    Record refused = failed(Phase::Preflight, 0);
    refused.problems = {{Errc::NoSpace, "full", ""}};
    for (const Record& record : {first, start(Phase::Preflight, 0), cancel(), refused})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.next().type, Action::Type::End);
    EXPECT_EQ(transaction.next().outcome, Outcome::Cancelled);
}

TEST(Transaction, EachStepCountsItsOwnAttempts) {
    Transaction transaction = begun(2);
    for (const Record& record :
         {start(Phase::Preflight, 0), done(Phase::Preflight, 0), start(Phase::Apply, 0), resume("boot-1"),
          start(Phase::Apply, 0), resume("boot-1"), start(Phase::Apply, 0), done(Phase::Apply, 0),
          resume("boot-1")})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.next().phase, Phase::Apply);
    EXPECT_EQ(transaction.next().step, 1U);
}

TEST(Transaction, RebootBetweenStepsRollsBack) {
    Transaction transaction = begun(3);
    for (const Record& record :
         {start(Phase::Preflight, 0), done(Phase::Preflight, 0), start(Phase::Apply, 0),
          done(Phase::Apply, 0), start(Phase::Apply, 1), resume("boot-2")})
        ASSERT_TRUE(transaction.feed(record));
    const Trace result = run(transaction, all_well);
    EXPECT_EQ(result.trace, "undo 1, undo 0");
    EXPECT_EQ(result.outcome, Outcome::RolledBack);
    EXPECT_EQ(result.error->code, Errc::Interrupted);
}

TEST(Transaction, RebootBeforeTheFirstStepCancels) {
    Transaction transaction = begun(3);
    for (const Record& record : {start(Phase::Preflight, 0), resume("boot-2")})
        ASSERT_TRUE(transaction.feed(record));
    EXPECT_EQ(transaction.next().outcome, Outcome::Cancelled);
    EXPECT_EQ(transaction.next().type, Action::Type::End);
}

TEST(Transaction, PointOfNoReturnPreventsRollback) {
    Record first = begin(2);
    first.plan->steps[1].forward = true;
    Transaction transaction;
    for (const Record& record : {first, start(Phase::Preflight, 0), done(Phase::Preflight, 0),
                                 start(Phase::Apply, 0), done(Phase::Apply, 0)})
        ASSERT_TRUE(transaction.feed(record));
    Transaction before = transaction;
    ASSERT_TRUE(before.feed(resume("boot-2")));
    EXPECT_EQ(before.next().phase, Phase::Undo) << "the forward step was not started";
    for (const Record& record : {start(Phase::Apply, 1), resume("boot-2"), cancel()}) {
        ASSERT_TRUE(transaction.feed(record));
        EXPECT_EQ(transaction.next().type, Action::Type::Run);
        EXPECT_EQ(transaction.next().phase, Phase::Apply);
    }
    Transaction failing = transaction;
    ASSERT_TRUE(transaction.feed(done(Phase::Apply, 1)));
    EXPECT_EQ(transaction.next().type, Action::Type::End);
    EXPECT_EQ(transaction.next().outcome, Outcome::Committed);
    ASSERT_TRUE(failing.feed(failed(Phase::Apply, 1)));
    EXPECT_EQ(failing.next().type, Action::Type::End);
    EXPECT_EQ(failing.next().outcome, Outcome::Incomplete);
    EXPECT_EQ(failing.states()[0], StepState::Done);
}

TEST(Transaction, FailureAfterNoReturnRunsRemainingSteps) {
    Record first = begin(4);
    first.plan->steps[1].forward = true;
    Transaction transaction;
    ASSERT_TRUE(transaction.feed(first));
    const Trace result = run(transaction, fails_at(Phase::Apply, 2, Errc::Timeout));
    EXPECT_EQ(result.trace, "preflight 0, apply 0, apply 1, apply 2, apply 3");
    EXPECT_EQ(result.outcome, Outcome::Incomplete);
    ASSERT_TRUE(result.error);
    EXPECT_EQ(result.error->code, Errc::Timeout);
}

TEST(Transaction, RebootDuringRollbackContinuesIt) {
    Transaction transaction = begun(2);
    for (const Record& record : {start(Phase::Preflight, 0), done(Phase::Preflight, 0),
                                 start(Phase::Apply, 0), done(Phase::Apply, 0), start(Phase::Apply, 1),
                                 failed(Phase::Apply, 1), start(Phase::Undo, 1), resume("boot-2")})
        ASSERT_TRUE(transaction.feed(record));
    const Trace result = run(transaction, all_well);
    EXPECT_EQ(result.trace, "undo 1, undo 0");
    EXPECT_EQ(result.outcome, Outcome::RolledBack);
}

TEST(Transaction, RefusesRecordsOutOfOrder) {
    Transaction transaction;
    EXPECT_FALSE(transaction.feed(start(Phase::Apply, 0)));
    ASSERT_TRUE(transaction.feed(begin(2)));
    EXPECT_FALSE(transaction.feed(begin(2)));
    EXPECT_FALSE(transaction.feed(start(Phase::Apply, 0))) << "preflight comes first";
    EXPECT_FALSE(transaction.feed(done(Phase::Preflight, 0))) << "not started";
    ASSERT_TRUE(transaction.feed(start(Phase::Preflight, 0)));
    EXPECT_FALSE(transaction.feed(done(Phase::Apply, 0)));
    EXPECT_FALSE(transaction.feed(start(Phase::Apply, 99)));
    EXPECT_EQ(transaction.next().phase, Phase::Preflight);
}

TEST(Transaction, RecordJsonRoundTripKeepsAllMembers) {
    Record record = failed(Phase::Undo, 3, Errc::InUse);
    record.t_us = 12;
    record.problems = {Problem{Errc::NoSpace, "full", "make room"}};
    const auto read = record_from_json(to_json(record));
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(*read), to_json(record));
    const auto first = record_from_json(to_json(begin(2)));
    ASSERT_TRUE(first);
    EXPECT_EQ(to_json(*first), to_json(begin(2)));
    Record group = start(Phase::Apply, 1);
    group.last = 2;
    EXPECT_EQ(record_from_json(to_json(group))->last, 2U);
    Record step = done(Phase::Apply, 1);
    step.continues = true;
    EXPECT_TRUE(record_from_json(to_json(step))->continues);
    EXPECT_FALSE(record_from_json(to_json(done(Phase::Apply, 1)))->continues);
    EXPECT_EQ(first->preflights, begin(2).preflights);
}

TEST(Transaction, RecordOfANewerFormatIsUnsupported) {
    base::Json value = to_json(begin(1));
    value["format"] = 3;
    EXPECT_EQ(record_from_json(value).error().code, Errc::Unsupported);
    EXPECT_EQ(record_from_json({{"type", "pause"}}).error().code, Errc::Unsupported);
    value = to_json(begin(1));
    value["preflights"] = base::Json::array({base::Json::array({7U})});
    EXPECT_EQ(record_from_json(value).error().code, Errc::BadContent);
}

/// Returns a transaction of four steps, whose group of the first three has begun its second step.
Transaction in_second_step() {
    Transaction transaction = begun(4);
    Record group = start(Phase::Apply, 0);
    group.last = 2;
    Record first = done(Phase::Apply, 0);
    first.continues = true;
    for (const Record& record : {start(Phase::Preflight, 0), done(Phase::Preflight, 0), group, first})
        EXPECT_TRUE(transaction.feed(record));
    return transaction;
}

TEST(Transaction, GroupContinuesWithItsNextStep) {
    const Transaction transaction = in_second_step();
    EXPECT_TRUE(transaction.in_flight());
    EXPECT_EQ(transaction.next().step, 1U);
    EXPECT_EQ(transaction.last(), 2U);
    EXPECT_EQ(transaction.continued(), 1U);
    EXPECT_EQ(transaction.states(),
              (std::vector{StepState::Done, StepState::Running, StepState::Pending, StepState::Pending}));
}

TEST(Transaction, GroupThatStoppedEarlyIsOver) {
    Transaction transaction = in_second_step();
    ASSERT_TRUE(transaction.feed(done(Phase::Apply, 1)));
    EXPECT_FALSE(transaction.in_flight());
    EXPECT_EQ(run(transaction, all_well).trace, "apply 2, apply 3");
}

TEST(Transaction, FailureInAGroupUndoesOnlyBegunSteps) {
    Transaction transaction = in_second_step();
    ASSERT_TRUE(transaction.feed(failed(Phase::Apply, 1)));
    EXPECT_EQ(run(transaction, all_well).trace, "undo 1, undo 0");
}

TEST(Transaction, FailureMayHaveBegunLaterSteps) {
    Transaction transaction = in_second_step();
    Record fail = failed(Phase::Apply, 1);
    fail.last = 2;
    ASSERT_TRUE(transaction.feed(*record_from_json(to_json(fail))));
    EXPECT_EQ(run(transaction, all_well).trace, "undo 2, undo 1, undo 0");
}

TEST(Transaction, RebootUndoesTheWholeGroup) {
    Transaction transaction = in_second_step();
    ASSERT_TRUE(transaction.feed(resume("boot-2")));
    EXPECT_EQ(run(transaction, all_well).trace, "undo 2, undo 1, undo 0");
}

TEST(Transaction, CancelWaitsForTheStepThatBegan) {
    Transaction transaction = in_second_step();
    ASSERT_TRUE(transaction.feed(cancel()));
    Record second = done(Phase::Apply, 1);
    second.continues = true;
    ASSERT_TRUE(transaction.feed(second));
    EXPECT_TRUE(transaction.in_flight()) << "the worker was not stopped in time";
    ASSERT_TRUE(transaction.feed(done(Phase::Apply, 2)));
    EXPECT_EQ(run(transaction, all_well).trace, "undo 2, undo 1, undo 0");
}

TEST(Transaction, InvalidGroupsAreRefused) {
    Transaction transaction = in_second_step();
    Record second = done(Phase::Apply, 1);
    second.continues = true;
    second.output = {{"skip", 1}};
    EXPECT_FALSE(transaction.feed(second)) << "no step of the group is left";
    Record plan = begin(3);
    plan.plan->steps[1].forward = true;
    for (const std::size_t last : {1U, 7U}) {
        Transaction other;
        Record group = start(Phase::Apply, 0);
        group.last = last;
        for (const Record& record : {plan, start(Phase::Preflight, 0), done(Phase::Preflight, 0)})
            EXPECT_TRUE(other.feed(record));
        EXPECT_FALSE(other.feed(group)) << last;
    }
}

TEST(Transaction, ResumedJournalIsOfThisFormat) {
    EXPECT_EQ(to_json(resume("boot-1"))["format"], to_json(begin(1))["format"]);
}

TEST(Transaction, StartOfFormatOneNamesOneStep) {
    base::Json value = to_json(start(Phase::Apply, 3));
    value.erase("last");
    EXPECT_EQ(record_from_json(value)->last, 3U);
}

/// Random failures, restarts and reboots: each transaction ends. Each applied step is committed or undone,
/// or the outcome is Failed.
TEST(Transaction, RandomFailuresCommitOrUndoEveryStep) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        std::mt19937 random(seed);
        const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
        const std::size_t steps = 1 + random() % 6;
        Transaction transaction = begun(steps);
        std::vector<bool> applied(steps, false);
        std::vector<bool> undone(steps, false);
        bool undo_failed = false;
        int boot = 1;
        int turns = 0;
        for (Action action = transaction.next(); action.type == Action::Type::Run;
             action = transaction.next()) {
            ASSERT_LT(++turns, 1000) << "seed " << seed;
            // The worker has begun the steps up to `at`. The daemon may have recorded fewer.
            Record group = start(action.phase, action.step);
            if (action.phase == Phase::Apply)
                group.last = std::min(steps - 1, action.step + random() % 3);
            std::size_t at = action.step;
            for (applied[at] = applied[at] || action.phase == Phase::Apply; at < group.last && chance(70);)
                applied[++at] = true;
            std::size_t recorded = action.step;
            const auto record_to = [&](std::size_t step) {
                for (Record next; recorded < step; ++recorded) {
                    next = done(Phase::Apply, recorded);
                    next.continues = true;
                    ASSERT_TRUE(transaction.feed(next));
                }
            };
            ASSERT_TRUE(transaction.feed(group));
            record_to(action.step + random() % (at - action.step + 1));
            if (chance(10)) {
                ASSERT_TRUE(transaction.feed(cancel()));
            }
            if (chance(20)) {
                const bool rebooted = chance(50);
                ASSERT_TRUE(transaction.feed(resume("boot-" + std::to_string(rebooted ? ++boot : boot))));
                undo_failed = undo_failed || transaction.states()[action.step] == StepState::UndoFailed;
                if (!rebooted)
                    record_to(at);
                continue;
            }
            record_to(at);
            const bool fails = chance(15);
            ASSERT_TRUE(transaction.feed(fails ? failed(action.phase, at) : done(action.phase, at)));
            if (action.phase == Phase::Undo) {
                undo_failed = undo_failed || fails;
                undone[action.step] = !fails;
            }
        }
        const Outcome outcome = transaction.next().outcome;
        if (outcome == Outcome::Committed) {
            EXPECT_EQ(applied, std::vector<bool>(steps, true)) << "seed " << seed;
        } else if (undo_failed) {
            EXPECT_EQ(outcome, Outcome::Incomplete) << "seed " << seed;
        } else {
            for (std::size_t step = 0; step < steps; ++step)
                EXPECT_TRUE(undone[step] || !applied[step]) << "seed " << seed << ", step " << step;
        }
    }
}

} // namespace
} // namespace gpuhost::core
