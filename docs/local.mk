# SPDX-License-Identifier: Apache-2.0
# Pages of the documentation, as text below $(docdir)/docs, and files to copy. Each page is also in the nav: of
# mkdocs.yml.
docsdir = $(docdir)
nobase_dist_docs_DATA = \
    %D%/design/bundles.md \
    %D%/design/cdi.md \
    %D%/design/cluster.md \
    %D%/design/devices.md \
    %D%/design/driver.md \
    %D%/design/gpuhostctl.md \
    %D%/design/one-swap.md \
    %D%/design/rpc.md \
    %D%/design/runtimes.md \
    %D%/design/tests.md \
    %D%/design/transactions.md \
    %D%/design/workers.md \
    %D%/examples/ansible/playbook.yaml \
    %D%/examples/ansible/roles/gpuhost/defaults/main.yaml \
    %D%/examples/ansible/roles/gpuhost/handlers/main.yaml \
    %D%/examples/ansible/roles/gpuhost/tasks/main.yaml \
    %D%/examples/bundles/driver-prebuilt.spec \
    %D%/examples/bundles/driver-source.spec \
    %D%/examples/bundles/images.spec \
    %D%/examples/bundles/site.spec \
    %D%/examples/cloud-init/user-data.yaml \
    %D%/examples/cluster-api/gpu-workers.yaml \
    %D%/examples/gpuhostd.conf.d/candidate.conf \
    %D%/examples/gpuhostd.conf.d/image-cache.conf \
    %D%/examples/gpuhostd.conf.d/keep-driver.conf \
    %D%/examples/gpuhostd.conf.d/kubernetes.conf \
    %D%/examples/gpuhostd.conf.d/peers.conf \
    %D%/examples/gpuhostd.conf.d/sign-modules.conf \
    %D%/examples/gpuhostd.conf.d/validate-with-cuda.conf \
    %D%/examples/gpuhostd.conf.d/wait-for-jobs.conf \
    %D%/examples/grafana/gpuhost.json \
    %D%/examples/karpenter/nodepool.yaml \
    %D%/examples/kickstart/gpuhost.ks \
    %D%/examples/kubernetes/approve-requests.sh \
    %D%/examples/kubernetes/bootstrap-token.yaml \
    %D%/examples/kubernetes/candidates.yaml \
    %D%/examples/kubernetes/kustomization.yaml \
    %D%/examples/kubernetes/policy.yaml \
    %D%/examples/node-readiness/rule.yaml \
    %D%/examples/prometheus/gpuhost.rules.yaml \
    %D%/examples/prometheus/prometheus.yaml \
    %D%/explanation/architecture.md \
    %D%/explanation/bundles.md \
    %D%/explanation/security-model.md \
    %D%/explanation/what-a-swap-does.md \
    %D%/explanation/why-no-operator.md \
    %D%/glossary.md \
    %D%/how-to/cluster-api.md \
    %D%/how-to/cockpit.md \
    %D%/how-to/containerd.md \
    %D%/how-to/cri-o.md \
    %D%/how-to/devices.md \
    %D%/how-to/docker-and-podman.md \
    %D%/how-to/examples.md \
    %D%/how-to/get-support.md \
    %D%/how-to/install-offline.md \
    %D%/how-to/image-cache.md \
    %D%/how-to/join-a-cluster.md \
    %D%/how-to/k3s-and-rke2.md \
    %D%/how-to/karpenter.md \
    %D%/how-to/keep-or-adopt-a-driver.md \
    %D%/how-to/keys-and-rotation.md \
    %D%/how-to/monitoring.md \
    %D%/how-to/move-from-dkms.md \
    %D%/how-to/move-from-the-gpu-operator.md \
    %D%/how-to/new-kernel.md \
    %D%/how-to/node-readiness-controller.md \
    %D%/how-to/nvidia-container-toolkit.md \
    %D%/how-to/nvswitch.md \
    %D%/how-to/peers.md \
    %D%/how-to/pictures/cockpit-overview.png \
    %D%/how-to/pictures/cockpit-preflight.png \
    %D%/how-to/pictures/cockpit-progress.png \
    %D%/how-to/rescue.md \
    %D%/how-to/secure-boot.md \
    %D%/how-to/upgrade-gpuhostd.md \
    %D%/how-to/waves-and-gates.md \
    %D%/index.md \
    %D%/reference/compatibility.md \
    %D%/reference/dbus.md \
    %D%/reference/exit-status.md \
    %D%/reference/json.md \
    %D%/reference/limits.md \
    %D%/reference/metrics.md \
    %D%/reference/settings.md \
    %D%/troubleshooting.md \
    %D%/tutorials/demo.md \
    %D%/tutorials/first-bundle.md \
    %D%/tutorials/first-driver.md \
    %D%/tutorials/first-rollout.md

