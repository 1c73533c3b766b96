// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/check.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/yaml.hpp"
#include "daemon/cluster/policy/policy.hpp"
#include "daemon/cluster/policy/texts.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gpuhost::cluster {

using base::Errc;
using base::Json;
using base::member;
using base::Result;
using base::string_or;
using base::YamlDocument;

namespace {

using Lines = base::YamlLines;

/// Finds the values of one source in the file.
struct Place {
    Lines lines;
    std::string prefix;     ///< of the paths in `lines`: "spec."
    std::size_t offset = 0; ///< line before the first line of `lines`

    /// Returns the line of a problem in the file. Removes the line in the source from the text of a syntax
    /// error, if that is another one.
    std::size_t locate(PolicyProblem& problem) const {
        const std::string head = problem.source + ": line ";
        const std::size_t end = problem.text.find(": ", head.size());
        if (offset != 0 && base::starts_with(problem.text, head) && end != std::string::npos)
            if (const auto line = base::parse_uint(problem.text.substr(head.size(), end - head.size()))) {
                problem.text.replace(0, end, problem.source);
                return offset + *line;
            }
        return offset + base::yaml_line(lines, prefix + problem.path);
    }
};

/// Returns true if the YAML text has a literal block scalar ("key: |") at this line, whose lines follow.
bool is_literal(const std::string& text, std::size_t line) {
    const auto all = base::split(text, '\n');
    if (line == 0 || line > all.size())
        return false;
    std::string_view header = all[line - 1];
    header = base::trim(header.substr(0, header.find(" #")));
    const std::size_t bar = header.rfind('|');
    return bar != std::string_view::npos &&
           header.find_first_not_of("+-123456789", bar + 1) == std::string_view::npos;
}

class File {
  public:
    explicit File(const std::string& text) : text_(text) {}

    void add(const YamlDocument& document) {
        const bool is_list = string_or(document.value, "kind", "") == "List";
        const Json& items = base::list_of(document.value, "items");
        for (std::size_t i = 0; is_list && i < items.size(); ++i)
            add(items[i], document.lines, "items[" + std::to_string(i) + "].");
        if (!is_list)
            add(document.value, document.lines, "");
        is_first_ = false;
    }

    [[nodiscard]] bool empty() const { return places_.empty() && problems_.empty(); }
    /// Returns why the policies of the file are not read, as text.
    [[nodiscard]] std::string reasons() const {
        std::string text;
        for (const Json& object : documents_)
            text += ": " + string_or(object, "name", "") + ": " + string_or(object, "reason", "");
        return text;
    }

    [[nodiscard]] Json document(std::int64_t now) && {
        const MergedPolicy merged = merge_texts(texts_);
        Policy policy = read_policy(merged);
        Json document{{"policy", to_json(merged)},
                      {"documents", std::move(documents_)},
                      {"pools", pools(merged, policy, now)}};
        document["policy"]["problems"] = texts_of(policy.problems);
        for (PolicyProblem& problem : policy.problems) {
            const std::size_t line = places_[problem.source].locate(problem);
            add_problem(problem.text, problem.path, line);
        }
        std::stable_sort(problems_.begin(), problems_.end(),
                         [](const Json& a, const Json& b) { return a["line"] < b["line"]; });
        document["problems"] = std::move(problems_);
        return document;
    }

  private:
    void add(const Json& object, const Lines& lines, const std::string& above) {
        const std::string kind = string_or(object, "kind", "");
        const Json& metadata = member(object, "metadata");
        const std::string name = kind + " " + string_or(metadata, "name", "");
        const std::size_t line = base::yaml_line(lines, base::outer_path(above));
        if (kind == "ConfigMap")
            add_config_map(object, lines, above, line);
        else if (kind == "ClusterPolicy")
            add_cluster_policy(object, lines, above + "spec.", line);
        else if (kind == "NVIDIADriver")
            skip(name, line, "rollout.pools replaces it");
        else if (above.empty() && kind.empty() && object.is_object() &&
                 member(object, "apiVersion").is_null())
            add_policy(lines, line);
    }

