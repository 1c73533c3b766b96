// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/enrolment.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/base64.hpp"
#include "daemon/content/crypto/client_certificate.hpp"

#include <random>
#include <utility>

namespace gpuhost::cluster {

using base::Errc;
using base::Error;
using base::Json;
using base::member;
using base::Result;
using base::string_or;

namespace {

constexpr const char* collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
constexpr std::size_t digits_of_digest = 12;
constexpr Time first_wait{1'000};
constexpr Time most_wait{60'000};
/// The wait after an administrator has denied the request. An earlier request would only be denied again.
constexpr Time after_refusal{600'000};
constexpr unsigned conflict = 409;
constexpr unsigned unauthorized = 401;
constexpr const char* token_hint =
    "The bootstrap token does not exist or has expired. Create a new one: kubeadm token create --groups "
    "system:bootstrappers:gpuhost --usages authentication. Then join with it: gpuhostctl cluster join.";

const Json* condition_of(const Json& request, std::string_view type) {
    const Json& conditions = member(member(request, "status"), "conditions");
    if (conditions.is_array())
        for (const Json& condition : conditions)
            if (string_or(condition, "type", "") == type)
                return &condition;
    return nullptr;
}

} // namespace

Enrolment::Enrolment(const base::Root& root, Api& api, std::string node, LogLine log_line, OnIssued on_issued)
    : root_(root), api_(api), node_(std::move(node)), log_(std::move(log_line)),
      on_issued_(std::move(on_issued)), backoff_(first_wait, most_wait) {}

std::optional<Time> Enrolment::due() const {
    const auto other = watch_ ? watch_->due() : std::nullopt;
    if (!due_ || !other)
        return due_ ? due_ : other;
    return std::min(*due_, *other);
}

void Enrolment::turn() {
    if (ended_) {
        // handle() sets ended_, but must not destroy the watch, because handle() runs in a callback of it.
        watch_.reset();
        return;
    }
    if (watch_)
        watch_->turn();
    if (!due_ || now() < *due_)
        return;
    due_.reset();
    begin();
}

void Enrolment::begin() {
    watch_.reset();
    pending_ = false;
    auto key = pending_key();
    if (!key)
        return fail(key.error());
    key_ = std::move(*key);
    if (const auto submitted = submit(); !submitted)
        fail(submitted.error());
}

/// Returns the key of the pending request, or a new key. Writes a new key to its file before it is used.
Result<std::string> Enrolment::pending_key() const {
    auto key = root_.read(cluster::pending_key);
    if (key || key.error().code != Errc::NotFound)
        return key;
    GPUHOST_TRY(made, content::make_private_key());
    GPUHOST_CHECK(root_.write_atomic(cluster::pending_key, made, 0600));
    return made;
}

Result<void> Enrolment::submit() {
    GPUHOST_TRY(request, content::request_certificate(key_, {"gpuhost:hosts", "gpuhost:host:" + node_}));
    digest_ = request.digest;
    name_ = "gpuhost-" + node_ + "-" + digest_.substr(0, digits_of_digest);
    const Json body{{"apiVersion", "certificates.k8s.io/v1"},
                    {"kind", "CertificateSigningRequest"},
                    {"metadata", {{"name", name_}, {"labels", {{"gpuhost.io/node", node_}}}}},
                    {"spec",
                     {{"signerName", "kubernetes.io/kube-apiserver-client"},
                      {"usages", {"digital signature", "client auth"}},
                      {"request", content::encode_base64(request.pem)}}}};
    (void)api_.create(collection, body, [this](ApiAnswer&& answer) { submitted(std::move(answer)); });
    return {};
}

void Enrolment::submitted(ApiAnswer&& answer) {
    if (answer.status == unauthorized && api_.credentials().certificate.empty())
        answer.error.hint = token_hint;
    if (!answer.done() && answer.status != conflict)
        return fail(answer.error, answer.retry_after);
    if (answer.done())
        log_("requested a certificate: approve it with 'kubectl certificate approve " + name_ + "'");
    backoff_.reset();
    error_ = {};
    pending_ = true;
    follow();
}

void Enrolment::follow() {
    const auto see = [this](const Json& request) { handle(request); };
    const auto lost = [this] {
        if (due_)
            return;
        pending_ = false;
        // The controller manager removes requests that are not approved within a day.
        error_ = {Errc::NotFound, "the request '" + name_ + "' was removed, making it again", ""};
        retry_after(backoff_.next());
    };
    watch_ = std::make_unique<Watch>(api_, collection, name_selector(name_),
                                     WatchHandlers{[see](Json&& request) { see(request); },
                                                   [lost](const std::set<std::string>& names) {
                                                       if (names.empty())
                                                           lost();
                                                   },
                                                   [lost](Json&&) { lost(); },
                                                   [this](const Error& trouble) { error_ = trouble; }});
}

void Enrolment::handle(const Json& request) {
    if (ended_ || due_) // with due_, this request has failed, and another one follows
        return;
    for (const char* type : {"Denied", "Failed"})
        if (const Json* condition = condition_of(request, type))
            return refused(*condition);
    const std::string encoded = string_or(member(request, "status"), "certificate", "");
    if (encoded.empty())
        return;
    const auto certificate = content::decode_base64(encoded);
    const auto kept = certificate ? keep(*certificate)
                                  : base::fail(Errc::BadContent, "the certificate is not valid base64");
    if (!kept)
        return fail(kept.error());
    ended_ = true;
    log_("received the certificate of request '" + name_ + "'");
    on_issued_();
}

/// Stores the key and the certificate in one file, because two files cannot be replaced at the same moment.
Result<void> Enrolment::keep(const std::string& certificate) {
    GPUHOST_TRY(facts, content::read_certificate(certificate, "the certificate of '" + name_ + "'"));
    if (facts.digest != digest_)
        return base::fail(Errc::BadContent, "the certificate of '" + name_ + "' is for another key");
    if (facts.name != "gpuhost:host:" + node_)
        return base::fail(Errc::BadContent, "the certificate of '" + name_ + "' is for '" + facts.name + "'");
    GPUHOST_CHECK(root_.write_atomic(own_identity, key_ + certificate, 0600));
    return root_.remove(cluster::pending_key);
}

/// Handles a denied request. Deletes the key, so that the next request has another key and with it another
/// name. The same key would give the same, denied request.
void Enrolment::refused(const Json& condition) {
    const std::string why = string_or(condition, "message", "");
    pending_ = false;
    error_ = {Errc::Refused, "the request '" + name_ + "' was refused" + (why.empty() ? "" : ": " + why),
              "Ask an administrator who approves certificates in this cluster."};
    log_(error_.message);
    if (const auto removed = root_.remove(cluster::pending_key); !removed)
        log_(removed.error().message);
    retry_after(after_refusal);
}

void Enrolment::fail(const Error& error, std::optional<std::chrono::seconds> at_least) {
    if (error.message != error_.message)
        log_(error.message);
    error_ = error;
    retry_after(std::max<Time>(backoff_.next(), at_least.value_or(std::chrono::seconds(0))));
}

void Enrolment::retry_after(Time wait) {
    due_ = now() + wait;
    retry_at_ = (base::realtime_us() / 1000 + static_cast<std::uint64_t>(wait.count())) / 1000;
}

namespace {

Result<content::CertificateFacts> own_certificate(const base::Root& root) {
    GPUHOST_TRY(pem, root.read(own_identity));
    return content::read_certificate(pem, own_identity);
}

} // namespace

Result<std::uint64_t> certificate_until(const base::Root& root) {
    GPUHOST_TRY(facts, own_certificate(root));
    return facts.until;
}

Result<std::uint64_t> renewal_due(const base::Root& root) {
    GPUHOST_TRY(facts, own_certificate(root));
    std::minstd_rand random{std::random_device{}()};
    const std::uint64_t life = facts.until > facts.from ? facts.until - facts.from : 0;
    return facts.from + life / 100 * std::uniform_int_distribution<std::uint64_t>(70, 90)(random);
}

Json kubeconfig_of(const Kubeconfig& bootstrap, const std::string& authorities) {
    Json cluster{{"server", bootstrap.server},
                 {"certificate-authority-data", content::encode_base64(authorities)}};
    if (!bootstrap.server_name.empty())
        cluster["tls-server-name"] = bootstrap.server_name;
    if (!bootstrap.proxy.empty())
        cluster["proxy-url"] = bootstrap.proxy;
    return {{"apiVersion", "v1"},
            {"kind", "Config"},
            {"current-context", "gpuhost"},
            {"clusters", {{{"name", "cluster"}, {"cluster", std::move(cluster)}}}},
            {"users",
             {{{"name", "host"},
               {"user", {{"client-certificate", own_identity}, {"client-key", own_identity}}}}}},
            {"contexts", {{{"name", "gpuhost"}, {"context", {{"cluster", "cluster"}, {"user", "host"}}}}}}};
}

} // namespace gpuhost::cluster