# After changes of the tables that they are made from.
EXTRA_DIST += %D%/make_reference.py
.PHONY: reference
reference:
	$(PYTHON) $(srcdir)/%D%/make_reference.py $(srcdir)

# The site: these pages and the man pages as HTML.
EXTRA_DIST += mkdocs.yml %D%/make_site.py
html-local: $(man_pages)
	@test -n "$(MKDOCS)" && test -n "$(MANDOC)" || { echo "make html needs the packages mkdocs and mandoc; install them and run configure again" >&2; exit 1; }
	$(AM_V_GEN)MKDOCS='$(MKDOCS)' MANDOC='$(MANDOC)' $(PYTHON) $(srcdir)/%D%/make_site.py $(srcdir) %D%/html $^
clean-local: clean-site
.PHONY: clean-site
clean-site:
	rm -rf %D%/html

# JSON Schemas of the documents of gpuhostctl and org.gpuhost1.
schemasdir = $(datadir)/gpuhost/schemas
dist_schemas_DATA = \
    %D%/reference/schemas/bundle-collect.schema.json \
    %D%/reference/schemas/bundle-create.schema.json \
    %D%/reference/schemas/bundle-diff.schema.json \
    %D%/reference/schemas/bundle-fetch.schema.json \
    %D%/reference/schemas/bundle-list.schema.json \
    %D%/reference/schemas/bundle-scrub.schema.json \
    %D%/reference/schemas/bundle-show.schema.json \
    %D%/reference/schemas/bundle-verify.schema.json \
    %D%/reference/schemas/cdi-list.schema.json \
    %D%/reference/schemas/cdi-show.schema.json \
    %D%/reference/schemas/cdi-specification.schema.json \
    %D%/reference/schemas/cdi-validate.schema.json \
    %D%/reference/schemas/cluster-policy.schema.json \
    %D%/reference/schemas/cluster-status.schema.json \
    %D%/reference/schemas/common.schema.json \
    %D%/reference/schemas/component-cdi.schema.json \
    %D%/reference/schemas/component-devices.schema.json \
    %D%/reference/schemas/component-driver.schema.json \
    %D%/reference/schemas/component-images.schema.json \
    %D%/reference/schemas/component-mig.schema.json \
    %D%/reference/schemas/component-runtime.schema.json \
    %D%/reference/schemas/component-toolkit.schema.json \
    %D%/reference/schemas/config-check.schema.json \
    %D%/reference/schemas/config-files.schema.json \
    %D%/reference/schemas/config-show.schema.json \
    %D%/reference/schemas/doctor.schema.json \
    %D%/reference/schemas/driver-export.schema.json \
    %D%/reference/schemas/driver-history.schema.json \
    %D%/reference/schemas/driver-imports.schema.json \
    %D%/reference/schemas/driver-holders.schema.json \
    %D%/reference/schemas/driver-installed.schema.json \
    %D%/reference/schemas/driver-list.schema.json \
    %D%/reference/schemas/driver-show.schema.json \
    %D%/reference/schemas/fleet-error.schema.json \
    %D%/reference/schemas/fleet-status.schema.json \
    %D%/reference/schemas/gpu-list.schema.json \
    %D%/reference/schemas/gpu-show.schema.json \
    %D%/reference/schemas/host.schema.json \
    %D%/reference/schemas/image-list.schema.json \
    %D%/reference/schemas/image-placement.schema.json \
    %D%/reference/schemas/image-policy.schema.json \
    %D%/reference/schemas/image-show.schema.json \
    %D%/reference/schemas/inventory.schema.json \
    %D%/reference/schemas/kubelet-credentials.schema.json \
    %D%/reference/schemas/operation-list.schema.json \
    %D%/reference/schemas/operation.schema.json \
    %D%/reference/schemas/plan.schema.json \
    %D%/reference/schemas/runtime-list.schema.json \
    %D%/reference/schemas/runtime-plan.schema.json \
    %D%/reference/schemas/runtime-show.schema.json \
    %D%/reference/schemas/runtime-verify.schema.json \
    %D%/reference/schemas/secure-boot-enrolment.schema.json \
    %D%/reference/schemas/secure-boot-status.schema.json \
    %D%/reference/schemas/started.schema.json \
    %D%/reference/schemas/toolkit-list.schema.json \
    %D%/reference/schemas/toolkit-show.schema.json \
    %D%/reference/schemas/upgrade-request.schema.json \
    %D%/reference/schemas/upgrade.schema.json