    void add_config_map(const Json& object, const Lines& lines, const std::string& above, std::size_t line) {
        const std::string path = above + "data." + config_map_key;
        const Json& metadata = member(object, "metadata");
        const std::string space = string_or(metadata, "namespace", "gpuhost");
        if (string_or(metadata, "name", "") != config_map)
            return; // other programs have ConfigMaps, too
        const std::string name = "ConfigMap " + space + "/" + config_map;
        if (space != "gpuhost")
            return add_problem(name + ": gpuhost-cluster reads only namespace gpuhost", "metadata.namespace",
                               line);
        if (member(metadata, "namespace").is_null())
            add_problem("ConfigMap gpuhost-policy: has no namespace: kubectl would create it in the current "
                        "one, and gpuhost-cluster reads only namespace gpuhost; add it, or name it with "
                        "kubectl --namespace",
                        "metadata.namespace", base::yaml_line(lines, above + "metadata"));
        if (!texts_.config_map.is_null())
            return add_problem(name + ": is in the file twice", "", line);
        texts_.config_map = object;
        const std::string text = string_or(member(object, "data"), config_map_key, "");
        const std::size_t header = base::yaml_line(lines, path);
        if (!is_literal(text_, header))
            return read(name, line, {lines, path + "."});
        const auto inner = base::parse_yaml_documents(text, "");
        const bool is_read = inner && !inner->empty();
        read(name, line, {is_read ? inner->front().lines : Lines{{"", 0}}, "", header});
    }

    void add_cluster_policy(const Json& object, const Lines& lines, const std::string& prefix,
                            std::size_t line) {
        const std::string name = "ClusterPolicy " + string_or(member(object, "metadata"), "name", "");
        if (string_or(object, "apiVersion", "") != "nvidia.com/v1")
            return skip(name, line, "its apiVersion is not nvidia.com/v1");
        if (!texts_.cluster_policy.is_null())
            return skip(name, line, "of several, gpuhost-cluster reads the oldest; here: the first");
        texts_.cluster_policy = object;
        read(name, line, {lines, prefix});
    }

    /// Adds the policy itself, as it is in policy_file. Only the first document of such a file is read.
    void add_policy(const Lines& lines, std::size_t line) {
        if (!is_first_)
            return skip("document", line, "it has no kind");
        texts_.file = text_;
        read(policy_file, line, {lines, ""});
    }

    void read(const std::string& name, std::size_t line, Place place) {
        places_[name] = std::move(place);
        documents_.push_back({{"name", name}, {"line", line}, {"reason", nullptr}});
    }

    void skip(const std::string& name, std::size_t line, const char* reason) {
        documents_.push_back({{"name", name}, {"line", line}, {"reason", reason}});
    }

    void add_problem(const std::string& text, const std::string& path, std::size_t line) {
        problems_.push_back({{"text", text}, {"path", path}, {"line", line}});
    }

    static Json pools(const MergedPolicy& merged, const Policy& policy, std::int64_t now) {
        Json pools = Json::array();
        const Json& given = merged.at("rollout.pools");
        for (std::size_t i = 0; i < policy.pools.size(); ++i) {
            const bool is_default = i + 1 == policy.pools.size();
            const Json selector = is_default ? Json() : member(given[i], "nodeSelector");
            const UpgradePolicy& upgrade = policy.pools[i].policy;
            const WindowState window = window_at(upgrade.windows, now);
            Json gates = Json::array();
            for (const Gate& gate : upgrade.gates)
                if (!gate.name.empty()) // the name of an invalid gate is empty
                    gates.push_back({{"name", gate.name}, {"url", gate.url}, {"query", gate.query}});
            pools.push_back(
                {{"name", policy.pools[i].name},
                 {"node_selector", Selector::read(selector) ? selector : Json()},
                 {"fields", to_json(is_default ? merged : pool_values(merged, given[i]))["fields"]},
                 {"window",
                  upgrade.windows.empty() ? Json() : Json{{"open", window.open}, {"text", window.reason}}},
                 {"gates", std::move(gates)}});
        }
        return pools;
    }

    const std::string& text_;
    bool is_first_ = true;
    PolicyTexts texts_;
    std::map<std::string, Place> places_; ///< by the name of the source
    Json documents_ = Json::array();
    Json problems_ = Json::array();
};

} // namespace

Result<Json> check_policy(const std::string& text, const std::string& what, std::int64_t now) {
    GPUHOST_TRY(documents, base::parse_yaml_documents(text, what));
    File file(text);
    for (const YamlDocument& document : documents)
        file.add(document);
    if (file.empty())
        return base::fail(Errc::BadContent,
                          what + ": has no policy that gpuhost-cluster reads" + file.reasons(),
                          "Write ConfigMap gpuhost-policy as gpuhost-policy(5) describes it.");
    return std::move(file).document(now);
}

} // namespace gpuhost::cluster
