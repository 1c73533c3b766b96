# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libcluster.a
%C%_libcluster_a_CPPFLAGS = $(AM_CPPFLAGS) $(DATE_CFLAGS)
%C%_libcluster_a_SOURCES =
include daemon/cluster/kube/local.mk
include daemon/cluster/node/local.mk
include daemon/cluster/policy/local.mk
include daemon/cluster/rollout/local.mk
include daemon/cluster/upgrade/local.mk
