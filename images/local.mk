# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core images/bundle
noinst_LIBRARIES += %D%/libimages.a
%C%_libimages_a_SOURCES = \
    %D%/images_settings.cpp \
    %D%/images_settings.hpp \
    %D%/peers_settings.cpp \
    %D%/peers_settings.hpp \
    %D%/registry_settings.cpp \
    %D%/registry_settings.hpp
include images/bundle/local.mk
include images/create/local.mk
include images/foreign/local.mk
include images/host/local.mk
include images/import/local.mk
include images/peers/local.mk
include images/registry/local.mk
include images/store/local.mk
