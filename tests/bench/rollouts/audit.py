# SPDX-License-Identifier: Apache-2.0
"""The API server's audit log, which has the user and the time of every call."""

import collections
import json
import os
import time
from dataclasses import dataclass

LEADER = "gpuhost-leader"


@dataclass(frozen=True)
class Call:
    user: str
    verb: str
    resource: str  # with its subresource
    name: str
    code: int

    @property
    def kind(self):
        return f"{self.verb} {self.resource}"

    @property
    def renews_leader(self):
        """Returns whether the call renews the leader's own Lease, which is required while it leads."""
        return self.kind == "patch leases" and self.name == LEADER


class Audit:
    """Reads new rows of the log. A watch has a row at its start and at its end, but is one call."""
    def __init__(self, path):
        self.path = path
        self.file = open(path, encoding="utf-8")  # noqa: SIM115
        self.rest = ""
        self.calls = []
        self.watches = {}  # open watches, by their auditID

    def read(self):
        while True:
            while line := self.file.readline():
                self.rest += line
                if self.rest.endswith("\n"):
                    self.add(json.loads(self.rest))
                    self.rest = ""
            if self.rest or os.stat(self.path).st_ino == os.fstat(self.file.fileno()).st_ino:
                return
            self.file.close()  # the server has started another file
            self.file = open(self.path, encoding="utf-8")  # noqa: SIM115

    def add(self, row):
        about = row.get("objectRef", {})
        resource = "/".join(filter(None, (about.get("resource"), about.get("subresource"))))
        call = Call(row["user"]["username"], row["verb"], resource, about.get("name", ""), row.get("responseStatus", {}).get("code", 0))
        if row["stage"] == "ResponseStarted":
            self.watches[row["auditID"]] = call
        elif self.watches.pop(row["auditID"], None):
            return
        self.calls.append(call)

    def mark(self):
        """Returns the current position, for since()."""
        self.read()
        return len(self.calls)

    def since(self, mark, user):
        self.read()
        return [call for call in self.calls[mark:] if call.user == user]

    def open_watches(self, user):
        """Returns {resource: number of open watches}."""
        self.read()
        return dict(collections.Counter(call.resource for call in self.watches.values() if call.user == user))

    def quiet(self, user, seconds, patience=600):
        """Waits until `user` has sent no request for `seconds`. Returns the time of its last call."""
        deadline, last, mark = time.monotonic() + patience, time.monotonic(), self.mark()
        while time.monotonic() < last + seconds:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{user} is not quiet: {collections.Counter(call.kind for call in self.since(mark, user)).most_common(5)}")
            time.sleep(0.1)
            before, mark = mark, self.mark()
            if any(call.user == user and not call.renews_leader for call in self.calls[before:mark]):
                last = time.monotonic()
        return last


def kinds(calls, hosts):
    """Returns {kind: calls per host}, most frequent first."""
    return {kind: round(count / hosts, 2) for kind, count in collections.Counter(call.kind for call in calls).most_common()}
