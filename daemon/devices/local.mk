# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
noinst_LIBRARIES += %D%/libdevices.a
%C%_libdevices_a_SOURCES = \
    %D%/device_health.cpp \
    %D%/device_health.hpp \
    %D%/health_rules.cpp \
    %D%/health_rules.hpp \
    %D%/inventory.cpp \
    %D%/inventory.hpp \
    %D%/label_group.cpp \
    %D%/label_group.hpp \
    %D%/labels.cpp \
    %D%/labels.hpp \
    %D%/linked.cpp \
    %D%/linked.hpp \
    %D%/list_strategy.cpp \
    %D%/list_strategy.hpp \
    %D%/mig_labels.cpp \
    %D%/mig_labels.hpp \
    %D%/offer.cpp \
    %D%/offer.hpp \
    %D%/prefer.cpp \
    %D%/prefer.hpp \
    %D%/resources.cpp \
    %D%/resources.hpp \
    %D%/sharing.cpp \
    %D%/sharing.hpp
include daemon/devices/health/local.mk
include daemon/devices/mig/local.mk
include daemon/devices/plugin/local.mk
include daemon/devices/monitor/local.mk
include daemon/devices/publish/local.mk
