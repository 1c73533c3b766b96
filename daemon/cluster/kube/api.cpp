// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/api.hpp"

#include "config.h"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/event_lines.hpp"

#include <utility>

namespace gpuhost::cluster {

using base::Errc;
using base::Error;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t most_answer = EventLines::longest;
constexpr unsigned most_reads = 3;
/// A request without a response within this time fails. Admission webhooks may delay a response.
constexpr std::chrono::seconds answer_deadline{30};
/// A watch without data for this long fails: the server sends a bookmark on each watch every minute.
constexpr std::chrono::minutes watch_silence{5};

Error refusal(unsigned status, const Json& body) {
    const std::string said = base::string_or(body, "message", "");
    const std::string words = said.empty() ? "answered " + std::to_string(status) : said;
    switch (status) {
    case 401:
        return {Errc::AccessDenied, "the API server rejects these credentials: " + words,
                "Check whether the certificate or the token in the kubeconfig has expired."};
    case 403:
        return {Errc::AccessDenied, words,
                "Apply the manifests in /usr/share/gpuhost/kubernetes; gpuhost-cluster(8) lists the rights "
                "of each user."};
    case 404:
        return {Errc::NotFound, words, ""};
    case 429:
        return {Errc::Busy, words, ""};
    default:
        return {status == 504 ? Errc::Timeout : Errc::Failed, "the API server: " + words, ""};
    }
}

Error failure(const http::Answer& answer, const std::string& server) {
    const std::string words = server + ": " + answer.problem;
    const std::string check = "Check the connection to " + server + ".";
    switch (answer.failure) {
    case http::Failure::Timeout:
        return {Errc::Timeout, words, check};
    case http::Failure::Untrusted:
        return {Errc::AccessDenied, words,
                "Check that the kubeconfig has the authority of the API server's certificate, and a client "
                "certificate that the server's client authority signed."};
    case http::Failure::TooMuch:
    case http::Failure::TooLittle:
        return {Errc::BadContent, words, ""};
    default:
        return {Errc::Failed, words, check};
    }
}

std::optional<std::chrono::seconds> retry_after(const http::Answer& answer) {
    constexpr std::uint64_t most = 3600;
    const auto header = answer.headers.find("retry-after");
    const auto seconds =
        header == answer.headers.end() ? std::nullopt : base::parse_uint(base::trim(header->second));
    if (!seconds)
        return std::nullopt;
    return std::chrono::seconds(std::min(*seconds, most));
}

ApiAnswer read(http::Answer&& answer, const std::string& server) {
    ApiAnswer read;
    read.status = answer.status;
    read.retry_after = retry_after(answer);
    if (answer.failure != http::Failure::None) {
        read.error = failure(answer, server);
        read.too_much = answer.failure == http::Failure::TooMuch;
        return read;
    }
    auto body = base::parse_json(answer.body.empty() ? "null" : answer.body, "the API server's response");
    const bool good = answer.status >= 200 && answer.status < 300;
    if (body)
        read.body = std::move(*body);
    if (!good)
        read.error = refusal(answer.status, read.body);
    else if (!body)
        read.error = body.error();
    return read;
}

http::Tls tls_of(const Credentials& credentials) {
    return {credentials.authorities, credentials.certificate, credentials.key};
}

} // namespace

Result<Api::Access> Api::load(const base::Root& root, const std::string& path) {
    for (unsigned left = most_reads;; --left) {
        GPUHOST_TRY(text, root.read(path));
        // An inherited file, such as that of kubectl-gpuhost, has no name that tells anything.
        const std::string what =
            base::starts_with(path, "/proc/self/fd/") ? "the kubeconfig" : "'" + path + "'";
        GPUHOST_TRY(config, parse_kubeconfig(text, what, path.substr(0, path.rfind('/'))));
        std::string fingerprint = credentials_fingerprint(root, path, config);
        GPUHOST_TRY(credentials, read_credentials(root, config));
        // If the files were replaced meanwhile, the key may be new and the certificate old: read them again.
        if (left == 0 || fingerprint == credentials_fingerprint(root, path, config))
            return Access{std::move(config), std::move(credentials), std::move(fingerprint)};
    }
}

Api::Api(const base::Root& root, std::string path, Access access, http::Client client)
    : root_(&root), path_(std::move(path)), access_(std::move(access)), client_(std::move(client)) {}

