# SPDX-License-Identifier: Apache-2.0
"""gpuhost's reader on the kubeconfigs that tests/cluster/scenarios/kubeconfig.py gives to kubectl."""
import json
import os
import tempfile

import kubeconfigs
import programs
import tap

PROBE = os.path.join(tap.TOP_BUILDDIR, "tests/host/kubeconfig-probe")


def check(report, case, wanted, got):
    if case.accepted is not None:
        report.equal(json.dumps(got, indent=1, sort_keys=True), json.dumps(wanted, indent=1, sort_keys=True), f"{case.name}: accepted")
    else:
        error = got.get("error", {"message": f"accepted: {got}"})
        report.ok(case.refusal and case.refusal in error["message"], f"{case.name}: refused", f"got: {error['message']}", f"wanted: {case.refusal}")


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory() as directory:
        site = kubeconfigs.Site(directory)
        paths = [site.write(number, case) for number, case in enumerate(kubeconfigs.CASES)]
        lines = programs.run([PROBE, *paths]).stdout.splitlines()
        report.equal(len(lines), len(paths), "kubeconfig-probe answers for every kubeconfig")
        for case, line in zip(kubeconfigs.CASES, lines):
            check(report, case, site.expected(case) if case.accepted is not None else None, json.loads(line))
    names = [case.name for case in kubeconfigs.CASES]
    report.equal(len(set(names)), len(names), "each case has a unique name")
    report.equal([case.name for case in kubeconfigs.CASES if (case.accepted is not None) != case.kubectl_accepts() and not case.why], [],
                 "each difference from kubectl has a reason")
    report.done()


main()
