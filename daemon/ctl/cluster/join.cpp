// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/content/crypto/client_certificate.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "daemon/ctl/cluster/service.hpp"
#include "daemon/ctl/cluster/verbs.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::ctl {
namespace {

using base::Errc;
using base::Json;
using base::Result;

constexpr Option ca_option{"ca", "FILE", "the authority of the API server's certificate, in PEM"};
constexpr Option token_option{"token-file", "FILE", "the file with the bootstrap token; - is stdin"};
constexpr Option no_start_option{"no-start", "", "write the needed files, and leave the service as it is"};
constexpr Option no_wait_option{"no-wait", "", "return without waiting for the certificate"};
constexpr std::array options{ca_option, token_option, no_start_option, no_wait_option, root_option};

constexpr const char* group = "gpuhost";
constexpr std::size_t most_authorities = 1U << 20U;
constexpr std::size_t most_token = 64U << 10U;
constexpr std::chrono::milliseconds between_polls{500};
constexpr unsigned patience = 30; ///< polls without any answer, after which the user gets a message

Result<std::string> required(const Session& session, const Option& option) {
    const auto value = session.arguments().value(option);
    if (!value)
        return base::fail(Errc::InvalidArgument, "--" + std::string(option.name) + "= is missing",
                          "See: gpuhostctl cluster join --help.");
    return *value;
}

Result<std::string> given_server(const Session& session) {
    std::string server = session.arguments().words().front();
    if (!base::starts_with(server, "https://") || server.size() == 8 ||
        server.find_first_of(" \t\r\n\"\\") != std::string::npos)
        return base::fail(Errc::InvalidArgument, "'" + server + "' is not the URL of an API server",
                          "Write a URL that begins with https://, such as https://api.site.example:6443.");
    while (base::ends_with(server, "/"))
        server.pop_back();
    return server;
}

Result<std::string> given_authorities(const Session& session) {
    GPUHOST_TRY(path, required(session, ca_option));
    GPUHOST_TRY(pem, read_small_file(path, most_authorities));
    GPUHOST_TRY(facts, content::read_certificate(pem, "'" + path + "'"));
    (void)facts;
    return pem;
}

Result<std::string> given_token(const Session& session) {
    GPUHOST_TRY(path, required(session, token_option));
    GPUHOST_TRY(text, path == "-" ? base::read_all(STDIN_FILENO, most_token, "stdin")
                                  : read_small_file(path, most_token));
    std::string token(base::trim(text));
    const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (token.empty() || !plain)
        return base::fail(Errc::InvalidArgument,
                          "'" + path + "' does not contain a token, which is one word");
    return token;
}

Json kubeconfig(const std::string& server, const std::string& token) {
    return {{"apiVersion", "v1"},
            {"kind", "Config"},
            {"current-context", "bootstrap"},
            {"clusters",
             {{{"name", "cluster"},
               {"cluster", {{"server", server}, {"certificate-authority", "bootstrap-ca.pem"}}}}}},
            {"users", {{{"name", "bootstrap"}, {"user", {{"token", token}}}}}},
            {"contexts",
             {{{"name", "bootstrap"}, {"context", {{"cluster", "cluster"}, {"user", "bootstrap"}}}}}}};
}

/// Writes a file that root and the group of gpuhost-cluster can read. gpuhost-cluster does not run as root.
Result<void> write_for_service(const base::Root& root, const std::string& path, const std::string& text) {
    GPUHOST_CHECK(root.write_atomic(path, text, 0600));
    // The system in an image has its own group IDs. Its tmpfiles.d sets the group.
    if (::geteuid() != 0 || !root.is_host())
        return {};
    const struct ::group* found = ::getgrnam(group);
    if (found == nullptr)
        return base::fail(Errc::NotFound, "group '" + std::string(group) + "' not found",
                          "Create it: systemd-sysusers.");
    GPUHOST_TRY(file, root.open_file(path, O_RDONLY));
    if (::fchown(file.get(), 0, found->gr_gid) < 0 || ::fchmod(file.get(), 0640) < 0)
        return base::fail_errno(path, errno);
    return {};
}

Result<void> refuse_second(const base::Root& root) {
    for (const char* path : {cluster::given_kubeconfig, cluster::own_kubeconfig})
        if (root.exists(path))
            return base::fail(Errc::AlreadyExists,
                              "this host is in a cluster already: found '" + std::string(path) + "'",
                              "Leave that cluster first: gpuhostctl cluster leave.");
    return {};
}

/// Waits until this host is a member of the cluster. Prints what it waits for, and each new message of
/// gpuhost-cluster once.
Result<int> follow(Session& session, const base::Root& root) {
    std::string request;
    std::string problem;
    bool runs = false;
    session.note("Waiting for gpuhost-cluster to start.\n");
    for (unsigned looks = 1;; ++looks, std::this_thread::sleep_for(between_polls)) {
        const auto text = root.read(cluster::status_file);
        if (!text && looks == patience)
            session.note(
                "gpuhost-cluster has not reported its state yet; see: journalctl -u gpuhost-cluster\n");
        const auto document = text ? base::parse_json(*text, "the status") : base::Result<Json>(Json());
        if (!document || !document->is_object())
            continue;
        const std::string state = text_of(*document, "state");
        if (state == "connected" || state == "no-node")
            return 0;
        if (!std::exchange(runs, true))
            session.note("gpuhost-cluster runs, and requests a certificate.\n");
        if (const std::string name = text_of(*document, "request"); name != request && !name.empty()) {
            request = name;
            session.note("Waiting for a certificate. An administrator of the cluster approves it with:\n  "
                         "kubectl certificate approve " +
                         name + "\n");
        }
        const Json& error = base::member(*document, "error");
        if (const std::string why = text_of(error, "message"); why != problem) {
            problem = why;
            if (!why.empty())
                session.note(why + "\n");
            if (const std::string hint = text_of(error, "hint"); !hint.empty())
                session.note(hint + "\n");
        }
    }
}

Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    GPUHOST_TRY(server, given_server(session));
    GPUHOST_TRY(authorities, given_authorities(session));
    GPUHOST_TRY(token, given_token(session));
    GPUHOST_CHECK(refuse_second(root));
    const std::string path = cluster::bootstrap_kubeconfig;
    GPUHOST_CHECK(root.make_directories("/etc/gpuhost/cluster", 0750));
    GPUHOST_CHECK(write_for_service(root, cluster::bootstrap_authorities, authorities));
    GPUHOST_CHECK(write_for_service(root, path, base::dump_pretty(kubeconfig(server, token)) + "\n"));
    if (session.arguments().has(no_start_option) || !root.is_host()) {
        session.note("This host joins when gpuhost-cluster.service starts.\n");
        return 0;
    }
    GPUHOST_CHECK(control_cluster_service({"enable"}));
    GPUHOST_CHECK(control_cluster_service({"restart", "--no-block"}));
    if (session.arguments().has(no_wait_option)) {
        session.note("This host requests a certificate; see: gpuhostctl cluster status\n");
        return 0;
    }
    GPUHOST_TRY(joined, follow(session, root));
    for (const char* used : {cluster::bootstrap_kubeconfig, cluster::bootstrap_authorities})
        GPUHOST_CHECK(root.remove(used)); // the bootstrap token is no longer needed
    session.note("This host has joined the cluster; see: gpuhostctl cluster status\n");
    return joined;
}

constexpr std::array examples{Example{"cluster join https://10.0.0.1:6443 --ca=ca.pem --token-file=token",
                                      "request credentials and start gpuhost-cluster"}};

} // namespace

const Verb cluster_join_verb{
    "cluster join",
    "SERVER",
    "request credentials for this host from a Kubernetes cluster",
    "Requests credentials for this host from the API server of a Kubernetes cluster with the URL SERVER. "
    "gpuhost-cluster makes a key on this host and requests a certificate, with a bootstrap token that may do "
    "nothing else. Waits until the certificate is approved, by an administrator or by the cluster's own "
    "approver; if interrupted, the request continues. The certificate is renewed before it expires.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