Result<Api> Api::open(const base::Root& root, std::string path) {
    GPUHOST_TRY(access, load(root, path));
    http::Options options;
    options.tls = tls_of(access.credentials);
    options.server_name = access.config.server_name;
    options.proxy = access.config.proxy;
    options.http2 = true;
    GPUHOST_TRY(client, http::Client::make(std::move(options)));
    return Api(root, std::move(path), std::move(access), std::move(client));
}

std::vector<std::string> Api::notes() const {
    return credentials_notes(*root_, path_, access_.config);
}

http::Request Api::request(std::string method, const std::string& path) const {
    http::Request request;
    request.method = std::move(method);
    request.url = access_.config.server + path;
    request.limit = most_answer;
    request.deadline = answer_deadline;
    request.headers = {"Accept: application/json", "User-Agent: gpuhost-cluster/" PACKAGE_VERSION};
    if (!access_.credentials.token.empty())
        request.headers.push_back("Authorization: Bearer " + access_.credentials.token);
    return request;
}

std::uint64_t Api::start(http::Request request, Done done) {
    const std::uint64_t id = client_.start(std::move(request));
    waiting_.emplace(id, std::move(done));
    return id;
}

std::uint64_t Api::get(const std::string& path, Done done) {
    return start(request("GET", path), std::move(done));
}

std::uint64_t Api::create(const std::string& collection, const Json& object, Done done) {
    http::Request asked = request("POST", collection);
    asked.headers.emplace_back("Content-Type: application/json");
    asked.body = base::dump(object);
    return start(std::move(asked), std::move(done));
}

std::uint64_t Api::remove(const std::string& path, const Json& object, Done done, Json options) {
    const Json& metadata = base::member(object, "metadata");
    http::Request asked = request("DELETE", path);
    asked.headers.emplace_back("Content-Type: application/json");
    Json preconditions = Json::object();
    for (const char* key : {"uid", "resourceVersion"})
        if (const std::string value = base::string_or(metadata, key, ""); !value.empty())
            preconditions[key] = value;
    options["apiVersion"] = "v1";
    options["kind"] = "DeleteOptions";
    options["preconditions"] = std::move(preconditions);
    asked.body = base::dump(options);
    return start(std::move(asked), std::move(done));
}

std::uint64_t Api::patch(const std::string& path, PatchType type, const Json& patch, Done done) {
    http::Request asked = request("PATCH", path);
    asked.headers.emplace_back(type == PatchType::Merge
                                   ? "Content-Type: application/merge-patch+json"
                                   : "Content-Type: application/strategic-merge-patch+json");
    asked.body = base::dump(patch);
    return start(std::move(asked), std::move(done));
}

std::uint64_t Api::watch(const std::string& path, std::function<void()> on_begin, OnEvent on_event,
                         Done done) {
    http::Request asked = request("GET", path);
    asked.on_begin = std::move(on_begin);
    asked.deadline = std::chrono::milliseconds(0);
    asked.silence = watch_silence;
    asked.on_bytes = [lines = std::make_shared<EventLines>(std::move(on_event))](std::string_view bytes) {
        return lines->feed(bytes);
    };
    return start(std::move(asked), std::move(done));
}

void Api::cancel(std::uint64_t id) {
    client_.cancel(id);
    waiting_.erase(id);
}

Result<bool> Api::refresh() {
    const std::string seen = credentials_fingerprint(*root_, path_, access_.config);
    if (seen == access_.fingerprint)
        return false;
    access_.fingerprint = seen; // so that an error in the files is reported once, until they change again
    GPUHOST_TRY(access, load(*root_, path_));
    const Kubeconfig& config = access.config;
    if (config.server != access_.config.server || config.server_name != access_.config.server_name ||
        config.proxy != access_.config.proxy)
        return base::fail(Errc::Refused, "'" + path_ + "' now names another server",
                          "Restart the service to use it: systemctl restart gpuhost-cluster");
    GPUHOST_CHECK(client_.set_tls(tls_of(access.credentials)));
    access_ = std::move(access);
    return true;
}

void Api::work() {
    finish(client_.work());
}

void Api::wait(std::chrono::milliseconds most) {
    finish(client_.wait(most));
}

void Api::finish(std::vector<http::Answer>&& answers) {
    for (http::Answer& answer : answers) {
        const auto waiting = waiting_.find(answer.id);
        if (waiting == waiting_.end())
            continue;
        const Done done = std::move(waiting->second);
        waiting_.erase(waiting);
        done(read(std::move(answer), access_.config.server));
    }
}

} // namespace gpuhost::cluster
