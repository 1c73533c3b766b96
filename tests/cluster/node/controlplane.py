# SPDX-License-Identifier: Apache-2.0
"""A real API server with etcd, the controller manager and the scheduler, and the identities that tests
use."""

import json
import os
import ssl
import subprocess
from http.client import HTTPSConnection
from pathlib import Path

import programs
from peer_files import KEY

from .service import Service
from .waiting import eventually

PORT, ETCD, PEERS = 16443, 16444, 16445  # always free, because the run has its own network
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}


class ControlPlane:
    """The services of a control plane. Each identity is a kubeconfig. `names` are further names in the
    server's certificate."""
    def __init__(self, tools, place, names=()):
        self.tools = tools
        self.state = place.state / "controlplane"
        self.pki = self.state / "pki"
        self.audit_log = place.logs / "audit.log"
        self.etcd = Service("etcd", place.logs)
        self.api = Service("kube-apiserver", place.logs)
        self.manager = Service("kube-controller-manager", place.logs)
        self.scheduler = Service("kube-scheduler", place.logs)
        self.url = f"https://127.0.0.1:{PORT}"
        self.names = ["IP:127.0.0.1", "DNS:localhost", "DNS:kubernetes.default.svc", *names]

    # Identities

    def openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], cwd=self.pki, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def certificate(self, name, subject, extension=""):
        self.openssl("req", *KEY, "-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (self.pki / "ext").write_text(extension)
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", 30,
                     "-extfile", "ext", "-out", f"{name}.crt")

    def identity(self, name, user, *groups):
        """Makes a kubeconfig of this user and returns its path."""
        self.certificate(name, "".join(f"/O={group}" for group in groups) + f"/CN={user}")
        path = self.state / f"{name}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.url, "certificate-authority": str(self.pki / "ca.crt")}}],
            "users": [{"name": name, "user": {"client-certificate": str(self.pki / f"{name}.crt"), "client-key": str(self.pki / f"{name}.key")}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}]}))
        path.chmod(0o600)
        return path

    def make_identities(self):
        self.pki.mkdir(parents=True)
        self.openssl("req", "-x509", *KEY, "-keyout", "ca.key", "-out", "ca.crt", "-days", 30, "-subj", "/CN=cluster")
        self.openssl("genrsa", "-out", "sa.key", 2048)
        self.certificate("server", "/CN=kube-apiserver", f"subjectAltName={','.join(self.names)}\n")
        self.admin = self.identity("admin", "admin", "system:masters")
        self.kcm = self.identity("kcm", "system:kube-controller-manager")
        self.scheduling = self.identity("scheduler", "system:kube-scheduler")
        (self.state / "audit.json").write_text(json.dumps(AUDIT))

    # The services

    def run(self):
        self.make_identities()
        self.etcd.start([self.tools / "etcd", "--data-dir", self.state / "etcd", "--unsafe-no-fsync", "--listen-client-urls", f"http://127.0.0.1:{ETCD}",
                         "--advertise-client-urls", f"http://127.0.0.1:{ETCD}", "--listen-peer-urls", f"http://127.0.0.1:{PEERS}"])
        self.start_api()
        self.start_manager()

    def start_manager(self):
        self.manager.start([
            self.tools / "kube-controller-manager", "--kubeconfig", self.kcm, "--leader-elect=false", "--use-service-account-credentials=true",
            "--service-account-private-key-file", self.pki / "sa.key", "--root-ca-file", self.pki / "ca.crt",
            "--cluster-signing-cert-file", self.pki / "ca.crt", "--cluster-signing-key-file", self.pki / "ca.key",
            "--node-monitor-grace-period=8s", "--node-monitor-period=2s", "--secure-port=0"])

    def start_scheduler(self):
        """Starts the scheduler, for tests with pods that must be scheduled."""
        self.scheduler.start([self.tools / "kube-scheduler", "--kubeconfig", self.scheduling, "--leader-elect=false", "--secure-port=0"])

    def start_api(self):
        pki = self.pki
        self.api.start([
            self.tools / "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{ETCD}", f"--secure-port={PORT}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", "--tls-cert-file", pki / "server.crt", "--tls-private-key-file", pki / "server.key",
            "--client-ca-file", pki / "ca.crt", "--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file", pki / "sa.key", "--service-account-signing-key-file", pki / "sa.key", "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction", "--enable-bootstrap-token-auth=true", "--audit-policy-file", self.state / "audit.json",
            "--audit-log-path", self.audit_log])
        eventually("the API server is ready", self.is_ready)

    def is_ready(self):
        self.api.check_alive()
        return self.ask("get", "--raw", "/readyz").returncode == 0

    def stop_api(self):
        """Kills the API server: after SIGTERM it waits a minute for its watches."""
        if self.api.process:
            programs.end(self.api.process)
            self.api.process = None

    def end(self):
        self.scheduler.end()
        self.manager.end()
        self.stop_api()
        self.etcd.end()

    def tail(self):
        return "\n".join(service.tail() for service in (self.etcd, self.api, self.manager, self.scheduler))

    # Requests

    def ask(self, *words, identity=None, **options):
        return programs.run([self.tools / "kubectl", "--kubeconfig", identity or self.admin, "--cache-dir", self.state / "cache", *words], **options)

    def kubectl(self, *words, **options):
        done = self.ask(*words, **options)
        assert done.returncode == 0, f"kubectl {' '.join(map(str, words))}: {done.stdout}{done.stderr}"
        return done.stdout

    def get(self, *words):
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def calls(self, user):
        """Returns (verb, resource/subresource, name, code) of all requests of `user` in the audit log."""
        rows = [json.loads(row) for row in self.audit_log.read_text().splitlines()]
        return [(row["verb"], "/".join(filter(None, (row.get("objectRef", {}).get("resource"), row.get("objectRef", {}).get("subresource")))),
                 row.get("objectRef", {}).get("name", ""), row.get("responseStatus", {}).get("code")) for row in rows if row["user"].get("username") == user]


class Session:
    """The requests of one identity, over one connection."""
    def __init__(self, plane, name):
        context = ssl.create_default_context(cafile=str(plane.pki / "ca.crt"))
        context.load_cert_chain(plane.pki / f"{name}.crt", plane.pki / f"{name}.key")
        self.connection = HTTPSConnection("127.0.0.1", PORT, context=context, timeout=programs.PATIENCE)

    def ask(self, method, path, body=None, kind="json", **headers):
        """Returns (status, document)."""
        self.connection.request(method, path, None if body is None else json.dumps(body),
                                {"Content-Type": f"application/{kind}", "Accept": "application/json", **headers})
        answer = self.connection.getresponse()
        content = answer.read()
        try:
            return answer.status, json.loads(content)
        except ValueError:  # a watch, or text
            return answer.status, {"message": content.decode(errors="replace")}


def want(plane, version, **upgrade):
    """Changes the driver that the ClusterPolicy selects."""
    plane.kubectl("patch", "clusterpolicies.nvidia.com/cluster-policy", "--type=merge", "-p",
                  json.dumps({"spec": {"driver": {"version": version, "upgradePolicy": {"autoUpgrade": True, **upgrade}}}}))


def manifests():
    """Returns the directory with the manifests that the package installs for administrators."""
    return Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[3])) / "packaging/kubernetes"
