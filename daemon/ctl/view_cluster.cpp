// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/view_cluster.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/document.hpp"
#include "daemon/ctl/table.hpp"
#include "daemon/ctl/text.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

std::string state_words(const Screen& screen, const std::string& state) {
    if (state == "connected")
        return screen.paint(Style::Good, "watched");
    if (state == "no-node")
        return screen.paint(Style::Warn, "not there: the kubelet makes it");
    if (state == "joining")
        return screen.paint(Style::Warn, "which this host joins");
    if (state == "connecting")
        return screen.paint(Style::Warn, "not seen yet");
    return screen.paint(Style::Bad, "out of reach");
}

Style style_of(const std::string& status) {
    if (status == "True")
        return Style::Good;
    return status == "False" ? Style::Bad : Style::Warn;
}

bool is_published(const Json& condition, const Json& published) {
    for (const Json& one : published)
        if (one == condition)
            return true;
    return false;
}

} // namespace

std::string render_cluster(const Screen& screen, const Json& document) {
    Facts facts;
    facts.add("Server", text_of(document, "server"));
    facts.add("Node", text_of(document, "node") + ", " + state_words(screen, text_of(document, "state")));
    if (const Json& error = base::member(document, "error"); error.is_object()) {
        facts.add("Problem", screen.paint(Style::Bad, text_of(error, "message")));
        if (const std::string hint = text_of(error, "hint"); !hint.empty())
            facts.add("Hint", hint);
    }
    if (const std::string request = text_of(document, "request"); !request.empty())
        facts.add("Request", request + " waits for somebody to approve it");
    const Json& published = list_of(document, "published");
    for (const Json& condition : list_of(document, "conditions")) {
        const std::string status = text_of(condition, "status");
        facts.add("Condition", text_of(condition, "type") + " " + screen.paint(style_of(status), status) +
                                   ", " + text_of(condition, "message"));
        if (!is_published(condition, published))
            facts.add("", screen.paint(Style::Warn, "the Node does not say so yet"));
    }
    if (const auto taints = base::strings_or_empty(document, "taints"); !taints.empty())
        facts.add("Taints", screen.paint(Style::Warn, printable(base::join(taints, " "))) +
                                " keep pods away until the host is ready");
    return facts.render();
}

} // namespace gpuhost::ctl
