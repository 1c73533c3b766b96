# SPDX-License-Identifier: Apache-2.0
include daemon/base/local.mk
include daemon/bus/local.mk
include daemon/client/local.mk
include daemon/cluster/local.mk
include daemon/content/local.mk
include daemon/core/local.mk
include daemon/ctl/local.mk
include daemon/devices/local.mk
include daemon/exporter/local.mk
include daemon/host/local.mk
include daemon/http/local.mk
include daemon/metrics/local.mk
include daemon/programs/local.mk
include daemon/rpc/local.mk
include daemon/runtime/local.mk
include daemon/settings/local.mk
