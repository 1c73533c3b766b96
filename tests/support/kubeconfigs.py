# SPDX-License-Identifier: Apache-2.0
"""Kubeconfigs and the results of reading them. tests/host/kubeconfig_test.py compares our reader with this
table, and tests/cluster/scenarios/kubeconfig.py compares kubectl.

A kubeconfig that both accept has the same content for both. Each difference has a reason here.
"""

import base64
import os
import subprocess
from dataclasses import dataclass, field

SERVER = "https://127.0.0.1:1"  # no server listens there


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    accepted: dict = None  # differences from DEFAULT; None: our reader refuses it
    refusal: str = ""      # part of our reader's error
    kubectl: bool = None   # whether kubectl accepts it; None: as our reader does
    why: str = ""          # reason of a difference
    files: dict = field(default_factory=dict)  # {name: text} of further files in the kubeconfig's directory

    def kubectl_accepts(self):
        return self.accepted is not None if self.kubectl is None else self.kubectl


DEFAULT = {"context": "here", "server": SERVER, "server_name": "", "proxy": "", "authority": ("text", "@CA@"),
           "certificate": None, "key": None, "token": ("text", "secret"), "bearer": "secret"}
CLUSTER = f"server: '{SERVER}', certificate-authority-data: @CA@"
PAIR = "client-certificate-data: @CERT@, client-key-data: @KEY@"
AS_PAIR = {"certificate": ("text", "@CERT@"), "key": ("text", "@KEY@"), "token": None, "bearer": ""}


def config(cluster=CLUSTER, user="token: secret", *, head="apiVersion: v1\nkind: Config\n", current="here",
           context="{name: here, context: {cluster: site, user: host}}", more="", users=""):
    return (f"{head}current-context: {current}\ncontexts:\n- {context}\nclusters:\n- {{name: site, cluster: {{{cluster}}}}}\n"
            f"users:\n- {{name: host, user: {{{user}}}}}\n{users}{more}")


def named(name):
    """Returns a kubeconfig with `name` as its context, written unchanged into the YAML."""
    return config(current=name, context=f"{{name: {name}, context: {{cluster: site, user: host}}}}")


def in_cluster(members):
    return config(f"{CLUSTER}, {members}")


def other_user(members):
    return config(users=f"- {{name: other, user: {{{members}}}}}\n")


JSON = """{
\t"kind": "Config", "apiVersion": "v1", "current-context": "here",
\t"contexts": [{"name": "here", "context": {"cluster": "site", "user": "host"}}],
\t"clusters": [{"name": "site", "cluster": {"server": "https://127.0.0.1:1", "certificate-authority-data": "@CA@"}}],
\t"users": [{"name": "host", "user": {"token": "secret"}}]
}
"""
BLOCK = """apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: >-
      @CA@
    server: https://127.0.0.1:1
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    namespace: default
    user: kubernetes-admin
  name: kubernetes-admin@kubernetes
current-context: kubernetes-admin@kubernetes
kind: Config
preferences: {}
users:
- name: kubernetes-admin
  user:
    client-certificate-data: @CERT@
    client-key-data: @KEY@
"""
MERGED = """anchors: {here: &here {cluster: site, user: nobody}}
current-context: here
contexts: [{name: here, context: {<<: *here, user: host}}]
clusters: [{name: site, cluster: {server: 'https://127.0.0.1:1', certificate-authority-data: @CA@}}]
users: [{name: host, user: {token: &token secret}}]
"""
SAFER = "unusual, and possibly a mistake"
MORE_TYPES = "kubectl has more spellings of booleans and numbers"
NOT_READ = "only the entries of the current context are read"
VERIFIED = "the server's identity must be verified"
NO_PROGRAM = "other programs are not run"
NO_SERVER = "kubectl connects to localhost:8080 instead"
NOT_OURS = "hosts do not authenticate in this way"

