# SPDX-License-Identifier: Apache-2.0
# make check-cluster: the programs built here with a real containerd, a kubelet and clients of registries.
# Needs root, Go and some of Debian's packages (./bootstrap check installs them). Without them it prints the
# reason and exits with 77.
TESTS += %D%/node_test.py
EXTRA_DIST += \
    %D%/check-cluster \
    %D%/modules/conformance/go.mod \
    %D%/modules/conformance/go.sum \
    %D%/modules/conformance/tools.go \
    %D%/modules/containerd/go.mod \
    %D%/modules/containerd/go.sum \
    %D%/modules/containerd/tools.go \
    %D%/modules/containerd22/go.mod \
    %D%/modules/containerd22/go.sum \
    %D%/modules/containerd22/tools.go \
    %D%/modules/containerd23/go.mod \
    %D%/modules/containerd23/go.sum \
    %D%/modules/containerd23/tools.go \
    %D%/modules/controlplane/go.mod \
    %D%/modules/controlplane/go.sum \
    %D%/modules/controlplane/tools.go \
    %D%/modules/crio/go.mod \
    %D%/modules/crio/go.sum \
    %D%/modules/crio/tools.go \
    %D%/modules/helm/go.mod \
    %D%/modules/helm/go.sum \
    %D%/modules/helm/tools.go \
    %D%/modules/kubernetes/go.mod \
    %D%/modules/kubernetes/go.sum \
    %D%/modules/kubernetes/tools.go \
    %D%/modules/kubernetes134/go.mod \
    %D%/modules/kubernetes134/go.sum \
    %D%/modules/kubernetes134/tools.go \
    %D%/modules/kubernetes137/go.mod \
    %D%/modules/kubernetes137/go.sum \
    %D%/modules/kubernetes137/tools.go \
    %D%/modules/nvlib/facts/main.go \
    %D%/modules/nvlib/go.mod \
    %D%/modules/nvlib/go.sum \
    %D%/modules/prometheus/go.mod \
    %D%/modules/prometheus/go.sum \
    %D%/modules/prometheus/prometheus/main.go \
    %D%/modules/prometheus/prometheus/serve.go \
    %D%/modules/prometheus/stubs/api/go.mod \
    %D%/modules/prometheus/stubs/api/option/option.go \
    %D%/modules/prometheus/stubs/api/transport/http/http.go \
    %D%/modules/prometheus/stubs/azcore/azcore.go \
    %D%/modules/prometheus/stubs/azcore/cloud/cloud.go \
    %D%/modules/prometheus/stubs/azcore/go.mod \
    %D%/modules/prometheus/stubs/azcore/policy/policy.go \
    %D%/modules/prometheus/stubs/azidentity/azidentity.go \
    %D%/modules/prometheus/stubs/azidentity/go.mod \
    %D%/modules/prometheus/stubs/sigv4/go.mod \
    %D%/modules/prometheus/stubs/sigv4/sigv4.go \
    %D%/modules/rpc/go.mod \
    %D%/modules/rpc/go.sum \
    %D%/modules/rpc/peer/client.go \
    %D%/modules/rpc/peer/golden.go \
    %D%/modules/rpc/peer/main.go \
    %D%/modules/rpc/peer/server.go \
    %D%/modules/toolkit/go.mod \
    %D%/modules/toolkit/go.sum \
    %D%/modules/toolkit/tools.go \
    %D%/modules/tools/cri/main.go \
    %D%/modules/tools/go.mod \
    %D%/modules/tools/go.sum \
    %D%/modules/tools/hold/main.go \
    %D%/modules/tools/tools.go \
    %D%/modules/upgrades/controller/main.go \
    %D%/modules/upgrades/controller/watch.go \
    %D%/modules/upgrades/go.mod \
    %D%/modules/upgrades/go.sum \
    %D%/node/__init__.py \
    %D%/node/binaries.py \
    %D%/node/containerd.py \
    %D%/node/controlplane.py \
    %D%/node/cri.py \
    %D%/node/crio.py \
    %D%/node/devices.py \
    %D%/node/docker.py \
    %D%/node/faulty.py \
    %D%/node/gpuhost.py \
    %D%/node/kubelet.py \
    %D%/node/node.py \
    %D%/node/podman.py \
    %D%/node/sandbox.py \
    %D%/node/service.py \
    %D%/node/site.py \
    %D%/node/units.py \
    %D%/node/waiting.py \
    %D%/node_test.py \
    %D%/prepare \
    %D%/rules/gpuhost.rules.test.yaml \
    %D%/scenarios/__init__.py \
    %D%/scenarios/alerts.py \
    %D%/scenarios/bundles.py \
    %D%/scenarios/cdi.py \
    %D%/scenarios/chart.py \
    %D%/scenarios/dashboard.py \
    %D%/scenarios/devices.py \
    %D%/scenarios/drained.py \
    %D%/scenarios/evict.py \
    %D%/scenarios/examples.py \
    %D%/scenarios/fleet.py \
    %D%/scenarios/fleet_faults.py \
    %D%/scenarios/hosts.py \
    %D%/scenarios/kubeconfig.py \
    %D%/scenarios/kubernetes.py \
    %D%/scenarios/lifecycles.py \
    %D%/scenarios/mirrors.py \
    %D%/scenarios/network.py \
    %D%/scenarios/peers.py \
    %D%/scenarios/placement.py \
    %D%/scenarios/policies.py \
    %D%/scenarios/registry.py \
    %D%/scenarios/rights.py \
    %D%/scenarios/rpc.py \
    %D%/scenarios/runtime.py \
    %D%/scenarios/runtime_change.py \
    %D%/scenarios/runtime_hosts.py \
    %D%/scenarios/toolkit.py \
    %D%/scenarios/upgrades.py

.PHONY: check-cluster
check-cluster: tests/cluster/rpc/rpc-probe $(helm_archive) gpuhost-cluster gpuhost-devices gpuhostctl gpuhostd gpuhost-fetch gpuhost-nvml gpuhost-registry gpuhost-worker
	$(PYTHON) $(top_srcdir)/tests/cluster/check-cluster --build .

check_PROGRAMS += %D%/fleet/fleet
%C%_fleet_fleet_SOURCES = %D%/fleet/fleet.cpp
%C%_fleet_fleet_LDADD = $(cluster_libs)

# daemon/rpc, for tests and figures beside grpc-go.
check_PROGRAMS += %D%/rpc/rpc-probe
%C%_rpc_rpc_probe_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS) $(kubelet_cppflags)
%C%_rpc_rpc_probe_SOURCES = %D%/rpc/probe.cpp
%C%_rpc_rpc_probe_LDADD = $(kubelet_libs) $(host_libs)
$(%C%_rpc_rpc_probe_OBJECTS): | $(kubelet_headers)
