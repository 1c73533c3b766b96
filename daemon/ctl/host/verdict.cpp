// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/host/verdict.hpp"

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <utility>

namespace gpuhost::ctl {

using base::Json;

Verdict verdict_of(const Json& host, const Json& operation) {
    Verdict verdict = client::verdict_of(host, operation);
    verdict.text = printable(verdict.text);
    verdict.hint = printable(verdict.hint);
    return verdict;
}

Json to_json(const Verdict& verdict) {
    return {{"ok", verdict.ok}, {"text", verdict.text}, {"hint", verdict.hint}};
}

std::string render_verdict(const Screen& screen, const Verdict& verdict) {
    const std::string line =
        screen.paint(verdict.ok ? Style::Good : Style::Bad, verdict.ok ? "OK:" : "NOT OK:") + " " +
        verdict.text + (verdict.hint.empty() ? "" : ". " + verdict.hint);
    return (screen.terminal ? wrap(line, screen.columns, 0, 8) : line) + "\n";
}

} // namespace gpuhost::ctl