CASES = [
    Case("only the required members", config(), {}),
    Case("as kubeadm writes it", BLOCK, {"context": "kubernetes-admin@kubernetes", **AS_PAIR}),
    Case("JSON", JSON, {}),
    Case("JSON with a slash escaped", JSON.replace("https://", "https:\\/\\/"), {}, kubectl=False,
         why="kubectl's YAML lacks this escape, which has only one meaning"),
    Case("no kind", config(head=""), {}),
    Case("two documents, of which the second is not a kubeconfig", config(more="---\n{a: 1}\n"), {}),
    Case("a certificate", config(user=PAIR), AS_PAIR),
    Case("a certificate and a token", config(user=f"{PAIR}, token: secret"), {**AS_PAIR, "token": ("text", "secret"), "bearer": "secret"}),
    Case("files", config(f"server: '{SERVER}', certificate-authority: ca.crt",
                         "client-certificate: ./host.crt, client-key: ../pki/host.key"),
         {"authority": ("path", "ca.crt"), "certificate": ("path", "host.crt"), "key": ("path", "../pki/host.key"), "token": None,
          "bearer": ""}),
    Case("a certificate in a file and its key in the kubeconfig", config(user="client-certificate: host.crt, client-key-data: @KEY@"),
         {**AS_PAIR, "certificate": ("path", "host.crt")}),
    Case("a token's file", config(user="tokenFile: token"), {"token": ("path", "token"), "bearer": "of-a-file"}),
    Case("a token and its file", config(user="token: secret, tokenFile: token"), {"token": ("path", "token"), "bearer": "of-a-file"}),
    Case("unknown members", in_cluster("colour: red, Server: 'http://b'"), {}),
    Case("an unknown member of a user", config(user="tokenFile: token, tokenFile-data: '%'"),
         {"token": ("path", "token"), "bearer": "of-a-file"}),
    Case("null in many places", config(f"{CLUSTER}, proxy-url: , extensions: ~", "token: secret, exec: null, as-groups: ",
                                       more="preferences:\nextensions: null\n"), {}),
    Case("empty texts", config(f"{CLUSTER}, certificate-authority: '', proxy-url: ''",
                               "token: secret, tokenFile: '', username: '', password: \"\", as: '', client-key: ''"), {}),
    Case("another user with a plug-in", other_user("exec: {command: aws, args: [a], env: [{name: A, value: b}], "
                                                   "apiVersion: v1, installHint: |\n a, interactiveMode: Never}")
         .replace("|\n a", "a"), {}),
    Case("extensions", in_cluster("extensions: [{name: a, extension: {b: [1]}}, {name: b, extension: 5}]"), {}),
    Case("a name for the server", in_cluster("tls-server-name: kubernetes"), {"server_name": "kubernetes"}),
    Case("a proxy", in_cluster("proxy-url: 'http://user:word@127.0.0.1:1'"), {"proxy": "http://user:word@127.0.0.1:1"}),
    Case("SOCKS", in_cluster("proxy-url: 'socks5://127.0.0.1:1'"), {"proxy": "socks5://127.0.0.1:1"}),
    Case("a prefix", config(f"server: '{SERVER}/k8s/c-1/', certificate-authority-data: @CA@"), {"server": f"{SERVER}/k8s/c-1"}),
    Case("capital letters", config("server: 'HTTPS://127.0.0.1:1', certificate-authority-data: @CA@"), {}),
    Case("IPv6", config("server: 'https://[::1]:1', certificate-authority-data: @CA@"), {"server": "https://[::1]:1"}),
    Case("insecure-skip-tls-verify: false", in_cluster("insecure-skip-tls-verify: false"), {}),
    Case("base64 in several lines", config(f"server: '{SERVER}', certificate-authority-data: \"@CA-LINES@\""), {}),
    Case("a quoted name", named("'no'"), {"context": "no"}),
    Case("a name like a date", named("2026-01-02"), {"context": "2026-01-02"}),
    Case("a name like an address", named("10.0.0.1"), {"context": "10.0.0.1"}),
    Case("a name with a tag", named("!!str 5"), {"context": "5"}),
    Case("disable-compression", in_cluster("disable-compression: yes"), {}),
    Case("a key like a number with a fraction", config(more="1.5: a\n"), {}),
    # Accepted by our reader only.
    *(Case(f"a context whose name is {name}", named(name), {"context": name}, kubectl=False, why=MORE_TYPES)
      for name in ("n", "y", "Yes", "on", "OFF", "1_000", "08", "1.5", "1e3", ".5", ".inf")),
    Case("another user's token that is a number", other_user("token: 12345"), {}, kubectl=False, why=NOT_READ),
    Case("invalid base64 of another user", other_user("client-key-data: abc"), {}, kubectl=False, why=NOT_READ),
    # Refused by both.
    *(Case(f"a context whose name is {name}", named(name), refusal="current-context is not a string", kubectl=False)
      for name in ("5", "-5", "0b1", "0x1", "010", "true", "FALSE")),
    Case("a token that is a number", config(user="token: 12345"), refusal="user 'host': token is not a string", kubectl=False),
    Case("a truth value in quotes", in_cluster("insecure-skip-tls-verify: 'false'"), refusal="has insecure-skip-tls-verify", kubectl=False),
    Case("invalid base64", config(f"server: '{SERVER}', certificate-authority-data: '%%%'"), refusal="is not valid base64", kubectl=False),
    Case("no certificate in base64", config(f"server: '{SERVER}', certificate-authority-data: aGVsbG8="),
         refusal="certificate-authority-data: has no valid certificate in PEM", kubectl=False),
    Case("a key that is a certificate", config(user="client-certificate-data: @CERT@, client-key-data: @CERT@"),
         refusal="client-key-data: has no valid private key in PEM", kubectl=False),
    Case("a certificate without its key", config(user="client-certificate-data: @CERT@"), refusal="without its client-key", kubectl=False),
    Case("an authority twice", in_cluster("certificate-authority: ca.crt"), refusal="has both certificate-authority", kubectl=False),
    Case("a certificate twice", config(user=f"{PAIR}, client-certificate: host.crt"), refusal="has both client-certificate", kubectl=False),
    Case("a key twice", config(user=f"{PAIR}, client-key: host.crt"), refusal="has both client-key", kubectl=False),
    Case("a missing file of an authority", config(f"server: '{SERVER}', certificate-authority: none"), refusal="No such file",
         kubectl=False),
    Case("a missing file of a token", config(user="tokenFile: none"), refusal="No such file", kubectl=False),
    Case("a user twice", other_user("token: a").replace("name: other", "name: host"), refusal="user 'host' is defined twice", kubectl=False),
    Case("another user twice", config(users="- {name: other}\n- {name: other}\n"), refusal="user 'other' is defined twice",
         kubectl=False),
    Case("a missing context", config(current="elsewhere"), refusal="context 'elsewhere' not found", kubectl=False),
    Case("another kind", config(head="kind: Pod\n"), refusal="is not a kubeconfig, but of kind 'Pod'", kubectl=False),
    Case("another version", config(head="apiVersion: v2\n"), refusal="apiVersion 'v2'", kubectl=False),
    Case("a list", "- a\n", refusal="is not a kubeconfig", kubectl=False),
    Case("a word", "hello\n", refusal="is not a kubeconfig", kubectl=False),
    Case("invalid YAML", "clusters: [\n", refusal="line ", kubectl=False),
    Case("bytes", "current-context: \x01\n", refusal="is not UTF-8 text", kubectl=False),
    Case("clusters that are a map", config().replace("clusters:\n- ", "clusters:\n  site: "), refusal="clusters is not a list", kubectl=False),
    Case("a proxy with another scheme", in_cluster("proxy-url: 'ftp://127.0.0.1:1'"), refusal="proxy-url: does not begin with http://, https:// or socks5://", kubectl=False),
    Case("an authority and insecure-skip-tls-verify", in_cluster("insecure-skip-tls-verify: true"), refusal="has insecure-skip-tls-verify",
         kubectl=False),
    Case("an infinite alias", config(more="a: &a [*a]\n"), refusal="inside its own anchor", kubectl=False),
    # Accepted by kubectl only.
    Case("an empty file", "", refusal="is not a kubeconfig", kubectl=True, why=NO_SERVER),
    Case("a cluster without a server", config("certificate-authority-data: @CA@"), refusal="has no server", kubectl=True, why=NO_SERVER),
    Case("a key twice in a map", config(more="kind: Config\n"), refusal="has the key 'kind' twice", kubectl=True, why=SAFER),
    Case("a tag", config(user="token: !mine secret"), refusal="has the tag '!mine'", kubectl=True, why=SAFER),
    Case("merged maps", MERGED, refusal="merges maps with '<<'", kubectl=True, why=SAFER),
    Case("insecure-skip-tls-verify: off", in_cluster("insecure-skip-tls-verify: off"), refusal="has insecure-skip-tls-verify", kubectl=True,
         why=MORE_TYPES),
    Case("a certificate as a list of bytes", config(f"server: '{SERVER}', certificate-authority-data: [@CA-BYTES@]"),
         refusal="certificate-authority-data is not a string", kubectl=True, why=SAFER),
    Case("insecure-skip-tls-verify: true", config(f"server: '{SERVER}', insecure-skip-tls-verify: true"), refusal="has insecure-skip-tls-verify",
         kubectl=True, why=VERIFIED),
    Case("no authority", config(f"server: '{SERVER}'"), refusal="has no certificate-authority", kubectl=True, why=VERIFIED),
    Case("a server with http://", config("server: 'http://127.0.0.1:1', certificate-authority-data: @CA@"),
         refusal="does not begin with https://", kubectl=True, why=VERIFIED),
    Case("a server without a scheme", config("server: '127.0.0.1:1', certificate-authority-data: @CA@"), refusal="is not a URL with a scheme",
         kubectl=True, why="kubectl connects without TLS and without credentials"),
    Case("a password in the URL", config("server: 'https://a:b@127.0.0.1:1', certificate-authority-data: @CA@"),
         refusal="has a user or a password in it", kubectl=True, why=NOT_OURS),
    Case("a password", config(user="username: a, password: b"), refusal="has username", kubectl=True, why=NOT_OURS),
    Case("a plug-in", config(user="exec: {command: /none/at/all, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
         refusal="has exec", kubectl=True, why=NO_PROGRAM),
    Case("a provider", config(user="token: a, auth-provider: {name: oidc, config: {a: b}}"), refusal="has auth-provider", kubectl=False,
         why=NO_PROGRAM),
    Case("impersonation of a user", config(user="token: a, as: root"), refusal="has as", kubectl=True, why=NOT_OURS),
    Case("impersonation with groups", config(user="token: a, as: b, as-groups: [c]"), refusal="has as", kubectl=True, why=NOT_OURS),
    Case("a key without its certificate", config(user="token: a, client-key-data: @KEY@"), refusal="without its client-certificate",
         kubectl=True, why="kubectl silently ignores the key"),
    Case("a token with a blank", config(user="token: 'a b'"), refusal="token: has blanks", kubectl=True, why="servers do not issue such tokens"),
    Case("a token and an empty file of a token", config(user="token: a, tokenFile: empty"), refusal="tokenFile: ", kubectl=True,
         why="kubectl uses the other token", files={"empty": "\n"}),
    Case("no current context", config(current=""), refusal="has no current-context", kubectl=True,
         why=NO_SERVER),
    Case("a missing user", config(context="{name: here, context: {cluster: site, user: none}}"),
         refusal="user 'none' not found", kubectl=False),
    Case("a missing cluster", config(context="{name: here, context: {cluster: none, user: host}}"),
         refusal="cluster 'none' not found", kubectl=True, why=NO_SERVER),
    Case("more than 1 MiB", config(more="#" + " " * (1 << 20) + "\n"), refusal="is larger than 1 MiB", kubectl=True, why="input is bounded"),
]


class Site:
    """Makes an authority and a host's certificate in `directory`, and writes cases there."""
    def __init__(self, directory):
        self.directory = directory
        for name in ("pki", "etc"):
            os.makedirs(self.path(name), exist_ok=True)
        for name in ("ca", "host"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                            "-subj", f"/CN={name}", "-keyout", self.path(f"pki/{name}.key"), "-out", self.path(f"etc/{name}.crt")],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._write("etc/token", "of-a-file\n")
        ca, cert, key = (self._read(name) for name in ("etc/ca.crt", "etc/host.crt", "pki/host.key"))
        self.texts = {"@CA@": ca, "@CERT@": cert, "@KEY@": key}
        coded = {mark: base64.b64encode(text.encode()).decode() for mark, text in self.texts.items()}
        lines = base64.encodebytes(ca.encode()).decode().replace("\n", "\\n")
        self.values = {**coded, "@CA-LINES@": lines, "@CA-BYTES@": ", ".join(map(str, ca.encode()))}

    def path(self, name):
        return os.path.join(self.directory, name)

    def _read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def _write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def write(self, number, case):
        """Writes the case's files; returns the kubeconfig's path."""
        for name, text in case.files.items():
            self._write(f"etc/{name}", text)
        text = case.text
        for mark, value in self.values.items():
            text = text.replace(mark, value)
        self._write(f"etc/{number}.conf", text)
        return self.path(f"etc/{number}.conf")

    def expected(self, case):
        """Returns the probe's answer for an accepted case: certificates, key and token are {"text",
        "path"}."""
        def made(value):
            if value is None:
                return {"text": "", "path": ""}
            kind, name = value
            text = self.texts.get(name, name)
            return {"text": text if kind == "text" else "", "path": os.path.normpath(self.path(f"etc/{name}")) if kind == "path" else ""}
        wanted = {**DEFAULT, **case.accepted}
        return {key: made(value) if key in ("authority", "certificate", "key", "token") else value for key, value in wanted.items()}
